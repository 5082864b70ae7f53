"""Charts of pages, drawn when somebody looks at them.

Drawing takes CPU time that a measurement on this machine may want. So a page comes without its charts and with their
addresses; each is drawn once, at the lowest priority and one at a time, and kept in memory. An address is a hash of
the chart, so what a browser keeps of it never gets old.
"""

import asyncio
import collections
import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from nodrop.charts import render
from nodrop.charts.base import Chart
from nodrop.charts.theme import Theme
from nodrop.server.pages.context import Site
from nodrop.server.pages.render import environment
from nodrop.server.rest.problem import Problem

Key = TypeVar("Key")
Kept = TypeVar("Kept")
CHARTS_MAX = 300
"""Charts of pages that were sent lately."""
LOWEST_PRIORITY = 19
CACHE = "private, max-age=3600, immutable"


class ChartCache:
    """Charts that pages promised, and drawings of those that were asked for."""

    def __init__(self) -> None:
        self._promised: collections.OrderedDict[str, Chart] = collections.OrderedDict()
        self._drawn: collections.OrderedDict[tuple[str, Theme], str] = collections.OrderedDict()
        self._lock = threading.Lock()
        self._painter = ThreadPoolExecutor(1, "painter", initializer=_stand_back)

    def promise(self, chart: Chart) -> str:
        """The name of its drawing."""
        name = hashlib.sha256(chart.model_dump_json().encode()).hexdigest()[:32]
        with self._lock:
            _keep(self._promised, name, chart)
        return name

    def placeholder(self, chart: Chart) -> Markup:
        """What stands where the chart will be; without scripts, the drawing as a picture."""
        shown = environment().get_template("chart.html").render(name=self.promise(chart), chart=chart)
        return Markup(shown)

    async def drawing(self, name: str, theme: Theme) -> str:
        """A chart as SVG. Raises Problem when it was promised too long ago."""
        with self._lock:
            chart, known = self._promised.get(name), self._drawn.get((name, theme))
        if known is not None:
            return known
        if chart is None:
            raise Problem(404, f"chart {name[:40]!r} asked, the page that shows it was sent long ago; load it again")
        made = await asyncio.get_running_loop().run_in_executor(self._painter, render.render_svg, chart, theme)
        with self._lock:
            _keep(self._drawn, (name, theme), made)
        return made

    async def all_of(self, charts: tuple[Chart, ...]) -> dict[str, Markup]:
        """Drawings of several charts, by what `promise` says of them."""
        names = [self.promise(chart) for chart in charts]
        return {name: Markup(await self.drawing(name, "light")) for name in names}


def routes(site: Site) -> APIRouter:
    """The drawings."""
    router = APIRouter()

    @router.get("/charts/{name}.svg")
    async def draw_chart(request: Request, name: str) -> Response:
        theme: Theme = "dark" if request.query_params.get("theme") == "dark" else "light"
        drawing = await site.drawings.drawing(name, theme)
        headers = {"Cache-Control": "no-store" if site.sessions else CACHE}
        return Response(drawing, media_type="image/svg+xml", headers=headers)

    return router


def _stand_back() -> None:
    """Whatever else wants the CPU gets it first; threads that the renderer begins are no better."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)


def _keep(kept: "collections.OrderedDict[Key, Kept]", key: Key, value: Kept) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > CHARTS_MAX:
        kept.popitem(last=False)
