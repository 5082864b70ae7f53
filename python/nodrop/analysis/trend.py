"""Where a series of runs changed, by how much, and whether for the worse."""

import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

from nodrop.analysis import types
from nodrop.analysis.segments import Segment, ShiftScale, count_saved_bits, estimate_shift, find_segments
from nodrop.analysis.types import ComparisonOutcome, Margins, SetupDifference
from nodrop.formatting import AT_LEAST
from nodrop.model.base import Value
from nodrop.model.goal import Limit
from nodrop.model.summary import Measure, MeasureUnit, Summary

TrafficKey = tuple[str, int, str, int, bool]
"""What runs have to have in common to be points of one series: path, chains, frame size, flows, both ways at once."""
NO_MARGINS = Margins()


class TrendPoint(types.Point):
    """What one run found; where it is what the run does at least, it is shown and not judged."""

    moment: str
    """Runs of one moment, as repeats of one suite, are never told apart; `started_at` for a run by itself."""


class TrendSeries(Value):
    """One figure of runs with the same traffic, in the order of time."""

    key: str
    text: str
    unit: MeasureUnit
    better: Literal["higher", "lower"]
    frame_size: str = ""
    path: str = ""
    points: tuple[TrendPoint, ...]
    missing_run_ids: tuple[str, ...] = ()
    """Runs that have no such figure."""


class TrendSegment(Value):
    """A stretch in which nothing changed but by chance, or by less than matters."""

    start: str
    end: str
    """When its first and its last run began."""
    run_ids: tuple[str, ...]
    count: int
    """Runs that were judged."""
    median: float
    spread: float | None
    """Standard deviation between its runs; None for a single one."""
    outlier_run_ids: tuple[str, ...] = ()
    """Runs within the stretch that stand apart from all others in it, and are not judged with them."""


class TrendChange(Value):
    """Between two groups, one after the other."""

    before_run_id: str
    """The last run of the group before."""
    run_id: str
    """The first run of the group after."""
    when: str
    effect: float
    """Runs afterwards beside those before: ratio - 1, as -0.05 for 5 % lower; of a loss ratio the difference. In the
    middle of all pairs (Hodges and Lehmann), so that a few that stand apart do not count for much."""
    low: float | None
    """The least it is, with 95 % confidence; None where there are too few runs to say."""
    high: float | None
    """The most it is."""
    saved_bits: float
    """How much shorter the series can be told with the change than without."""
    verdict: ComparisonOutcome
    """Better or worse; what is neither is no change."""
    suspects: tuple[SetupDifference, ...] = ()
    """In what the set-ups of the runs on both sides differ, likeliest first."""


class Trend(Value):
    """What became of a figure over time."""

    series: TrendSeries
    margin: float
    """Smaller differences are no change; in the terms of their effect."""
    groups: tuple[TrendSegment, ...] = ()
    changes: tuple[TrendChange, ...] = ()
    """One between every two groups."""

    @property
    def verdict(self) -> ComparisonOutcome | None:
        """What the last change was; None where there was none."""
        return self.changes[-1].verdict if self.changes else None


def build_series(
    summaries: Sequence[Summary], key: str, moments: Mapping[str, str] | None = None
) -> tuple[TrendSeries, ...]:
    """A figure of runs as series in the order of time, one for each kind of traffic.

    Args:
        summaries: the runs, in any order.
        key: of the measure.
        moments: by run id, the moment a run is of, for those that are not of their own.
    """
    kinds: dict[TrafficKey, list[Summary]] = {}
    for each in sorted(summaries, key=lambda run: (run.started_at, run.run_id)):
        kinds.setdefault(traffic_key(each), []).append(each)
    found = (_series(runs, key, moments or {}) for runs in kinds.values())
    return tuple(series for series in found if series)


def traffic_key(run: Summary) -> TrafficKey:
    """What a run has to have in common with another to be compared with it over time."""
    return run.path, run.chain_count, run.frame_size, run.flow_count, run.bidirectional


def analyze_trend(series: TrendSeries, margins: Margins = NO_MARGINS) -> Trend:
    """The groups a series falls into, and the changes between them.

    Args:
        series: the points.
        margins: differences that do not matter; nor do those by less than half of the searches left open between their
            bounds, where that is more.
    """
    margin = max(getattr(margins, series.unit), _width(series))
    moments = _moments(series.points)
    if not moments:
        return Trend(series=series, margin=margin)
    found = find_segments(_values(moments), ShiftScale(margin, series.unit != "ratio"))
    return Trend(
        series=series,
        margin=margin,
        groups=tuple(_group(level, moments) for level in found),
        changes=tuple(_change(series, before, after, moments) for before, after in pairwise(found)),
    )


def _series(runs: Sequence[Summary], key: str, moments: Mapping[str, str]) -> TrendSeries | None:
    measures = {run.run_id: measure for run in runs for measure in run.measures if measure.key == key}
    if not measures:
        return None
    first = next(iter(measures.values()))
    return TrendSeries(
        key=key,
        text=first.text,
        unit=first.unit,
        better=first.better,
        frame_size=runs[0].frame_size,
        path=runs[0].path,
        points=tuple(_point(run, measures[run.run_id], moments) for run in runs if run.run_id in measures),
        missing_run_ids=tuple(run.run_id for run in runs if run.run_id not in measures),
    )


def _point(run: Summary, measure: Measure, moments: Mapping[str, str]) -> TrendPoint:
    return TrendPoint(
        run_id=run.run_id,
        started_at=run.started_at,
        moment=moments.get(run.run_id, run.started_at),
        value=measure.value,
        low=measure.low,
        high=measure.high,
        at_least=Limit(measure.limit) in AT_LEAST,
    )


def _moments(points: Sequence[TrendPoint]) -> tuple[tuple[TrendPoint, ...], ...]:
    """Points that can be judged, those of one moment together."""
    together: dict[str, list[TrendPoint]] = {}
    for point in points:
        if not point.at_least:
            together.setdefault(point.moment, []).append(point)
    return tuple(tuple(moment) for moment in together.values())


def _width(series: TrendSeries) -> float:
    """What half of the searches left open between their bounds, at the most, relative to the upper one."""
    if series.unit == "ratio":
        return 0.0
    bounds = [(point.low, point.high) for point in series.points if point.low is not None and point.high]
    return statistics.median((high - low) / high for low, high in bounds) if bounds else 0.0


def _group(level: Segment, moments: Sequence[Sequence[TrendPoint]]) -> TrendSegment:
    points = [point for moment in level.moments for point in moments[moment]]
    values = [point.value for point in points]
    return TrendSegment(
        start=points[0].started_at,
        end=points[-1].started_at,
        run_ids=tuple(point.run_id for point in points),
        count=len(points),
        median=statistics.median(values),
        spread=statistics.stdev(values) if len(values) > 1 else None,
        outlier_run_ids=tuple(point.run_id for moment in level.outliers for point in moments[moment]),
    )


def _change(
    series: TrendSeries, before: Segment, after: Segment, moments: Sequence[Sequence[TrendPoint]]
) -> TrendChange:
    grown = estimate_shift(before, after, _values(moments), relative=series.unit != "ratio")
    first = moments[after.moments[0]][0]
    return TrendChange(
        before_run_id=moments[before.moments[-1]][-1].run_id,
        run_id=first.run_id,
        when=first.started_at,
        effect=grown.middle,
        low=grown.low,
        high=grown.high,
        saved_bits=count_saved_bits(before, after, _values(moments)),
        verdict=ComparisonOutcome.BETTER
        if (grown.middle > 0) == (series.better == "higher")
        else ComparisonOutcome.WORSE,
    )


def _values(moments: Sequence[Sequence[TrendPoint]]) -> list[list[float]]:
    return [[point.value for point in moment] for moment in moments]
