"""The pages put together. Start reading here."""

from collections.abc import Callable

from fastapi import APIRouter, FastAPI
from starlette.requests import HTTPConnection
from starlette.responses import Response

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
from nodrop.server.pages.context import Site
from nodrop.server.pages.errors import make_error_page
from nodrop.server.pages.headers import HeadersMiddleware
from nodrop.server.rest.problem import Problem
from nodrop.server.rest.run_queue import RunQueue
from nodrop.server.rest.server_config import ServerConfig
from nodrop.server.rest.sessions import Sessions

ROUTER_FACTORIES: tuple[Callable[[Site], APIRouter], ...] = (
    assets.routes,
    chart_routes.routes,
    login.routes,
    runs.routes,
    start.routes,
    live.routes,
    results.routes,
    result.routes,
    compare.routes,
    trend.routes,
    machine_page.routes,
)
"""Every file that has pages."""


class WebPages:
    """All pages over a queue of runs."""

    def __init__(self, runs: RunQueue, config: ServerConfig, sessions: Sessions | None) -> None:
        self._site = Site(runs, config, sessions, chart_routes.Drawings())

    def add_to(self, app: FastAPI) -> None:
        """Add their routes, which are no part of the interface that OpenAPI describes."""
        app.state.site = self._site
        for routes in ROUTER_FACTORIES:
            app.include_router(routes(self._site), include_in_schema=False)
        app.add_middleware(HeadersMiddleware)

    def reply(self, connection: HTTPConnection, problem: Problem) -> Response | None:
        """A problem as a page; None where a program asked."""
        return make_error_page(connection, problem)
