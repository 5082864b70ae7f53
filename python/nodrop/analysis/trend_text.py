"""Texts of a trend."""

from collections.abc import Iterator, Sequence

from nodrop.analysis.text import format_effect, format_interval
from nodrop.analysis.trend import Trend, TrendChange, TrendPoint, TrendSegment, TrendSeries
from nodrop.formatting import format_measure
from nodrop.model.summary import MeasureUnit
from nodrop.units import format_count, format_ratio

NAMES_MAX = 3
"""Most run ids that are listed."""


def describe_trend(trend: Trend) -> Iterator[str]:
    """Yield sentences about a trend, the most important first."""
    yield _format_headline(trend)
    if trend.changes and trend.groups[-1].count == 1:
        yield "Only one run confirms this; measure again."
    yield from _list_earlier_changes(trend)
    yield from _list_outliers(trend)
    yield from _list_unjudged_runs(trend.series)


def format_point(point: TrendPoint, unit: MeasureUnit) -> str:
    """Format the value of a run, as a lower limit where something other than the SUT was the limit."""
    return f"{'at least ' if point.at_least else ''}{format_measure(point.value, unit)}"


def format_change(change: TrendChange, unit: MeasureUnit) -> str:
    """Format a change with its confidence interval: `5.0 % lower (4.6 to 5.4 %)`."""
    effect = format_effect(change.effect, unit)
    if change.low is None or change.high is None:
        return effect
    return f"{effect} ({format_interval(change.low, change.high, unit)})"


def format_segment_spread(group: TrendSegment) -> str:
    """Format the scatter of a segment, relative to its median; `-` for a single run."""
    if group.spread is None:
        return "-"
    return format_ratio(group.spread / abs(group.median)) if group.median else "0 %"


def format_series_title(series: TrendSeries) -> str:
    """Format the title of a series: `NDR, 64 byte frames, PVP`."""
    size = f"{series.frame_size} byte frames" if series.frame_size.isdigit() else series.frame_size
    return ", ".join(part for part in (series.text, size, series.path) if part)


def format_run_count(group: TrendSegment) -> str:
    """Format the number of runs of a segment, with its outliers: `12 (+1 outlier)`."""
    outliers = f" (+{format_count(len(group.outlier_run_ids), 'outlier')})" if group.outlier_run_ids else ""
    return f"{format_count(group.count)}{outliers}"


def format_day(when: str) -> str:
    """Return the date of a timestamp."""
    return when[:10]


def format_time_in_series(series: TrendSeries, when: str) -> str:
    """Return the date of a timestamp, or the time of day where the entire series is of one day."""
    days = {format_day(series.points[end].started_at) for end in (0, -1)}
    return format_day(when) if len(days) > 1 else when[11:16]


def _format_headline(trend: Trend) -> str:
    series, groups = trend.series, trend.groups
    if not groups:
        return f"{series.text}: {_explain_no_judgment(series)}"
    if not trend.changes:
        return f"{series.text} {_format_steady(trend, groups[0])}."
    change, before, last = trend.changes[-1], groups[-2], groups[-1]
    effect = format_effect(change.effect, series.unit)
    return (
        f"{series.text} is {effect}{_format_verdict(trend, change)} from run {change.run_id} on, "
        f"{format_day(change.when)}: {format_measure(last.median, series.unit)} over "
        f"{format_count(last.count, 'run')} after {format_measure(before.median, series.unit)} over "
        f"{format_count(before.count, 'run')}."
    )


def _format_verdict(trend: Trend, change: TrendChange) -> str:
    """State whether a change is better or worse, where lower is better."""
    return f", which is {change.verdict}," if trend.series.better == "lower" else ""


def _format_steady(trend: Trend, group: TrendSegment) -> str:
    value = format_measure(group.median, trend.series.unit)
    if group.count == 1:
        return f"has one usable run, {value}; a trend needs more"
    return f"is steady over {format_count(group.count)} runs: {value} ± {format_segment_spread(group)}"


def _explain_no_judgment(series: TrendSeries) -> str:
    if not series.points:
        return "no run measured it."
    most = max(series.points, key=lambda point: point.value)
    return f"no run was limited by the SUT; the value is at least {format_measure(most.value, series.unit)}."


def _list_earlier_changes(trend: Trend) -> Iterator[str]:
    for change in trend.changes[-2::-1]:
        effect = format_change(change, trend.series.unit)
        yield f"Earlier change: {effect} from run {change.run_id} on, {format_day(change.when)}."


def _list_outliers(trend: Trend) -> Iterator[str]:
    runs = [run_id for group in trend.groups for run_id in group.outlier_run_ids]
    if runs:
        yield f"{format_count(len(runs), 'outlier')}: {_join_names(runs)}."


def _list_unjudged_runs(series: TrendSeries) -> Iterator[str]:
    at_least = [point.run_id for point in series.points if point.at_least]
    if at_least and len(at_least) < len(series.points):
        runs = format_count(len(at_least), "run has", "runs have")
        yield f"{runs} only a lower limit, shown but not analyzed: {_join_names(at_least)}."
    if series.missing_run_ids:
        runs = format_count(len(series.missing_run_ids), "run has", "runs have")
        yield f"{runs} no {series.text}: {_join_names(series.missing_run_ids)}."


def _join_names(run_ids: Sequence[str]) -> str:
    more = len(run_ids) - NAMES_MAX
    return ", ".join(run_ids[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")
