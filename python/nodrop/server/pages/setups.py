"""Setups of stored results, to choose a trend from."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from nodrop.analysis.trend import make_traffic_key
from nodrop.charts.sparkline import Sparkline, build_sparkline
from nodrop.model.goal import Limit
from nodrop.model.result_filter import ResultFilter
from nodrop.model.summary import Measure, Summary
from nodrop.report.listing import format_listed_measure
from nodrop.server.pages.context import Site
from nodrop.server.pages.results import ESTIMATE

CANDIDATES_MAX = 500
"""Newest results that are grouped by setup."""
SETUPS_MAX = 12
REPEATS_MIN = 2
RUNS_MAX = 20
"""Runs in a sparkline."""


class SetupRow(NamedTuple):
    """A setup and its runs."""

    summary: Summary
    """The newest run."""
    metric: str
    sparkline: Sparkline
    run_count: int
    query: str
    """Query of its trend."""


class SeriesPoint(NamedTuple):
    """The value of a run."""

    run_id: str
    measure: Measure


def list_setups(site: Site) -> tuple[SetupRow, ...]:
    """List the setups of complete runs, those with repeats before those without, the most recent first."""
    with site.open_store() as index:
        rows = index.list(ResultFilter(status="complete", limit=CANDIDATES_MAX))
    groups: dict[object, list[Summary]] = {}
    for row in rows:
        if main := find_main_measure(row.summary):
            groups.setdefault((main.key, make_trend_key(row.summary)), []).append(row.summary)
    most_repeated_first = sorted(groups.values(), key=lambda group: len(group) < REPEATS_MIN)
    return tuple(map(_build_row, most_repeated_first[:SETUPS_MAX]))


def make_trend_key(summary: Summary) -> object:
    """Return the same value for runs of the same SUT with the same traffic on the same host, of any version."""
    return make_traffic_key(summary), summary.sut, summary.host


def _build_row(newest_first: Sequence[Summary]) -> SetupRow:
    last = newest_first[0]
    main = find_main_measure(last)
    assert main
    points = list_points(list(reversed(newest_first)), main.key)
    query = {"sut": last.sut, "host": last.host, "frame_size": last.frame_size, "metric": main.key}
    return SetupRow(last, main.text, draw_points(points), len(newest_first), urlencode(query))


def find_main_measure(summary: Summary) -> Measure | None:
    """Return the first rate that is not an estimate."""
    rates = (each for each in summary.measures if each.unit == "pps" and not each.key.endswith(ESTIMATE))
    return next(rates, None)


def list_points(oldest_first: Sequence[Summary], key: str) -> list[SeriesPoint]:
    """List the values of a measure, of the runs that have it."""
    return [SeriesPoint(run.run_id, each) for run in oldest_first for each in run.measures if each.key == key]


def draw_points(points: Sequence[SeriesPoint]) -> Sparkline:
    """Draw the newest values."""
    return build_sparkline(
        [
            (run_id, each.value, format_listed_measure(each), Limit(each.limit).sut_may_exceed)
            for run_id, each in points[-RUNS_MAX:]
        ]
    )
