"""What went wrong with a request, as RFC 9457 wants it told."""

from collections.abc import Sequence
from typing import Any

from fastapi.responses import JSONResponse

from nodrop.model.base import Value

MEDIA_TYPE = "application/problem+json"
PHRASES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    410: "Gone",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
"""Statuses in words (RFC 9110 section 15); those of Python change from release to release."""


class Problem(Exception):
    """A request that is answered with an error; the detail says what was asked, what was found and what to do."""

    def __init__(self, status: int, detail: str, errors: Sequence[str] = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = tuple(errors)
        """One sentence for each key that cannot be used."""


class ProblemDetails(Value):
    """An error (RFC 9457 section 3)."""

    type: str = "about:blank"
    """The kind of problem; `about:blank`: what the status says."""
    title: str
    """The status in words."""
    status: int
    """The HTTP status."""
    detail: str
    """What was asked, what was found, and what to do."""
    errors: tuple[str, ...] = ()
    """One sentence for each key of the body that cannot be used."""


def problem_response(problem: Problem, headers: dict[str, str] | None = None) -> JSONResponse:
    """The answer to a request of /api/v1 that went wrong."""
    details = ProblemDetails(
        title=PHRASES.get(problem.status, str(problem.status)),
        status=problem.status,
        detail=problem.detail,
        errors=problem.errors,
    )
    return JSONResponse(details.model_dump(mode="json"), problem.status, headers, MEDIA_TYPE)


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of an endpoint for its OpenAPI description."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    return {status: {"description": PHRASES[status], "content": content} for status in statuses}
