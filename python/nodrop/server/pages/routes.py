"""All pages. Start reading here."""

from collections.abc import Callable
from urllib.parse import quote

from fastapi import APIRouter, FastAPI
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from nodrop.server.pages import (
    assets,
    chart_routes,
    compare,
    live,
    login,
    machine_page,
    result,
    results,
    runs,
    start,
    trend,
)
from nodrop.server.pages.chart_cache import ChartCache
from nodrop.server.pages.context import Site
from nodrop.server.pages.headers import HeadersMiddleware
from nodrop.server.pages.render import render
from nodrop.server.rest.auth_middleware import OWN_SITE, SAFE_METHODS
from nodrop.server.rest.nfvbench import PATHS
from nodrop.server.rest.problem import PHRASES, Problem
from nodrop.server.rest.run_queue import RunQueue
from nodrop.server.rest.server_config import ServerConfig
from nodrop.server.rest.sessions import Sessions

ROUTER_FACTORIES: tuple[Callable[[Site], APIRouter], ...] = (
    assets.make_routes,
    chart_routes.make_routes,
    login.make_routes,
    runs.make_routes,
    start.make_routes,
    live.make_routes,
    results.make_routes,
    result.make_routes,
    compare.make_routes,
    trend.make_routes,
    machine_page.make_routes,
)
"""One per file with pages."""
INTERFACE_PATHS = ("/api/", "/metrics", "/health", "/openapi.json", *PATHS)
"""Paths of the interfaces, never answered with a page."""
HEADINGS = {
    400: "Invalid request",
    403: "Not allowed",
    404: "Page not found",
    405: "Not supported by this page",
    409: "Not possible now",
    410: "No longer available",
    500: "Internal error",
}


class WebPages:
    """All pages for a queue of runs."""

    def __init__(self, runs: RunQueue, config: ServerConfig, sessions: Sessions | None) -> None:
        self._site = Site(runs, config, sessions, ChartCache())

    def add_to(self, app: FastAPI) -> None:
        """Add the routes of the pages, which are not part of the OpenAPI document."""
        app.state.site = self._site
        for routes in ROUTER_FACTORIES:
            app.include_router(routes(self._site), include_in_schema=False)
        app.add_middleware(HeadersMiddleware)

    def reply(self, connection: HTTPConnection, problem: Problem) -> Response | None:
        """Render a problem as a page; None for a program."""
        return make_error_page(connection, problem)


def make_error_page(connection: HTTPConnection, problem: Problem) -> Response | None:
    """Render a problem, or redirect to the login; None if the client is a program."""
    if not _accepts_html(connection):
        return None
    if problem.status != 401:
        heading = HEADINGS.get(problem.status, PHRASES.get(problem.status, "An error"))
        return render(connection, "error.html", problem.status, heading=heading, problem=problem)
    if connection.scope["method"] not in SAFE_METHODS:
        return RedirectResponse("/login", 303)
    if connection.headers.get("sec-fetch-site", "none") not in OWN_SITE:
        # A link on another site: the browser withholds the cookie, and sends it once a page of this site reloads.
        return render(connection, "again.html")
    target = connection.scope["path"]
    if query := connection.scope.get("query_string", b"").decode("latin-1"):
        target += f"?{query}"
    return RedirectResponse("/login" if target == "/" else f"/login?next={quote(target)}", 303)


def _accepts_html(connection: HTTPConnection) -> bool:
    """Return whether a browser requests a page."""
    path: str = connection.scope["path"]
    if any(path == prefix.rstrip("/") or path.startswith(prefix.rstrip("/") + "/") for prefix in INTERFACE_PATHS):
        return False
    return "text/html" in connection.headers.get("accept", "")
