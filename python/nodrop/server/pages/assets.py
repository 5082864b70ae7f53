"""Style sheets, scripts and icons of static/, which browsers cache until the content changes."""

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
GENERATED: dict[str, Callable[[], str]] = {"report.css": html.read_style, "report.js": html.read_script}
"""Assets of reports, for pages that show one."""
CACHE_FOREVER = "public, max-age=31536000, immutable"
REVALIDATE = "no-cache"


def make_static_url(name: str) -> str:
    """Return the URL of a file, which contains the version of its content."""
    return f"{PREFIX}{name}?v={_get_version(name)}"


@functools.cache
def _get_version(name: str) -> str:
    return hashlib.sha256(_read_content(name)).hexdigest()[:12]


@functools.cache
def _read_content(name: str) -> bytes:
    return GENERATED[name]().encode() if name in GENERATED else (STATIC / name).read_bytes()


@functools.cache
def _list_names() -> frozenset[str]:
    return frozenset(path.name for path in STATIC.iterdir() if path.is_file()) | frozenset(GENERATED)


def make_routes(_site: Site) -> APIRouter:
    """Return the routes of the files."""
    router = APIRouter()

    @router.get(PREFIX + "{name}")
    async def static(request: Request, name: str) -> Response:
        if name not in _list_names():
            raise Problem(404, f"file {name[:60]!r} not found")
        is_current = request.query_params.get("v") == _get_version(name)
        media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = {"Cache-Control": CACHE_FOREVER if is_current else REVALIDATE}
        return Response(_read_content(name), media_type=media_type, headers=headers)

    return router
