"""What a trend says, in words."""

from collections.abc import Iterator, Sequence

from nodrop.analysis.text import effect_text, interval_text
from nodrop.analysis.trend import Change, Group, Point, Series, Trend
from nodrop.formatting import measure_text
from nodrop.model.summary import MeasureUnit
from nodrop.units import format_count, format_ratio

NAMES_MAX = 3
"""Runs that are named one by one."""


def sentences(trend: Trend) -> Iterator[str]:
    """What to know of a trend, the most important first."""
    yield _headline(trend)
    if trend.changes and trend.groups[-1].count == 1:
        yield "There is one run since; measure again to see whether it stays so."
    yield from _earlier(trend)
    yield from _apart(trend)
    yield from _not_judged(trend.series)


def point_text(point: Point, unit: MeasureUnit) -> str:
    """A run's figure, never as the SUT's where something else was the limit."""
    return f"{'at least ' if point.at_least else ''}{measure_text(point.value, unit)}"


def change_text(change: Change, unit: MeasureUnit) -> str:
    """A change with how sure it is: `5.0 % lower (4.6 to 5.4 %)`."""
    effect = effect_text(change.effect, unit)
    if change.low is None or change.high is None:
        return effect
    return f"{effect} ({interval_text(change.low, change.high, unit)})"


def spread_text(group: Group) -> str:
    """How much the runs of a group differ by chance, relative to their median; `-` for a single one."""
    if group.spread is None:
        return "-"
    return format_ratio(group.spread / abs(group.median)) if group.median else "0 %"


def title(series: Series) -> str:
    """What a series is of: `NDR, 64 byte frames, PVP`."""
    size = f"{series.frame_size} byte frames" if series.frame_size.isdigit() else series.frame_size
    return ", ".join(part for part in (series.text, size, series.path) if part)


def group_text(group: Group) -> str:
    """How many runs a group has, with those that stand apart: `12 (+1 apart)`."""
    apart = f" (+{len(group.outlier_run_ids)} apart)" if group.outlier_run_ids else ""
    return f"{format_count(group.count)}{apart}"


def day_text(when: str) -> str:
    """The day of a moment."""
    return when[:10]


def time_text(series: Series, when: str) -> str:
    """When in a series: the day, or the time of day where all of it is of one day."""
    days = {day_text(series.points[end].started_at) for end in (0, -1)}
    return day_text(when) if len(days) > 1 else when[11:16]


def _headline(trend: Trend) -> str:
    series, groups = trend.series, trend.groups
    if not groups:
        return f"{series.text}: {_nothing_to_judge(series)}"
    if not trend.changes:
        return f"{series.text} {_steady(trend, groups[0])}."
    change, before, last = trend.changes[-1], groups[-2], groups[-1]
    far = effect_text(change.effect, series.unit)
    return (
        f"{series.text} is {far}{_verdict_text(trend, change)} from run {change.run_id} on, {day_text(change.when)}: "
        f"{measure_text(last.median, series.unit)} over {_count_text(last.count, 'run', 'runs')} after "
        f"{measure_text(before.median, series.unit)} over {_count_text(before.count, 'run', 'runs')}."
    )


def _verdict_text(trend: Trend, change: Change) -> str:
    """What of the change its direction alone does not say."""
    return f", which is {change.verdict}," if trend.series.better == "lower" else ""


def _steady(trend: Trend, group: Group) -> str:
    value = measure_text(group.median, trend.series.unit)
    if group.count == 1:
        return f"was judged in one run only, {value}; a trend takes more"
    return f"is steady over {format_count(group.count)} runs: {value}, give or take {spread_text(group)}"


def _nothing_to_judge(series: Series) -> str:
    if not series.points:
        return "no run has one."
    most = max(series.points, key=lambda point: point.value)
    return f"no run was limited by the SUT; it does {measure_text(most.value, series.unit)} at least."


def _earlier(trend: Trend) -> Iterator[str]:
    for change in trend.changes[-2::-1]:
        far = change_text(change, trend.series.unit)
        yield f"Before that it was {far} from run {change.run_id} on, {day_text(change.when)}."


def _apart(trend: Trend) -> Iterator[str]:
    runs = [run_id for group in trend.groups for run_id in group.outlier_run_ids]
    if runs:
        yield f"{_count_text(len(runs), 'run stands', 'runs stand')} apart from those around: {_names(runs)}."


def _not_judged(series: Series) -> Iterator[str]:
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
