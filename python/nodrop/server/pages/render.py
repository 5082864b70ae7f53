"""A page out of a template."""

import functools
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse

from nodrop import __version__
from nodrop.server.pages.assets import static_url
from nodrop.server.pages.context import Site
from nodrop.server.pages.forms import make_form_token
from nodrop.server.pages.headers import add_headers
from nodrop.server.pages.timestamps import format_age, format_day, format_time
from nodrop.units import format_count, format_pps, format_seconds

THEME_COOKIE = "nodrop-theme"
THEMES = ("light", "dark")
NAVIGATION = (("/", "Runs"), ("/results", "Results"), ("/compare", "Compare"), ("/trend", "Trend"), ("/state", "State"))


def render(connection: HTTPConnection, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page.

    Args:
        connection: the request it answers.
        template: a file of templates/, which extends base.html or is a piece of a page.
        status: of HTTP.
        values: what the template shows; all of it is escaped.
    """
    site: Site = connection.app.state.site
    theme = connection.cookies.get(THEME_COOKIE)
    common = {
        "path": connection.scope["path"],
        "here": _here(connection),
        "theme": theme if theme in THEMES else None,
        "form_token": make_form_token(connection),
        "logs_in": site.sessions is not None,
        "running": site.runs.running,
    }
    response = HTMLResponse(environment().get_template(template).render(common | values), status)
    # What only those may see who are logged in shall not be found in a cache afterwards.
    response.headers["Cache-Control"] = "no-store" if site.sessions else "no-cache"
    add_headers(MutableHeaders(raw=response.raw_headers))
    return response


@functools.cache
def environment() -> Environment:
    """Where templates come from, and what they may use."""
    made = Environment(
        loader=PackageLoader("nodrop.server.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {"static": static_url, "version": __version__, "navigation": NAVIGATION}
    made.filters |= {
        "pps": format_pps,
        "count": format_count,
        "seconds": format_seconds,
        "bytes": format_bytes,
        "moment": format_time,
        "day": format_day,
        "ago": format_age,
    }
    return made


def _here(connection: HTTPConnection) -> str:
    """Where a form returns to that changes how pages look."""
    query = connection.scope.get("query_string", b"").decode("latin-1")
    return f"{connection.scope['path']}?{query}" if query else f"{connection.scope['path']}"


def format_bytes(count: int) -> str:
    """`15.6 GiB`."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.3g} {unit}"
        amount /= 1024
    return f"{amount:.3g} TiB"
