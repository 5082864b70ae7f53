"""What a trend says, in words."""

from collections.abc import Iterator, Sequence

from nodrop.analysis.text import format_effect, format_interval
from nodrop.analysis.trend import Trend, TrendChange, TrendPoint, TrendSegment, TrendSeries
from nodrop.formatting import format_measure
from nodrop.model.summary import MeasureUnit
from nodrop.units import format_count, format_ratio

NAMES_MAX = 3
"""Runs that are named one by one."""


def describe_trend(trend: Trend) -> Iterator[str]:
    """What to know of a trend, the most important first."""
    yield _headline(trend)
    if trend.changes and trend.groups[-1].count == 1:
        yield "There is one run since; measure again to see whether it stays so."
    yield from _earlier(trend)
    yield from _apart(trend)
    yield from _not_judged(trend.series)


def format_point(point: TrendPoint, unit: MeasureUnit) -> str:
    """A run's figure, never as the SUT's where something else was the limit."""
    return f"{'at least ' if point.at_least else ''}{format_measure(point.value, unit)}"


def format_change(change: TrendChange, unit: MeasureUnit) -> str:
    """A change with how sure it is: `5.0 % lower (4.6 to 5.4 %)`."""
    effect = format_effect(change.effect, unit)
    if change.low is None or change.high is None:
        return effect
    return f"{effect} ({format_interval(change.low, change.high, unit)})"


def format_segment_spread(group: TrendSegment) -> str:
    """How much the runs of a group differ by chance, relative to their median; `-` for a single one."""
    if group.spread is None:
        return "-"
    return format_ratio(group.spread / abs(group.median)) if group.median else "0 %"


def format_series_title(series: TrendSeries) -> str:
    """What a series is of: `NDR, 64 byte frames, PVP`."""
    size = f"{series.frame_size} byte frames" if series.frame_size.isdigit() else series.frame_size
    return ", ".join(part for part in (series.text, size, series.path) if part)


def format_run_count(group: TrendSegment) -> str:
    """How many runs a group has, with those that stand apart: `12 (+1 apart)`."""
    apart = f" (+{len(group.outlier_run_ids)} apart)" if group.outlier_run_ids else ""
    return f"{format_count(group.count)}{apart}"


def format_day(when: str) -> str:
    """The day of a moment."""
    return when[:10]


def format_time_in_series(series: TrendSeries, when: str) -> str:
    """When in a series: the day, or the time of day where all of it is of one day."""
    days = {format_day(series.points[end].started_at) for end in (0, -1)}
    return format_day(when) if len(days) > 1 else when[11:16]


def _headline(trend: Trend) -> str:
    series, groups = trend.series, trend.groups
    if not groups:
        return f"{series.text}: {_nothing_to_judge(series)}"
    if not trend.changes:
        return f"{series.text} {_steady(trend, groups[0])}."
    change, before, last = trend.changes[-1], groups[-2], groups[-1]
    far = format_effect(change.effect, series.unit)
    return (
        f"{series.text} is {far}{_verdict_text(trend, change)} from run {change.run_id} on, {format_day(change.when)}: "
        f"{format_measure(last.median, series.unit)} over {_count_text(last.count, 'run', 'runs')} after "
        f"{format_measure(before.median, series.unit)} over {_count_text(before.count, 'run', 'runs')}."
    )


def _verdict_text(trend: Trend, change: TrendChange) -> str:
    """What of the change its direction alone does not say."""
    return f", which is {change.verdict}," if trend.series.better == "lower" else ""


def _steady(trend: Trend, group: TrendSegment) -> str:
    value = format_measure(group.median, trend.series.unit)
    if group.count == 1:
        return f"was judged in one run only, {value}; a trend takes more"
    return f"is steady over {format_count(group.count)} runs: {value}, give or take {format_segment_spread(group)}"


def _nothing_to_judge(series: TrendSeries) -> str:
    if not series.points:
        return "no run has one."
    most = max(series.points, key=lambda point: point.value)
    return f"no run was limited by the SUT; it does {format_measure(most.value, series.unit)} at least."


def _earlier(trend: Trend) -> Iterator[str]:
    for change in trend.changes[-2::-1]:
        far = format_change(change, trend.series.unit)
        yield f"Before that it was {far} from run {change.run_id} on, {format_day(change.when)}."


def _apart(trend: Trend) -> Iterator[str]:
    runs = [run_id for group in trend.groups for run_id in group.outlier_run_ids]
    if runs:
        yield f"{_count_text(len(runs), 'run stands', 'runs stand')} apart from those around: {_names(runs)}."


def _not_judged(series: TrendSeries) -> Iterator[str]:
    at_least = [point.run_id for point in series.points if point.at_least]
    if at_least and len(at_least) < len(series.points):
        runs = _count_text(len(at_least), "run was", "runs were")
        yield f"{runs} not limited by the SUT, shown and not judged: {_names(at_least)}."
    if series.missing_run_ids:
        runs = _count_text(len(series.missing_run_ids), "run has", "runs have")
        yield f"{runs} no {series.text}: {_names(series.missing_run_ids)}."


def _names(run_ids: Sequence[str]) -> str:
    more = len(run_ids) - NAMES_MAX
    return ", ".join(run_ids[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")


def _count_text(count: int, one: str, several: str) -> str:
    return f"{format_count(count)} {one if count == 1 else several}"
