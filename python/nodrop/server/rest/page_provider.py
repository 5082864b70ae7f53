"""What may be served beside the interfaces, without their knowing more of it: pages for people."""

from collections.abc import Callable
from typing import Protocol

from fastapi import FastAPI
from starlette.requests import HTTPConnection
from starlette.responses import Response

from nodrop.server.rest.problem import Problem
from nodrop.server.rest.run_queue import Runs
from nodrop.server.rest.server_config import Base
from nodrop.server.rest.sessions import Sessions


class Pages(Protocol):
    """Pages over the same queue and results."""

    def add_to(self, app: FastAPI) -> None:
        """Add their routes."""

    def reply(self, connection: HTTPConnection, problem: Problem) -> Response | None:
        """A problem told as a page; None where it is for a program, and told as the interfaces do."""


MakePages = Callable[[Runs, Base, Sessions | None], Pages]
"""Without sessions nobody has to log in."""
