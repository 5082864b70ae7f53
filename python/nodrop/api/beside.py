"""What may be served beside the interfaces, without their knowing more of it: pages for people."""

from collections.abc import Callable
from typing import Protocol

from fastapi import FastAPI
from starlette.requests import HTTPConnection
from starlette.responses import Response

from nodrop.api.base import Base
from nodrop.api.problem import Problem
from nodrop.api.runs import Runs
from nodrop.api.sessions import Sessions


class Pages(Protocol):
    """Pages over the same queue and results."""

    def add_to(self, app: FastAPI) -> None:
        """Add their routes."""

    def reply(self, connection: HTTPConnection, problem: Problem) -> Response | None:
        """A problem told as a page; None where it is for a program, and told as the interfaces do."""


MakePages = Callable[[Runs, Base, Sessions | None], Pages]
"""Without sessions nobody has to log in."""
