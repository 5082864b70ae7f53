"""What a trend says, in words."""

from collections.abc import Iterator, Sequence

from nodrop.model.summary import MeasureUnit
from nodrop.units import format_count, format_ns, format_pps, format_ratio
from nodrop.verdict.trend import Change, Group, Point, Series, Trend
from nodrop.wording import small_ratio_text

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


def value_text(value: float, unit: MeasureUnit) -> str:
    """A figure with its unit."""
    if unit == "pps":
        return format_pps(value)
    return format_ns(value) if unit == "ns" else small_ratio_text(value)


def point_text(point: Point, unit: MeasureUnit) -> str:
    """A run's figure, never as the SUT's where something else was the limit."""
    return f"{'at least ' if point.at_least else ''}{value_text(point.value, unit)}"


def effect_text(change: Change) -> str:
    """A change, as `-5.0 % (-5.4 % to -4.6 %)`."""
    if change.effect_ratio is None:
        return "from nothing"
    if change.effect_low_ratio is None or change.effect_high_ratio is None:
        return _signed(change.effect_ratio)
    between = f"{_signed(change.effect_low_ratio)} to {_signed(change.effect_high_ratio)}"
    return f"{_signed(change.effect_ratio)} ({between})"


def spread_text(group: Group) -> str:
    """How much the runs of a group differ by chance, relative to their mean; `-` for a single one."""
    if group.spread is None:
        return "-"
    return format_ratio(group.spread / abs(group.mean)) if group.mean else "0 %"


def day_text(when: str) -> str:
    """The day of a moment."""
    return when[:10]


def _headline(trend: Trend) -> str:
    series, groups = trend.series, trend.groups
    if not groups:
        return f"{series.text}: {_nothing_to_judge(series)}"
    if not trend.changes:
        return f"{series.text} {_steady(trend, groups[0])}."
    change, before = trend.changes[-1], groups[-2]
    far = f" by {format_ratio(abs(change.effect_ratio))}" if change.effect_ratio is not None else " from nothing"
    return (
        f"{series.text} {_verb(change)}{far}{_verdict_text(trend, change)} with run {change.run_id} on "
        f"{day_text(change.when)}; {_before(before)}, {format_count(groups[-1].count)} since."
    )


def _verb(change: Change) -> str:
    return "fell" if change.effect_ratio is not None and change.effect_ratio < 0 else "rose"


def _verdict_text(trend: Trend, change: Change) -> str:
    if change.verdict == "equivalent":
        return f", less than the margin of {format_ratio(trend.margin_ratio)},"
    if trend.series.better == "lower" or change.verdict == "better":
        return f", which is {change.verdict},"
    return ""


def _before(group: Group) -> str:
    return f"steady before over {format_count(group.count)} runs" if group.count > 1 else "one run before"


def _steady(trend: Trend, group: Group) -> str:
    value = value_text(group.mean, trend.series.unit)
    if group.count == 1:
        return f"was judged in one run only, {value}; a trend takes more"
    return f"is steady over {format_count(group.count)} runs: {value}, give or take {spread_text(group)}"


def _nothing_to_judge(series: Series) -> str:
    if not series.points:
        return "no run has one."
    most = max(series.points, key=lambda point: point.value)
    return f"no run was limited by the SUT; it does {value_text(most.value, series.unit)} at least."


def _earlier(trend: Trend) -> Iterator[str]:
    for change in trend.changes[-2::-1]:
        yield f"Before that it {_verb(change)} on {day_text(change.when)}, {effect_text(change)}, run {change.run_id}."


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


def _signed(ratio: float) -> str:
    return f"{'+' if ratio >= 0 else '-'}{format_ratio(abs(ratio))}"
