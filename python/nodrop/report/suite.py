"""Runs that belong together: what each of them found, in one table, and what to know of them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nodrop.formatting import format_goal_load, format_goal, format_small_ratio, format_repeat, format_wire_rate
from nodrop.model.latency import LatencyFigures, latency_of
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult, Status
from nodrop.model.suite import Suite
from nodrop.model.trial import TrialResult
from nodrop.report.fixed import fixed_trial, shortfall_lines
from nodrop.report.tables import plain_table
from nodrop.report.terminal import STATUS_TEXTS, report
from nodrop.units import format_pps, format_seconds


def suite_report(
    suite: Suite, results: Sequence[RunResult], with_trials: bool = False, each: bool | None = None
) -> RenderableType:
    """The summary, and after it each run's own report where that is wanted.

    Args:
        suite: the list of runs.
        results: what came of them, in the same order.
        with_trials: whether the runs' reports list their trials.
        each: whether there are reports of the runs; None: unless there are repeats or set-ups in turn.
    """
    parts: list[RenderableType] = [_headline(suite), ""]
    if results:
        parts += [suite_table(results), "", Text("rates are totals; latency in µs", style="dim")]
    parts += [Text(f"! {line}", style="yellow") for line in _lines(results)]
    for result in results if (not is_repeated(suite) if each is None else each) else ():
        title = Text(f"Frame size {run_name(result)}: run {result.run_id}", style="bold underline")
        parts += ["", title, report(result, with_trials)]
    return Group(*parts)


def is_repeated(suite: Suite) -> bool:
    """Whether the same traffic was measured more than once."""
    return suite.repeat_count > 1 or any(run.variant for run in suite.runs)


def run_name(result: RunResult) -> str:
    """A run among the others: its frame size, and which repeat it is."""
    plan = result.plan
    turn = format_repeat(plan.variant, plan.repeat, plan.repeat_count)
    return f"{plan.frame_size}, {turn}" if turn else plan.frame_size


def _short_name(plan: Plan) -> str:
    """The same as short as it can be: `64`, `64, A2`, `64, #2`."""
    is_one_of_several = plan.repeat_count > 1 or plan.variant
    return f"{plan.frame_size}, {plan.variant or '#'}{plan.repeat}" if is_one_of_several else plan.frame_size


def suite_table(results: Sequence[RunResult]) -> Table:
    """Every run with what was found or measured, its loss and its latency."""
    shown = results[0].plan.percentiles
    with_turn = any(result.plan.repeat_count > 1 or result.plan.variant for result in results)
    which = "run" if with_turn else "frame size"
    table = plain_table(which, "goal", "rate", "on the wire", "loss", "min", "mean", *(f"p{p:g}" for p in shown), "max")
    for result in results:
        for figure in _figures(result):
            table.add_row(*_row(result, figure))
    return table


def _headline(suite: Suite) -> Text:
    style = "bold green" if suite.status is Status.COMPLETE else "bold red"
    headline = Text(f"{suite.suite_id}: ", style="bold")
    headline.append(STATUS_TEXTS[suite.status], style=style)
    removed = sum(run.removed for run in suite.runs)
    since = f"; {removed} since removed" if removed else ""
    return headline.append(f", {_count_text(suite)} in {format_seconds(suite.wall_s)}{since}")


def _count_text(suite: Suite) -> str:
    """How many runs of what: `3 frame sizes`, `5 repeats`, `8 of 10 runs: 5 repeats of A and B in turn`."""
    sizes, repeats = len(suite.frame_sizes), suite.repeat_count
    variants = {run.variant for run in suite.runs} - {""}
    if not is_repeated(suite):
        return f"{sizes if len(suite.runs) == sizes else f'{len(suite.runs)} of {sizes}'} frame sizes"
    if suite.pricing:
        return f"{len(suite.runs)} runs: {_times(repeats)} with all rules of placement kept, and with each broken"
    asked = sizes * repeats * (2 if variants else 1)
    count = f"{asked} runs" if len(suite.runs) == asked else f"{len(suite.runs)} of {asked} runs"
    of_each = f"{_times(repeats)}{' of A and B in turn' if variants else ''}"
    return f"{count}: {of_each}{f' at {sizes} frame sizes' if sizes > 1 else ''}"


def _times(repeats: int) -> str:
    return f"{repeats} repeat{'s' if repeats > 1 else ''}"


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
        rate = format_goal_load(found).replace("at least ", "≥ ")
        yield _Figure(format_goal(found.goal), rate, bound.load_pps if bound else None, measured, timed)
    if not result.goals and not fixed_trial(result):
        yield _Figure(result.status.value, "-", None, None, None)


def _row(result: RunResult, figure: _Figure) -> tuple[str | Text, ...]:
    shown, measured = result.plan.percentiles, figure.measured
    ratio = measured.lost_count / measured.offered_count if measured and measured.offered_count else 0.0
    return (
        _short_name(result.plan),
        figure.goal,
        figure.rate,
        format_wire_rate(figure.load_pps, result.plan.traffic) if figure.load_pps else "-",
        Text(format_small_ratio(ratio) if measured else "-", style="yellow" if ratio else ""),
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
    """What went wrong, run by run."""
    for result in results:
        if result.error:
            yield f"{run_name(result)}: {STATUS_TEXTS[result.status].partition(';')[0]}: {result.error}"
        yield from (f"{run_name(result)}: {line}" for line in shortfall_lines(result))
