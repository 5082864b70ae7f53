"""The last result on the first page: figures, limit, cautions, and the earlier runs of the same setup."""

import functools
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool

from nodrop import store
from nodrop.charts.sparkline import Sparkline
from nodrop.errors import ConfigError
from nodrop.formatting import describe_traffic, format_measure
from nodrop.model.result_filter import ResultFilter
from nodrop.model.summary import ResultRow, Summary
from nodrop.report.document.blocks import Card
from nodrop.report.document.headline import build_cards
from nodrop.report.document.screen import list_cautions
from nodrop.report.listing import format_listed_measure
from nodrop.server.pages.context import Site
from nodrop.server.pages.setups import (
    RUNS_MAX,
    SeriesPoint,
    draw_points,
    find_main_measure,
    list_points,
    make_trend_key,
)
from nodrop.units import format_count, format_ratio

CANDIDATES_MAX = 200
"""Runs among which those of the same setup are looked for."""
REFRESH_S = 10.0
"""Longest time without a look at the results directory: this page is requested every few seconds during a run."""


class ResultFigures(NamedTuple):
    """What a result says."""

    traffic: str
    cards: tuple[Card, ...]
    """Main figures; empty without any."""
    cautions: tuple[str, ...]


class SetupHistory(NamedTuple):
    """The main rate of the runs of one setup."""

    metric: str
    sparkline: Sparkline
    sentence: str


class LastResult(NamedTuple):
    """The newest result."""

    row: ResultRow
    figures: ResultFigures
    history: SetupHistory | None
    """None for a setup that was measured once."""


class LastResultCache:
    """The newest result, looked up again when the results directory changes."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._last: LastResult | None = None
        self._stamp: object = None
        self._read_s = 0.0

    async def load(self) -> LastResult | None:
        """Return the newest result; None without results."""
        stamp = self._read_stamp()
        if stamp != self._stamp or time.monotonic() - self._read_s > REFRESH_S:
            self._last = await run_in_threadpool(find_last_result, self._site)
            self._stamp, self._read_s = self._read_stamp(), time.monotonic()
        return self._last

    def _read_stamp(self) -> object:
        ended = tuple(entry.run_ids for entry in self._site.runs.newest_first()[:1] if entry.state.is_over)
        try:
            return ended, Path(self._site.config.results_dir).stat().st_mtime_ns
        except OSError:
            return ended, None


def find_last_result(site: Site) -> LastResult | None:
    """Find the newest result; None without results."""
    with site.open_store() as index:
        newest = index.list(ResultFilter(limit=1))
        if not newest:
            return None
        row = newest[0]
        runs = index.list(_make_setup_filter(row.summary))
    return LastResult(row, read_figures(row), build_history(row.summary, [each.summary for each in runs]))


def _make_setup_filter(summary: Summary) -> ResultFilter:
    return ResultFilter(
        frame_size=summary.frame_size,
        path=summary.path,
        chain_count=summary.chain_count,
        source=summary.source,
        limit=CANDIDATES_MAX,
    )


def read_figures(row: ResultRow) -> ResultFigures:
    """Return what a result says; of another program's, or of one that is no longer readable, its measures."""
    if row.summary.source == "nodrop":
        try:
            return _read_figures(Path(row.file))
        except ConfigError:
            pass
    cards = tuple(
        Card(label=each.text, text=format_listed_measure(each), about="")
        for each in row.summary.measures
        if each.unit != "ns"
    )
    return ResultFigures(f"frame size {row.summary.frame_size}", cards[:2], ())


@functools.lru_cache(4)
def _read_figures(file: Path) -> ResultFigures:
    """Read a result, cached since results never change."""
    result = store.load(file)
    return ResultFigures(describe_traffic(result.plan.traffic), build_cards([result]), tuple(list_cautions(result)))


def build_history(summary: Summary, newest_first: Sequence[Summary]) -> SetupHistory | None:
    """Build the history of the main rate over the runs with the setup of a result; None with fewer than two."""
    key = make_trend_key(summary)
    same = [each for each in newest_first if each.status == "complete" and make_trend_key(each) == key]
    main = next(filter(None, map(find_main_measure, same)), None)
    points = list_points(list(reversed(same)), main.key) if main else []
    if main is None or len(points) < 2:
        return None
    points = points[-RUNS_MAX:]
    return SetupHistory(main.text, draw_points(points), _describe_history(points, summary.run_id))


def _describe_history(points: Sequence[SeriesPoint], last_run_id: str) -> str:
    """Compare the last run with earlier ones: `8 earlier runs: 503 kpps to 530 kpps. This one is 2 % lower ...`."""
    earlier = [each.measure.value for each in points if each.run_id != last_run_id]
    ends = dict.fromkeys(format_measure(each, "pps") for each in (min(earlier), max(earlier)))
    text = f"{format_count(len(earlier), 'earlier run')}: {' to '.join(ends)}"
    median, last = statistics.median(earlier), points[-1]
    if last.run_id != last_run_id or not median:
        return f"{text}."
    change = last.measure.value / median - 1
    side = "higher" if change >= 0 else "lower"
    return f"{text}. This one is {format_ratio(float(f'{abs(change):.2g}'))} {side} than their median."
