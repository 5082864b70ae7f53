"""What went wrong, as a page in words."""

from urllib.parse import quote

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from nodrop.server.pages.render import render
from nodrop.server.rest.auth_middleware import OWN_SITE, SAFE_METHODS
from nodrop.server.rest.nfvbench import PATHS
from nodrop.server.rest.problem import PHRASES, Problem

PROGRAMS = ("/api/", "/metrics", "/health", "/openapi.json", *PATHS)
"""Paths that are answered for programs, whoever asks."""
HEADINGS = {
    400: "This cannot be asked",
    403: "Not allowed",
    404: "There is nothing here",
    405: "This page is only to be read",
    409: "Not now",
    410: "No longer here",
    500: "nodrop failed to make this page",
}


def make_error_page(connection: HTTPConnection, problem: Problem) -> Response | None:
    """A problem as a page, or the way to log in; None where a program asked."""
    if not wants_page(connection):
        return None
    if problem.status != 401:
        heading = HEADINGS.get(problem.status, PHRASES.get(problem.status, "An error"))
        return render(connection, "error.html", problem.status, heading=heading, problem=problem)
    if connection.scope["method"] not in SAFE_METHODS:
        return RedirectResponse("/login", 303)
    if connection.headers.get("sec-fetch-site", "none") not in OWN_SITE:
        # A link on another site: the browser keeps the cookie back, and sends it once our own page asks again.
        return render(connection, "again.html")
    here = connection.scope["path"]
    if query := connection.scope.get("query_string", b"").decode("latin-1"):
        here += f"?{query}"
    return RedirectResponse("/login" if here == "/" else f"/login?next={quote(here)}", 303)


def wants_page(connection: HTTPConnection) -> bool:
    """Whether a browser asks for something to look at."""
    path: str = connection.scope["path"]
    if any(path == place.rstrip("/") or path.startswith(place.rstrip("/") + "/") for place in PROGRAMS):
        return False
    return "text/html" in connection.headers.get("accept", "")
