"""Changes in a series of runs: position, size and direction."""

import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

from nodrop.analysis import types
from nodrop.analysis.segments import LevelSegment, ShiftScale, count_saved_bits, estimate_shift, find_segments
from nodrop.analysis.types import DEFAULT_MARGINS, ComparisonOutcome, Margins, SetupDifference
from nodrop.model.base import Value
from nodrop.model.goal import Limit
from nodrop.model.summary import Measure, MeasureUnit, Summary

TrafficKey = tuple[str, int, str, int, bool]
"""Properties that runs of one series share: path, chain count, frame size, flow count, bidirectional."""


class TrendPoint(types.MetricPoint):
    """The value of one run; a value that is only a lower limit is shown but not analyzed."""

    moment: str
    """The run group: repeats of one suite share a group; `started_at` for a single run."""


class TrendSeries(Value):
    """A measure of runs with the same traffic, in order of time."""

    key: str
    text: str
    unit: MeasureUnit
    better: Literal["higher", "lower"]
    frame_size: str = ""
    path: str = ""
    points: tuple[TrendPoint, ...]
    missing_run_ids: tuple[str, ...] = ()
    """Runs without the measure."""


class TrendSegment(Value):
    """A segment without significant changes."""

    start: str
    end: str
    """Start times of the first and the last run."""
    run_ids: tuple[str, ...]
    count: int
    """Number of analyzed runs."""
    median: float
    spread: float | None
    """Standard deviation between the runs; None for a single run."""
    outlier_run_ids: tuple[str, ...] = ()
    """Outliers within the segment, which are excluded from the analysis."""


class TrendChange(Value):
    """A change between two consecutive segments."""

    before_run_id: str
    """The last run of the segment before."""
    run_id: str
    """The first run of the segment after."""
    when: str
    effect: float
    """Later runs relative to earlier ones: ratio - 1, e.g. -0.05 for 5 % lower; for a loss ratio, the difference. The
    median of all pairs (Hodges and Lehmann), which is robust against outliers."""
    low: float | None
    """Lower end of the 95 % confidence interval of the effect; None with too few runs."""
    high: float | None
    """Upper end of the 95 % confidence interval of the effect."""
    saved_bits: float
    """Bits that the change saves in the description of the series."""
    verdict: ComparisonOutcome
    """The direction: better or worse."""
    suspects: tuple[SetupDifference, ...] = ()
    """Differences between the setups before and after, most likely cause first."""


class Trend(Value):
    """The trend of a measure over time."""

    series: TrendSeries
    margin: float
    """Smallest effect that counts as a change."""
    groups: tuple[TrendSegment, ...] = ()
    changes: tuple[TrendChange, ...] = ()
    """One change between every two consecutive segments."""

    @property
    def verdict(self) -> ComparisonOutcome | None:
        """The direction of the last change; None without changes."""
        return self.changes[-1].verdict if self.changes else None


def build_series(
    summaries: Sequence[Summary], key: str, run_groups: Mapping[str, str] | None = None
) -> tuple[TrendSeries, ...]:
    """Build the series of a measure in order of time, one for each kind of traffic.

    Args:
        summaries: the runs, in any order.
        key: key of the measure.
        run_groups: run group by run id, for runs that are repeats of a suite.
    """
    kinds: dict[TrafficKey, list[Summary]] = {}
    for each in sorted(summaries, key=lambda run: (run.started_at, run.run_id)):
        kinds.setdefault(make_traffic_key(each), []).append(each)
    candidates = (_build_single_series(runs, key, run_groups or {}) for runs in kinds.values())
    return tuple(series for series in candidates if series)


def make_traffic_key(run: Summary) -> TrafficKey:
    """Return the properties that runs of one series share."""
    return run.path, run.chain_count, run.frame_size, run.flow_count, run.bidirectional


def analyze_trend(series: TrendSeries, margins: Margins = DEFAULT_MARGINS) -> Trend:
    """Return the segments of a series and the changes between them.

    Args:
        series: the points.
        margins: differences too small to matter; the median width between the bounds of the searches, where larger,
            replaces the margin.
    """
    margin = max(getattr(margins, series.unit), _compute_width(series))
    groups = _group_points(series.points)
    if not groups:
        return Trend(series=series, margin=margin)
    segments = find_segments(_collect_values(groups), ShiftScale(margin, series.unit != "ratio"))
    return Trend(
        series=series,
        margin=margin,
        groups=tuple(_build_segment(segment, groups) for segment in segments),
        changes=tuple(_build_change(series, before, after, groups) for before, after in pairwise(segments)),
    )


def _build_single_series(runs: Sequence[Summary], key: str, run_groups: Mapping[str, str]) -> TrendSeries | None:
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
        points=tuple(_build_point(run, measures[run.run_id], run_groups) for run in runs if run.run_id in measures),
        missing_run_ids=tuple(run.run_id for run in runs if run.run_id not in measures),
    )


def _build_point(run: Summary, measure: Measure, run_groups: Mapping[str, str]) -> TrendPoint:
    return TrendPoint(
        run_id=run.run_id,
        started_at=run.started_at,
        moment=run_groups.get(run.run_id, run.started_at),
        value=measure.value,
        low=measure.low,
        high=measure.high,
        at_least=Limit(measure.limit).sut_may_exceed,
    )


def _group_points(points: Sequence[TrendPoint]) -> tuple[tuple[TrendPoint, ...], ...]:
    """Group the points that can be analyzed by run group."""
    points_by_group: dict[str, list[TrendPoint]] = {}
    for point in points:
        if not point.at_least:
            points_by_group.setdefault(point.moment, []).append(point)
    return tuple(tuple(group) for group in points_by_group.values())


def _compute_width(series: TrendSeries) -> float:
    """Return the median width between the bounds of the searches, relative to the upper bound."""
    if series.unit == "ratio":
        return 0.0
    bounds = [(point.low, point.high) for point in series.points if point.low is not None and point.high]
    return statistics.median((high - low) / high for low, high in bounds) if bounds else 0.0


def _build_segment(segment: LevelSegment, groups: Sequence[Sequence[TrendPoint]]) -> TrendSegment:
    points = [point for group in segment.groups for point in groups[group]]
    values = [point.value for point in points]
    return TrendSegment(
        start=points[0].started_at,
        end=points[-1].started_at,
        run_ids=tuple(point.run_id for point in points),
        count=len(points),
        median=statistics.median(values),
        spread=statistics.stdev(values) if len(values) > 1 else None,
        outlier_run_ids=tuple(point.run_id for group in segment.outliers for point in groups[group]),
    )


def _build_change(
    series: TrendSeries, before: LevelSegment, after: LevelSegment, groups: Sequence[Sequence[TrendPoint]]
) -> TrendChange:
    shift = estimate_shift(before, after, _collect_values(groups), relative=series.unit != "ratio")
    first = groups[after.groups[0]][0]
    return TrendChange(
        before_run_id=groups[before.groups[-1]][-1].run_id,
        run_id=first.run_id,
        when=first.started_at,
        effect=shift.middle,
        low=shift.low,
        high=shift.high,
        saved_bits=count_saved_bits(before, after, _collect_values(groups)),
        verdict=ComparisonOutcome.BETTER
        if (shift.middle > 0) == (series.better == "higher")
        else ComparisonOutcome.WORSE,
    )


def _collect_values(groups: Sequence[Sequence[TrendPoint]]) -> list[list[float]]:
    return [[point.value for point in group] for group in groups]
