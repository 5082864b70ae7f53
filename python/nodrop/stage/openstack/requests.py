"""Requests to a cloud: counted by service, retried while a service is unavailable if that is safe; and their errors."""

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
"""Statuses with which a proxy or a service reports that it is unavailable."""
IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
"""Methods that may be carried out twice. Source: RFC 9110 section 9.2.2."""
DISCOVERY = "versions"
"""Key for counting version discovery, which addresses no service."""
RETRY_S = 60.0
"""Time during which one request is retried."""
FIRST_CONTACT_S = 5.0
"""The same before the first reply: an address that never replied is more likely wrong."""
TIMEOUTS_S = (10.0, 60.0)
"""Timeouts of connecting and of reading."""
FIRST_DELAY_S, MAX_DELAY_S = 0.5, 8.0


def retry_while_unavailable(
    send_request: Callable[[], Answer], unavailable_reason: Callable[[Answer], str], on_retry: Callable[[str], None]
) -> Answer:
    """Send a request, with back-off while its service is unavailable.

    Args:
        send_request: sends the request; its exceptions are passed on.
        unavailable_reason: returns why a reply counts as unavailable; empty if it does not.
        on_retry: receives a message before each wait.

    Returns: the first reply that counts as available, or the last one.
    """
    end = time.monotonic() + RETRY_S
    wait_s = FIRST_DELAY_S
    while True:
        answer = send_request()
        reason = unavailable_reason(answer)
        if not reason or time.monotonic() + wait_s > end:
            return answer
        on_retry(f"{reason}; retrying in {wait_s:g} s")
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, MAX_DELAY_S)


class RetryingRequests:
    """Retries and counts all requests of a keystoneauth session."""

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
        """Requests sent so far, by service, e.g. `network`."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def _request(self, url: str, method: str, **options: Any) -> Any:
        """Return a reply, or raise the exception of the last attempt."""
        service = _get_service(options, url)
        options.setdefault("timeout", TIMEOUTS_S)

        def send_request() -> Any:
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
                return ""  # the caller must check first whether the request was carried out
            if isinstance(answer, self._unreachable):
                is_worth_it = self._was_reached or time.monotonic() - self._start_s < FIRST_CONTACT_S
                endpoint = service if service != DISCOVERY else urlsplit(url).netloc
                return f"{endpoint} cannot be reached" if is_worth_it else ""
            self._was_reached = True
            status = _get_status(answer)
            return f"{service} replied {status}" if status in UNAVAILABLE else ""

        answer = retry_while_unavailable(send_request, unavailable_reason, self.on_retry)
        if isinstance(answer, Exception):
            raise answer
        return answer


def _get_status(answer: Any) -> int | None:
    return getattr(answer, "http_status", None) or getattr(answer, "status_code", None)


def _get_service(options: Mapping[str, Any], url: str) -> str:
    """Return the service type in the catalog; requests without one are logins or version discovery."""
    service = (options.get("endpoint_filter") or {}).get("service_type")
    return str(service) if service else "identity" if _is_login(url) else DISCOVERY


def _is_login(url: str) -> bool:
    """Return whether the request is for a token, which is safe to repeat."""
    return url.partition("?")[0].endswith("/auth/tokens")


def _was_connection_refused(answer: Any) -> bool:
    """Return whether no connection was established, so that no request was sent."""
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
    400: "change the request as the message says",
    401: "log in again: the token has expired, or this user was disabled",
    403: "ask an administrator, or for a role that allows this",
    404: "it was deleted meanwhile, or the name is wrong",
    409: "it already exists or is in use, or a quota is exhausted",
    413: "a quota is exhausted, or requests are rate-limited; ask an administrator, or wait",
    429: "requests are rate-limited; wait, and try again",
    500: "see the service's log for this request",
    502: "check that the service runs, and try again",
    503: "check that the service runs, and try again",
    504: "check that the service runs, and try again",
}
QUOTA_ADVICE = "delete what is not needed (see `openstack quota show --usage`), or ask an administrator for more"
MESSAGE_CHARS_MAX = 400
CONNECTION_FAILURE = re.compile(
    r"(?P<where>https?://[^\s,]+): \w+Pool\(.*?Max retries exceeded.*?"
    r"(?:\[Errno -?\d+\] |certificate verify failed: |$)(?P<why>[^\"'()]*)"
)
"""The informative part of a failed connection's message, which urllib3 puts last, in nested parentheses."""


@contextmanager
def reporting_errors(cloud: str, action: str) -> Iterator[None]:
    """Raise the SDK's exceptions as a CloudError with the action that failed."""
    try:
        yield
    except NodropError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("openstack", "keystoneauth1", "requests")):
            raise
        raise build_request_error(cloud, action, error) from error


class CloudError(StageError):
    """A cloud refused a request, or did not reply."""

    def __init__(self, message: str, status: int | None) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status; None: no reply."""


def build_request_error(cloud: str, action: str, error: Exception) -> CloudError:
    """Return the error for an exception of the SDK."""
    status = find_http_status(error)
    message = extract_service_message(error)
    if status is None:
        return CloudError(
            f"cloud {cloud}: cannot {action}: no reply: {message}; check that its service can be reached", None
        )
    advice = QUOTA_ADVICE if "quota" in message.lower() else STATUS_ADVICE.get(status, "see the service's log")
    return CloudError(f"cloud {cloud}: cannot {action}: HTTP {status}: {message}; {advice}", status)


def find_http_status(error: BaseException) -> int | None:
    """Return the HTTP status of an exception of the SDK or keystoneauth."""
    status = getattr(error, "status_code", None) or getattr(error, "http_status", None)
    if status is None and (response := getattr(error, "response", None)) is not None:
        status = getattr(response, "status_code", None)
    return int(status) if status else None


def extract_service_message(error: BaseException) -> str:
    """Return a service's message in one line, without details of the request."""
    text = str(getattr(error, "details", None) or getattr(error, "message", None) or error)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]{0,200}>", " ", text)).strip()
    if unreached := CONNECTION_FAILURE.search(text):
        return f"{unreached['why'].strip() or 'no connection'} ({unreached['where']})"
    text = re.sub(r" ?\(HTTP \d+\)| ?\(Request-ID: [^)]*\)", "", text).rstrip(" .;:")
    return text[:MESSAGE_CHARS_MAX] or type(error).__name__
