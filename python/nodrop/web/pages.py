"""The pages put together. Start reading here."""

from collections.abc import Callable

from fastapi import APIRouter, FastAPI
from starlette.requests import HTTPConnection
from starlette.responses import Response

from nodrop.api.base import Base
from nodrop.api.problem import Problem
from nodrop.api.runs import Runs
from nodrop.api.sessions import Sessions
from nodrop.web import assets, compare, drawing, live, login, result, results, runs, start, state, trend
from nodrop.web.errors import error_page
from nodrop.web.headers import Headers
from nodrop.web.site import Site

ROOMS: tuple[Callable[[Site], APIRouter], ...] = (
    assets.routes,
    drawing.routes,
    login.routes,
    runs.routes,
    start.routes,
    live.routes,
    results.routes,
    result.routes,
    compare.routes,
    trend.routes,
    state.routes,
)
"""Every file that has pages."""


class WebPages:
    """All pages over a queue of runs."""

    def __init__(self, runs: Runs, base: Base, sessions: Sessions | None) -> None:
        self._site = Site(runs, base, sessions, drawing.Drawings())

    def add_to(self, app: FastAPI) -> None:
        """Add their routes, which are no part of the interface that OpenAPI describes."""
        app.state.site = self._site
        for routes in ROOMS:
            app.include_router(routes(self._site), include_in_schema=False)
        app.add_middleware(Headers)

    def reply(self, connection: HTTPConnection, problem: Problem) -> Response | None:
        """A problem as a page; None where a program asked."""
        return error_page(connection, problem)
