"""Style, scripts and pictures: files of static/, which browsers keep for as long as their content stays the same."""

import functools
import hashlib
import mimetypes
from collections.abc import Callable
from pathlib import Path

from fastapi import APIRouter, Request, Response

from nodrop.report import html
from nodrop.server.pages.context import Site
from nodrop.server.rest.problem import Problem

STATIC = Path(__file__).with_name("static")
PREFIX = "/static/"
MADE: dict[str, Callable[[], str]] = {"report.css": html.read_style, "report.js": html.read_script}
"""What reports bring along, for pages that show one."""
KEPT = "public, max-age=31536000, immutable"
ASKED_AGAIN = "no-cache"


def static_url(name: str) -> str:
    """Where a file is; another content is at another place."""
    return f"{PREFIX}{name}?v={_version(name)}"


@functools.cache
def _version(name: str) -> str:
    return hashlib.sha256(_content(name)).hexdigest()[:12]


@functools.cache
def _content(name: str) -> bytes:
    return MADE[name]().encode() if name in MADE else (STATIC / name).read_bytes()


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(path.name for path in STATIC.iterdir() if path.is_file()) | frozenset(MADE)


def routes(_site: Site) -> APIRouter:
    """The files."""
    router = APIRouter()

    @router.get(PREFIX + "{name}")
    async def static(request: Request, name: str) -> Response:
        if name not in _names():
            raise Problem(404, f"{name[:60]!r} asked, there is no such file")
        kept = request.query_params.get("v") == _version(name)
        media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = {"Cache-Control": KEPT if kept else ASKED_AGAIN}
        return Response(_content(name), media_type=media_type, headers=headers)

    return router
