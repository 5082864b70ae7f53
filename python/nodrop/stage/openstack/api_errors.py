"""What a cloud refused, in a sentence: what was asked, what was found, what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from nodrop.errors import NodropError, StageError

STATUS_DOES = {
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
QUOTA_DOES = "take away what is not needed (`openstack quota show --usage`), or ask an administrator for more"
MOST_SAID = 400
UNREACHED = re.compile(
    r"(?P<where>https?://[^\s,]+): \w+Pool\(.*?Max retries exceeded.*?"
    r"(?:\[Errno -?\d+\] |certificate verify failed: |$)(?P<why>[^\"'()]*)"
)
"""What is worth saying of a connection that could not be had; urllib3 says it last, in several parentheses."""


@contextmanager
def asking(cloud: str, asked: str) -> Iterator[None]:
    """Say what was asked where a cloud refuses it. Raises StageError for whatever the SDK raises."""
    try:
        yield
    except NodropError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("openstack", "keystoneauth1", "requests")):
            raise
        raise refused(cloud, asked, error) from error


class Refused(StageError):
    """A cloud refused a request, or did not answer it."""

    def __init__(self, message: str, status: int | None) -> None:
        super().__init__(message)
        self.status = status
        """Of HTTP; None: there was no answer."""


def refused(cloud: str, asked: str, error: Exception) -> Refused:
    """The sentence for what the SDK raised."""
    status = status_of(error)
    said = said_by(error)
    if status is None:
        return Refused(f"cloud {cloud}: asked to {asked}, no answer: {said}; see that its service can be reached", None)
    does = QUOTA_DOES if "quota" in said.lower() else STATUS_DOES.get(status, "look into the service's log")
    return Refused(f"cloud {cloud}: asked to {asked}, it answers {status}: {said}; {does}", status)


def status_of(error: BaseException) -> int | None:
    """The status of HTTP that an exception of the SDK's or keystoneauth's is for."""
    found = getattr(error, "status_code", None) or getattr(error, "http_status", None)
    if found is None and (response := getattr(error, "response", None)) is not None:
        found = getattr(response, "status_code", None)
    return int(found) if found else None


def said_by(error: BaseException) -> str:
    """What a service said, without what is about the request, in one line."""
    text = str(getattr(error, "details", None) or getattr(error, "message", None) or error)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]{0,200}>", " ", text)).strip()
    if unreached := UNREACHED.search(text):
        return f"{unreached['why'].strip() or 'no connection'} ({unreached['where']})"
    text = re.sub(r" ?\(HTTP \d+\)| ?\(Request-ID: [^)]*\)", "", text).rstrip(" .;:")
    return text[:MOST_SAID] or type(error).__name__
