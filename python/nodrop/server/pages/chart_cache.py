"""The charts of recent pages, rendered on request.

Rendering takes CPU time from a measurement on this machine. A page therefore contains only the URLs of its charts; the
server renders each chart once, one at a time and at a low priority, and caches it. The URL contains a hash of the
chart, so a browser's copy never becomes outdated.

The renderer keeps the interpreter lock while it draws. In a thread it would delay every other answer of the server, so
it has a process of its own, which ends with the server because its standard input does.
"""

import collections
import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from anyio import BrokenWorkerProcess, CapacityLimiter, to_process
from markupsafe import Markup

from nodrop.charts import render
from nodrop.charts.base import Chart
from nodrop.charts.theme import Theme
from nodrop.server.rest.problem import Problem

Key = TypeVar("Key")
Item = TypeVar("Item")
Drawing = TypeVar("Drawing")
CHARTS_MAX = 300
"""Charts in the cache, those of recent pages."""
RENDERER_NICE = 10
"""Niceness of the renderer. With 19, charts would take minutes where other programs need all CPUs."""


class ChartCache:
    """Charts of recent pages, and their renderings."""

    def __init__(self) -> None:
        self._charts: collections.OrderedDict[str, Chart] = collections.OrderedDict()
        self._renderings: collections.OrderedDict[tuple[str, Theme], str] = collections.OrderedDict()
        self._lock = threading.Lock()
        self._limiter = CapacityLimiter(1)

    def register(self, chart: Chart) -> str:
        """Add a chart; returns the name of its rendering."""
        name = hashlib.sha256(chart.model_dump_json().encode()).hexdigest()[:32]
        with self._lock:
            _store(self._charts, name, chart)
        return name

    async def render(self, name: str, theme: Theme) -> str:
        """Return a chart as SVG. Raises Problem if it is no longer registered, or if it fails."""
        with self._lock:
            chart, cached = self._charts.get(name), self._renderings.get((name, theme))
        if cached is not None:
            return cached
        if chart is None:
            raise Problem(404, f"chart {name[:40]!r} has expired; reload its page")
        svg = await self._call_renderer(render.render_svg, chart, theme)
        with self._lock:
            _store(self._renderings, (name, theme), svg)
        return svg

    async def compile(self, charts: Sequence[Chart], theme: Theme) -> dict[str, dict[str, Any]]:
        """Return the charts without data as Vega by name, for browsers. Raises Problem."""
        return {chart.name: await self._call_renderer(render.compile_chart, chart, theme) for chart in charts}

    async def render_all(self, charts: tuple[Chart, ...]) -> dict[str, Markup]:
        """Return the renderings of several charts by name."""
        names = [self.register(chart) for chart in charts]
        return {name: Markup(await self.render(name, "light")) for name in names}

    async def _call_renderer(self, draw: Callable[[Chart, Theme], Drawing], chart: Chart, theme: Theme) -> Drawing:
        """Draw a chart in the renderer's process. Raises Problem if that process ends."""
        try:
            return await to_process.run_sync(_draw_at_low_priority, draw, chart, theme, limiter=self._limiter)
        except BrokenWorkerProcess:
            raise Problem(503, "the process that renders charts ended, or did not start; reload the page") from None


def _draw_at_low_priority(draw: Callable[[Chart, Theme], Drawing], chart: Chart, theme: Theme) -> Drawing:
    """Draw a chart, in the renderer's process."""
    os.setpriority(os.PRIO_PROCESS, 0, max(RENDERER_NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    return draw(chart, theme)


def _store(cache: "collections.OrderedDict[Key, Item]", key: Key, value: Item) -> None:
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > CHARTS_MAX:
        cache.popitem(last=False)
