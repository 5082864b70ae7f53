"""The charts of recent pages, rendered on request.

Rendering takes CPU time from a measurement on this machine. A page therefore contains only the URLs of its charts; the
server renders each chart once, one at a time and at the lowest priority, and caches it. The URL contains a hash of the
chart, so a browser's copy never becomes outdated.
"""

import asyncio
import collections
import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from markupsafe import Markup

from nodrop.charts import render
from nodrop.charts.base import Chart
from nodrop.charts.theme import Theme
from nodrop.server.rest.problem import Problem

Key = TypeVar("Key")
Item = TypeVar("Item")
CHARTS_MAX = 300
"""Charts in the cache, those of recent pages."""
LOWEST_PRIORITY = 19


class ChartCache:
    """Charts of recent pages, and their renderings."""

    def __init__(self) -> None:
        self._charts: collections.OrderedDict[str, Chart] = collections.OrderedDict()
        self._renderings: collections.OrderedDict[tuple[str, Theme], str] = collections.OrderedDict()
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(1, "renderer", initializer=_lower_thread_priority)

    def register(self, chart: Chart) -> str:
        """Add a chart; returns the name of its rendering."""
        name = hashlib.sha256(chart.model_dump_json().encode()).hexdigest()[:32]
        with self._lock:
            _store(self._charts, name, chart)
        return name

    async def render(self, name: str, theme: Theme) -> str:
        """Return a chart as SVG. Raises Problem if it is no longer registered."""
        with self._lock:
            chart, cached = self._charts.get(name), self._renderings.get((name, theme))
        if cached is not None:
            return cached
        if chart is None:
            raise Problem(404, f"chart {name[:40]!r} has expired; reload its page")
        svg = await asyncio.get_running_loop().run_in_executor(self._executor, render.render_svg, chart, theme)
        with self._lock:
            _store(self._renderings, (name, theme), svg)
        return svg

    async def render_all(self, charts: tuple[Chart, ...]) -> dict[str, Markup]:
        """Return the renderings of several charts by name."""
        names = [self.register(chart) for chart in charts]
        return {name: Markup(await self.render(name, "light")) for name in names}


def _lower_thread_priority() -> None:
    """Lower the priority of this thread, and of the threads that it starts."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)


def _store(cache: "collections.OrderedDict[Key, Item]", key: Key, value: Item) -> None:
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > CHARTS_MAX:
        cache.popitem(last=False)
