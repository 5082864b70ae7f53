"""Protocol of the HTML pages served next to the REST interfaces."""

from collections.abc import Callable
from typing import Protocol

from fastapi import FastAPI
from starlette.requests import HTTPConnection
from starlette.responses import Response

from nodrop.server.rest.problem import Problem
from nodrop.server.rest.run_queue import RunQueue
from nodrop.server.rest.server_config import ServerConfig
from nodrop.server.rest.sessions import Sessions


class PageProvider(Protocol):
    """HTML pages over the same queue and results."""

    def add_to(self, app: FastAPI) -> None:
        """Add the routes of the pages."""

    def reply(self, connection: HTTPConnection, problem: Problem) -> Response | None:
        """Render a problem as a page; None if the client is a program and gets the answer of the interface."""


MakePageProvider = Callable[[RunQueue, ServerConfig, Sessions | None], PageProvider]
"""Without sessions no login is required."""
