"""A server driven from Python: `nodrop client` is made of this."""

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from nodrop.errors import ConfigError, ServerError
from nodrop.model.base import Value
from nodrop.server.rest.event_codec import STATE
from nodrop.server.rest.schemas import RunList, RunView
from nodrop.server.rest.sse import Told, events_of

TIMEOUT_S = 30.0
"""How long an answer may take; of events, how long nothing may be heard."""
RUNS = "/api/v1/runs"
Answer = TypeVar("Answer", bound=Value)


class Client:
    """Asks a server; every method raises ServerError or, for what cannot be done as asked, ConfigError."""

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = urllib.parse.urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"--url: {url} asked, a URL expected; write for example http://127.0.0.1:7555")
        self._url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def version(self) -> str:
        """The server's version."""
        return self._text("/version")

    def start(self, asked: Mapping[str, Any]) -> RunView:
        """Queue a run."""
        return self._read(RunView, self._text(RUNS, asked))

    def run(self, run_id: str) -> RunView:
        """A run as it is now."""
        return self._read(RunView, self._text(_path(run_id)))

    def runs(self, limit: int) -> tuple[RunView, ...]:
        """The newest runs, newest first."""
        return self._read(RunList, self._text(f"{RUNS}?limit={limit}")).runs

    def cancel(self, run_id: str) -> RunView:
        """Have a run end."""
        return self._read(RunView, self._text(f"{_path(run_id)}/cancel", {}))

    def result(self, run_id: str, frame_size: str | None = None, repeat: int | None = None) -> str:
        """The result.json of a run."""
        which = {key: value for key, value in (("frame_size", frame_size), ("repeat", repeat)) if value}
        query = f"?{urllib.parse.urlencode(which)}" if which else ""
        return self._text(f"{_path(run_id)}/result{query}")

    def nfvbench_result(self, run_id: str) -> str:
        """The result as NFVbench has it."""
        return self._text(f"{_path(run_id)}/result/nfvbench")

    def report(self, run_id: str, wanted: str = "text") -> str:
        """The result for people."""
        return self._text(f"{_path(run_id)}/report?format={wanted}")

    def events(self, run_id: str) -> Iterator[Told]:
        """What happens in a run, from its beginning until it is over; a connection that breaks is made again."""
        number = 0
        while True:
            before = number
            try:
                with self._open(f"{_path(run_id)}/events", {"Last-Event-ID": str(number)}) as answer:
                    for told in events_of(line.decode() for line in answer):
                        number = told.number
                        yield told
                        if told.name == STATE and RunView.model_validate(told.content).state.is_over:
                            return
            except (OSError, http.client.HTTPException) as error:
                reason: object = error
            except ValueError:
                raise self._foreign() from None
            else:
                reason = "it ended before the run was over"
            if number == before:
                raise ServerError(f"the events of run {run_id} asked, {self._url} broke off: {reason}")

    def _read(self, model: type[Answer], text: str) -> Answer:
        try:
            return model.model_validate_json(text)
        except ValueError:
            raise self._foreign() from None

    def _foreign(self) -> ServerError:
        return ServerError(f"{self._url} asked, what answers is no nodrop of this release; name another with --url")

    def _text(self, path: str, content: Mapping[str, Any] | None = None) -> str:
        try:
            with self._open(path, {}, content) as answer:
                return str(answer.read().decode())
        except (OSError, http.client.HTTPException) as error:
            raise ServerError(f"{self._url}{path} asked, it broke off: {error}; try again") from None

    def _open(self, path: str, headers: Mapping[str, str], content: Mapping[str, Any] | None = None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._url}{path}", body, {**self._headers, **kind, **headers})
        try:
            return urllib.request.urlopen(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except urllib.error.URLError as error:
            raise ServerError(
                f"{self._url} asked, no server answers there: {error.reason}; start one with `nodrop serve`, or name "
                "its address with --url"
            ) from None


def _path(run_id: str) -> str:
    return f"{RUNS}/{urllib.parse.quote(run_id, safe='')}"


def _refusal(error: urllib.error.HTTPError) -> ConfigError | ServerError:
    """What the server says is wrong, as an error of this side."""
    text = error.read().decode(errors="replace")
    try:
        details = json.loads(text)
        sentence = "\n".join(details["errors"]) or details["detail"]
    except (ValueError, KeyError, TypeError):
        sentence = f"the server answered {error.code} {error.reason}"
    kind = ConfigError if error.code in (400, 403, 404, 409, 413, 415, 422) else ServerError
    return kind(sentence)
