"""Errors of requests in the form of RFC 9457."""

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
"""Reason phrases (RFC 9110 section 15); those of Python differ between releases."""


class Problem(Exception):
    """A request answered with an error; the detail states the problem and the fix."""

    def __init__(self, status: int, detail: str, errors: Sequence[str] = (), page_detail: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = tuple(errors)
        """One sentence per invalid key."""
        self.page_detail = page_detail or detail
        """The detail for the reader of a page, who has links instead of endpoints."""


class ProblemDetails(Value):
    """An error (RFC 9457 section 3)."""

    type: str = "about:blank"
    """Kind of problem; `about:blank`: given by the status alone."""
    title: str
    """Reason phrase of the status."""
    status: int
    """HTTP status."""
    detail: str
    """The problem and how to fix it."""
    errors: tuple[str, ...] = ()
    """One sentence per invalid key of the body."""


def make_problem_response(problem: Problem, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return the error response of /api/v1."""
    details = ProblemDetails(
        title=PHRASES.get(problem.status, str(problem.status)),
        status=problem.status,
        detail=problem.detail,
        errors=problem.errors,
    )
    return JSONResponse(details.model_dump(mode="json"), problem.status, headers, MEDIA_TYPE)


def describe_errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the error responses of an endpoint for OpenAPI."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    return {status: {"description": PHRASES[status], "content": content} for status in statuses}
