"""Requests to a cloud: counted by service, and repeated while its services are away, as far as that is safe."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

Answer = TypeVar("Answer")
AWAY = (502, 503, 504)
"""What stands before a service, or the service, says that it is away."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
"""Methods that may be carried out twice. Source: RFC 9110 section 9.2.2."""
VERSIONS = "versions"
"""Under which questions for versions are counted, which are put to no service in particular."""
PATIENCE_S = 60.0
"""How long one request is repeated."""
FIRST_PATIENCE_S = 5.0
"""How long, where nobody ever answered: then the address is wrong, more likely than not."""
TIMES_OUT_S = (10.0, 60.0)
"""Time to take a connection, and longest silence on it."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0


def patiently(ask: Callable[[], Answer], is_away: Callable[[Answer], str], hear: Callable[[str], None]) -> Answer:
    """What a question gave that is asked again, at growing intervals, while who is asked is away.

    Args:
        ask: the question; what it raises is passed on.
        is_away: why an answer is none; empty where it is one.
        hear: is told before each wait.

    Returns: the first answer that is one, or the last of all.
    """
    end = time.monotonic() + PATIENCE_S
    wait_s = FIRST_WAIT_S
    while True:
        answer = ask()
        why = is_away(answer)
        if not why or time.monotonic() + wait_s > end:
            return answer
        hear(f"{why}; asked again in {wait_s:g} s")
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, LONGEST_WAIT_S)


class Requests:
    """The way of all requests of a session of keystoneauth."""

    def __init__(self, session: Any, hear: Callable[[str], None]) -> None:
        from keystoneauth1.exceptions import RetriableConnectionFailure

        self._unreachable = RetriableConnectionFailure
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._send = session.request
        self._was_there = False
        self._begun = time.monotonic()
        self.hear = hear
        session.request = self._request

    @property
    def counts(self) -> dict[str, int]:
        """Requests sent so far, by service, as `network`."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def _request(self, url: str, method: str, **options: Any) -> Any:
        """An answer, or what the last attempt raised."""
        service = _service(options, url)
        options.setdefault("timeout", TIMES_OUT_S)

        def ask() -> Any:
            with self._lock:
                self._counts[service] += 1
            try:
                return self._send(url, method, **options)
            except self._unreachable as error:
                return error
            except Exception as error:
                if getattr(error, "http_status", None) in AWAY:
                    return error
                raise

        def is_away(answer: Any) -> str:
            if not (method in SAFE or _is_login(url) or _was_refused(answer)):
                return ""  # whoever asks has to look first what became of it
            if isinstance(answer, self._unreachable):
                is_worth_it = self._was_there or time.monotonic() - self._begun < FIRST_PATIENCE_S
                who = service if service != VERSIONS else urlsplit(url).netloc
                return f"{who} cannot be reached" if is_worth_it else ""
            self._was_there = True
            status = _status(answer)
            return f"{service} answers {status}" if status in AWAY else ""

        answer = patiently(ask, is_away, self.hear)
        if isinstance(answer, Exception):
            raise answer
        return answer


def _status(answer: Any) -> int | None:
    return getattr(answer, "http_status", None) or getattr(answer, "status_code", None)


def _service(options: Mapping[str, Any], url: str) -> str:
    """Its type in the catalogue; requests without one are for a token, or for versions."""
    found = (options.get("endpoint_filter") or {}).get("service_type")
    return str(found) if found else "identity" if _is_login(url) else VERSIONS


def _is_login(url: str) -> bool:
    """Tokens may be asked for twice."""
    return url.partition("?")[0].endswith("/auth/tokens")


def _was_refused(answer: Any) -> bool:
    """Whether nobody took the connection, so that nothing was asked."""
    from urllib3.exceptions import NewConnectionError

    error = answer if isinstance(answer, BaseException) else None
    while error is not None:
        reasons = [
            error,
            getattr(error, "reason", None),
            *error.args,
            *(getattr(each, "reason", None) for each in error.args),
        ]
        if any(isinstance(reason, NewConnectionError) for reason in reasons):
            return True
        error = error.__cause__ or error.__context__
    return False
