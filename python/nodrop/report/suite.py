"""Runs that belong together: what was found at each frame size, in one table, and what to know of them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nodrop.model.latency import LatencyFigures, latency_of
from nodrop.model.result import RunResult, Status
from nodrop.model.suite import Suite
from nodrop.model.trial import TrialResult
from nodrop.report.fixed import fixed_trial, shortfall_lines
from nodrop.report.tables import plain_table
from nodrop.report.text import STATUS_TEXTS, report
from nodrop.units import format_pps, format_seconds
from nodrop.wording import found_text, goal_text, small_ratio_text, wire_text


def suite_report(
    suite: Suite, results: Sequence[RunResult], with_trials: bool = False, each: bool = True
) -> RenderableType:
    """The summary, and after it each run's own report unless that is not wanted.

    Args:
        suite: the list of runs.
        results: what came of them, in the same order.
        with_trials: whether the runs' reports list their trials.
        each: whether there are reports of the runs.
    """
    parts: list[RenderableType] = [_headline(suite), ""]
    if results:
        parts += [suite_table(results), "", Text("rates are totals; latency in µs", style="dim")]
    parts += [Text(f"! {line}", style="yellow") for line in _lines(results)]
    for result in results if each else ():
        title = Text(f"Frame size {result.plan.frame_size}: run {result.run_id}", style="bold underline")
        parts += ["", title, report(result, with_trials)]
    return Group(*parts)


def suite_table(results: Sequence[RunResult]) -> Table:
    """Every frame size with what was found or measured, its loss and its latency."""
    shown = results[0].plan.percentiles
    table = plain_table(
        "frame size", "goal", "rate", "on the wire", "loss", "min", "mean", *(f"p{p:g}" for p in shown), "max"
    )
    for result in results:
        for figure in _figures(result):
            table.add_row(*_row(result, figure))
    return table


def _headline(suite: Suite) -> Text:
    style = "bold green" if suite.status is Status.COMPLETE else "bold red"
    headline = Text(f"{suite.suite_id}: ", style="bold")
    headline.append(STATUS_TEXTS[suite.status], style=style)
    sizes = len(suite.frame_sizes)
    count = f"{sizes}" if len(suite.runs) == sizes else f"{len(suite.runs)} of {sizes}"
    return headline.append(f", {count} frame sizes in {format_seconds(suite.wall_s)}")


class _Figure(NamedTuple):
    """One row: a load that was found or asked for."""

    goal: str
    rate: str
    load_pps: float | None
    measured: TrialResult | None
    """The trial that shows its loss."""
    timed: TrialResult | None
    """The trial that shows its latency."""


def _figures(result: RunResult) -> Iterator[_Figure]:
    if trial := fixed_trial(result):
        yield _Figure("fixed", format_pps(trial.offered_load_pps), trial.offered_load_pps, trial, trial)
    for found in result.goals:
        bound = found.lower
        measured = result.trials[bound.trial_index] if bound else None
        at = next((each.trial_index for each in result.latencies if each.label == found.goal.label), None)
        timed = measured if at is None else result.trials[at]
        rate = found_text(found).replace("at least ", "≥ ")
        yield _Figure(goal_text(found.goal), rate, bound.load_pps if bound else None, measured, timed)
    if not result.goals and not fixed_trial(result):
        yield _Figure(result.status.value, "-", None, None, None)


def _row(result: RunResult, figure: _Figure) -> tuple[str | Text, ...]:
    shown, measured = result.plan.percentiles, figure.measured
    ratio = measured.lost_count / measured.offered_count if measured and measured.offered_count else 0.0
    return (
        result.plan.frame_size,
        figure.goal,
        figure.rate,
        wire_text(figure.load_pps, result.plan.traffic) if figure.load_pps else "-",
        Text(small_ratio_text(ratio) if measured else "-", style="yellow" if ratio else ""),
        *_latency_cells(latency_of(figure.timed, shown) if figure.timed else None, shown),
    )


def _latency_cells(latency: LatencyFigures | None, shown: tuple[float, ...]) -> tuple[str, ...]:
    if latency is None:
        return ("-",) * (3 + len(shown))
    known = latency.percentiles_ns
    percentiles = (_us(known[each]) if each in known else "-" for each in shown)
    return _us(latency.min_ns), _us(latency.mean_ns), *percentiles, _us(latency.max_ns)


def _us(duration_ns: float) -> str:
    """Microseconds with three digits or all before the point."""
    value = duration_ns / 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _lines(results: Sequence[RunResult]) -> Iterator[str]:
    """What went wrong, by frame size."""
    for result in results:
        if result.error:
            yield f"{result.plan.frame_size}: {STATUS_TEXTS[result.status].partition(';')[0]}: {result.error}"
        yield from (f"{result.plan.frame_size}: {line}" for line in shortfall_lines(result))
