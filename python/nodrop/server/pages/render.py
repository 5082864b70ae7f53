"""Rendering of templates, and their filters. Times are in UTC: server and readers may be in different time zones."""

import functools
import re
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse

from nodrop import __version__
from nodrop.charts.base import Chart
from nodrop.formatting.messages import format_message
from nodrop.server.pages.assets import make_static_url
from nodrop.server.pages.chart_cache import ChartCache
from nodrop.server.pages.context import Site
from nodrop.server.pages.forms import make_form_token
from nodrop.server.pages.headers import add_headers
from nodrop.units import format_count, format_pps, format_seconds

THEME_COOKIE = "nodrop-theme"
THEMES = ("light", "dark")
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400
RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
NAVIGATION = (("/", "Runs"), ("/results", "Results"), ("/compare", "Compare"), ("/trend", "Trend"), ("/state", "State"))


def render(connection: HTTPConnection, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a page.

    Args:
        connection: the request.
        template: file of templates/, a page that extends base.html or a piece of a page.
        status: HTTP status.
        values: variables of the template, escaped by it.
    """
    site: Site = connection.app.state.site
    theme = connection.cookies.get(THEME_COOKIE)
    common = {
        "path": connection.scope["path"],
        "current_url": _get_current_url(connection),
        "theme": theme if theme in THEMES else None,
        "form_token": make_form_token(connection),
        "has_login": site.sessions is not None,
        "running": site.runs.running,
    }
    response = HTMLResponse(make_environment().get_template(template).render(common | values), status)
    # Pages behind a login must not remain in a cache.
    response.headers["Cache-Control"] = "no-store" if site.sessions else "no-cache"
    add_headers(MutableHeaders(raw=response.raw_headers))
    return response


@functools.cache
def make_environment() -> Environment:
    """Return the environment of the templates."""
    environment = Environment(
        loader=PackageLoader("nodrop.server.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"static": make_static_url, "version": __version__, "navigation": NAVIGATION}
    environment.filters |= {
        "message": format_message,
        "pps": format_pps,
        "count": format_count,
        "seconds": format_seconds,
        "bytes": format_bytes,
        "timestamp": format_time,
        "date": format_day,
        "age": format_age,
        "short_id": format_short_id,
    }
    return environment


def render_placeholder(charts: ChartCache, chart: Chart) -> Markup:
    """Return the element that a script replaces by the chart; without scripts an image."""
    return Markup(make_environment().get_template("chart.html").render(name=charts.register(chart), chart=chart))


def _get_current_url(connection: HTTPConnection) -> str:
    """Return the URL to return to after a form."""
    query = connection.scope.get("query_string", b"").decode("latin-1")
    return f"{connection.scope['path']}?{query}" if query else f"{connection.scope['path']}"


def format_bytes(count: int) -> str:
    """Format a size: `15.6 GiB`."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.3g} {unit}"
        amount /= 1024
    return f"{amount:.3g} TiB"


def format_time(iso: str) -> str:
    """Format a time: `2026-01-31 12:00:05`."""
    return f"{_parse_utc(iso):%Y-%m-%d %H:%M:%S}"


def format_day(iso: str) -> str:
    """Format a date: `2026-01-31`."""
    return f"{_parse_utc(iso):%Y-%m-%d}"


def format_clock(iso: str) -> str:
    """Format the time of day: `12:00:05`; with the date if that is another one."""
    time = _parse_utc(iso)
    return f"{time:%H:%M:%S}" if time.date() == datetime.now(UTC).date() else f"{time:%Y-%m-%d %H:%M:%S}"


def format_short_id(run_id: str) -> str:
    """Return the last part of the id of a result, which commands accept: `e392bc`."""
    return run_id.rpartition("-")[2] if RUN_ID.fullmatch(run_id) else run_id


def format_age(iso: str, now: datetime | None = None) -> str:
    """Format an age in one unit: `5 min ago`; after a week the date."""
    age_s = ((now or datetime.now(UTC)) - _parse_utc(iso)).total_seconds()
    if age_s < MINUTE_S:
        return "just now"
    for unit_s, name, limit_s in ((MINUTE_S, "min", HOUR_S), (HOUR_S, "h", DAY_S), (DAY_S, "d", 7 * DAY_S)):
        if age_s < limit_s:
            return f"{age_s // unit_s:.0f} {name} ago"
    return format_day(iso)


def _parse_utc(iso: str) -> datetime:
    time = datetime.fromisoformat(iso)
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
