"""Requests to a cloud: counted by service, and repeated while its services are away, as far as that is safe."""

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

from nodrop.errors import NodropError, StageError

Answer = TypeVar("Answer")
UNAVAILABLE = (502, 503, 504)
"""What stands before a service, or the service, says that it is away."""
IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
"""Methods that may be carried out twice. Source: RFC 9110 section 9.2.2."""
DISCOVERY = "versions"
"""Under which questions for versions are counted, which are put to no service in particular."""
RETRY_S = 60.0
"""How long one request is repeated."""
FIRST_CONTACT_S = 5.0
"""How long, where nobody ever answered: then the address is wrong, more likely than not."""
TIMEOUTS_S = (10.0, 60.0)
"""Time to take a connection, and longest silence on it."""
FIRST_DELAY_S, MAX_DELAY_S = 0.5, 8.0


def retry_while_unavailable(
    ask: Callable[[], Answer], unavailable_reason: Callable[[Answer], str], on_retry: Callable[[str], None]
) -> Answer:
    """What a question gave that is asked again, at growing intervals, while who is asked is away.

    Args:
        ask: the question; what it raises is passed on.
        unavailable_reason: why an answer is none; empty where it is one.
        on_retry: is told before each wait.

    Returns: the first answer that is one, or the last of all.
    """
    end = time.monotonic() + RETRY_S
    wait_s = FIRST_DELAY_S
    while True:
        answer = ask()
        why = unavailable_reason(answer)
        if not why or time.monotonic() + wait_s > end:
            return answer
        on_retry(f"{why}; asked again in {wait_s:g} s")
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, MAX_DELAY_S)


class RetryingRequests:
    """The way of all requests of a session of keystoneauth."""

    def __init__(self, session: Any, on_retry: Callable[[str], None]) -> None:
        from keystoneauth1.exceptions import RetriableConnectionFailure

        self._unreachable = RetriableConnectionFailure
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._send = session.request
        self._was_reached = False
        self._start_s = time.monotonic()
        self.on_retry = on_retry
        session.request = self._request

    @property
    def counts(self) -> dict[str, int]:
        """Requests sent so far, by service, as `network`."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def _request(self, url: str, method: str, **options: Any) -> Any:
        """An answer, or what the last attempt raised."""
        service = _service(options, url)
        options.setdefault("timeout", TIMEOUTS_S)

        def ask() -> Any:
            with self._lock:
                self._counts[service] += 1
            try:
                return self._send(url, method, **options)
            except self._unreachable as error:
                return error
            except Exception as error:
                if getattr(error, "http_status", None) in UNAVAILABLE:
                    return error
                raise

        def unavailable_reason(answer: Any) -> str:
            if not (method in IDEMPOTENT or _is_login(url) or _was_connection_refused(answer)):
                return ""  # whoever asks has to look first what became of it
            if isinstance(answer, self._unreachable):
                is_worth_it = self._was_reached or time.monotonic() - self._start_s < FIRST_CONTACT_S
                who = service if service != DISCOVERY else urlsplit(url).netloc
                return f"{who} cannot be reached" if is_worth_it else ""
            self._was_reached = True
            status = _status(answer)
            return f"{service} answers {status}" if status in UNAVAILABLE else ""

        answer = retry_while_unavailable(ask, unavailable_reason, self.on_retry)
        if isinstance(answer, Exception):
            raise answer
        return answer


def _status(answer: Any) -> int | None:
    return getattr(answer, "http_status", None) or getattr(answer, "status_code", None)


def _service(options: Mapping[str, Any], url: str) -> str:
    """Its type in the catalogue; requests without one are for a token, or for versions."""
    found = (options.get("endpoint_filter") or {}).get("service_type")
    return str(found) if found else "identity" if _is_login(url) else DISCOVERY


def _is_login(url: str) -> bool:
    """Tokens may be asked for twice."""
    return url.partition("?")[0].endswith("/auth/tokens")


def _was_connection_refused(answer: Any) -> bool:
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


STATUS_ADVICE = {
    400: "change what was asked as the message says",
    401: "log in again: the token has expired, or this user was shut out",
    403: "ask an administrator, or for a role that may do this",
    404: "it was taken away meanwhile, or the name is wrong",
    409: "it is taken or in use, or a quota is used up",
    413: "a quota is used up, or requests are limited; ask an administrator, or wait",
    429: "requests are limited; wait, and try again",
    500: "look into the service's log for this request",
    502: "see whether the service runs, and try again",
    503: "see whether the service runs, and try again",
    504: "see whether the service runs, and try again",
}
QUOTA_ADVICE = "take away what is not needed (`openstack quota show --usage`), or ask an administrator for more"
MESSAGE_CHARS_MAX = 400
CONNECTION_FAILURE = re.compile(
    r"(?P<where>https?://[^\s,]+): \w+Pool\(.*?Max retries exceeded.*?"
    r"(?:\[Errno -?\d+\] |certificate verify failed: |$)(?P<why>[^\"'()]*)"
)
"""What is worth saying of a connection that could not be had; urllib3 says it last, in several parentheses."""


@contextmanager
def reporting_errors(cloud: str, asked: str) -> Iterator[None]:
    """Say what was asked where a cloud refuses it. Raises StageError for whatever the SDK raises."""
    try:
        yield
    except NodropError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("openstack", "keystoneauth1", "requests")):
            raise
        raise request_error(cloud, asked, error) from error


class CloudError(StageError):
    """A cloud refused a request, or did not answer it."""

    def __init__(self, message: str, status: int | None) -> None:
        super().__init__(message)
        self.status = status
        """Of HTTP; None: there was no answer."""


def request_error(cloud: str, asked: str, error: Exception) -> CloudError:
    """The sentence for what the SDK raised."""
    status = http_status_of(error)
    said = service_message(error)
    if status is None:
        return CloudError(
            f"cloud {cloud}: asked to {asked}, no answer: {said}; see that its service can be reached", None
        )
    does = QUOTA_ADVICE if "quota" in said.lower() else STATUS_ADVICE.get(status, "look into the service's log")
    return CloudError(f"cloud {cloud}: asked to {asked}, it answers {status}: {said}; {does}", status)


def http_status_of(error: BaseException) -> int | None:
    """The status of HTTP that an exception of the SDK's or keystoneauth's is for."""
    found = getattr(error, "status_code", None) or getattr(error, "http_status", None)
    if found is None and (response := getattr(error, "response", None)) is not None:
        found = getattr(response, "status_code", None)
    return int(found) if found else None


def service_message(error: BaseException) -> str:
    """What a service said, without what is about the request, in one line."""
    text = str(getattr(error, "details", None) or getattr(error, "message", None) or error)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]{0,200}>", " ", text)).strip()
    if unreached := CONNECTION_FAILURE.search(text):
        return f"{unreached['why'].strip() or 'no connection'} ({unreached['where']})"
    text = re.sub(r" ?\(HTTP \d+\)| ?\(Request-ID: [^)]*\)", "", text).rstrip(" .;:")
    return text[:MESSAGE_CHARS_MAX] or type(error).__name__
