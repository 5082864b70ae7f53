"""Client of the REST interface, used by `nodrop client`."""

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from nodrop.errors import ConfigError, ServerError
from nodrop.model.base import Value
from nodrop.server.rest.event_names import STATE
from nodrop.server.rest.schemas import RunList, RunView
from nodrop.server.rest.sse import StreamEvent, parse_events

TIMEOUT_S = 30.0
"""Timeout of a response; of an event stream, the longest silence."""
RUNS = "/api/v1/runs"
ResponseValue = TypeVar("ResponseValue", bound=Value)


class Client:
    """Connection to a server; every method raises ServerError or, for an invalid request, ConfigError."""

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = urllib.parse.urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"--url: {url} is not a URL; use e.g. http://127.0.0.1:7555")
        self._url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def version(self) -> str:
        """Return the server's version."""
        return self._text("/version")

    def start(self, body: Mapping[str, Any]) -> RunView:
        """Queue a run."""
        return self._read(RunView, self._text(RUNS, body))

    def run(self, run_id: str) -> RunView:
        """Return the current state of a run."""
        return self._read(RunView, self._text(_make_path(run_id)))

    def runs(self, limit: int) -> tuple[RunView, ...]:
        """Return the newest runs, newest first."""
        return self._read(RunList, self._text(f"{RUNS}?limit={limit}")).runs

    def cancel(self, run_id: str) -> RunView:
        """Cancel a run."""
        return self._read(RunView, self._text(f"{_make_path(run_id)}/cancel", {}))

    def result(self, run_id: str, frame_size: str | None = None, repeat: int | None = None) -> str:
        """Return the result.json of a run."""
        selection = {key: value for key, value in (("frame_size", frame_size), ("repeat", repeat)) if value}
        query = f"?{urllib.parse.urlencode(selection)}" if selection else ""
        return self._text(f"{_make_path(run_id)}/result{query}")

    def nfvbench_result(self, run_id: str) -> str:
        """Return the result in NFVbench's form."""
        return self._text(f"{_make_path(run_id)}/result/nfvbench")

    def report(self, run_id: str, form: str = "text") -> str:
        """Return the report of a run."""
        return self._text(f"{_make_path(run_id)}/report?format={form}")

    def events(self, run_id: str) -> Iterator[StreamEvent]:
        """Yield the events of a run from its start to its end; reconnects if the connection breaks."""
        number = 0
        while True:
            before = number
            try:
                with self._open(f"{_make_path(run_id)}/events", {"Last-Event-ID": str(number)}) as response:
                    for event in parse_events(line.decode() for line in response):
                        number = event.number
                        yield event
                        if event.name == STATE and RunView.model_validate(event.content).state.is_over:
                            return
            except (OSError, http.client.HTTPException) as error:
                reason: object = error
            except ValueError:
                raise self._version_error() from None
            else:
                reason = "the stream ended before the run"
            if number == before:
                raise ServerError(f"{self._url}: connection lost while reading the events of run {run_id}: {reason}")

    def _read(self, model: type[ResponseValue], text: str) -> ResponseValue:
        try:
            return model.model_validate_json(text)
        except ValueError:
            raise self._version_error() from None

    def _version_error(self) -> ServerError:
        return ServerError(f"{self._url} is not a nodrop server of this release; set --url")

    def _text(self, path: str, content: Mapping[str, Any] | None = None) -> str:
        try:
            with self._open(path, {}, content) as response:
                return str(response.read().decode())
        except (OSError, http.client.HTTPException) as error:
            raise ServerError(f"{self._url}{path}: connection lost: {error}; try again") from None

    def _open(self, path: str, headers: Mapping[str, str], content: Mapping[str, Any] | None = None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._url}{path}", body, {**self._headers, **kind, **headers})
        try:
            return urllib.request.urlopen(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            raise _to_exception(error) from None
        except urllib.error.URLError as error:
            raise ServerError(
                f"cannot connect to {self._url}: {error.reason}; start a server with 'nodrop serve' or set --url"
            ) from None


def _make_path(run_id: str) -> str:
    return f"{RUNS}/{urllib.parse.quote(run_id, safe='')}"


def _to_exception(error: urllib.error.HTTPError) -> ConfigError | ServerError:
    """Convert an error response into an exception."""
    text = error.read().decode(errors="replace")
    try:
        details = json.loads(text)
        sentence = "\n".join(details["errors"]) or details["detail"]
    except (ValueError, KeyError, TypeError):
        sentence = f"the server answered {error.code} {error.reason}"
    kind = ConfigError if error.code in (400, 403, 404, 409, 413, 415, 422) else ServerError
    return kind(sentence)
