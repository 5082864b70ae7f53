"""The tables of a result: goals, latency, trials."""

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from nodrop.model.goal import GoalResult, Limit
from nodrop.model.result import LatencyResult, RunResult
from nodrop.model.trial import DirectionTimes, LatencySummary, TrialResult, Verdict
from nodrop.report.wording import each_way_text, found_text, goal_text, width_text, wire_text
from nodrop.units import format_count, format_ns, format_pps, format_ratio, format_seconds

STYLES = {Verdict.VALID: "green", Verdict.SUSPECT: "yellow", Verdict.INVALID: "red"}


def goals_table(result: RunResult) -> Table:
    """Every goal with the load that meets it and the lowest that does not."""
    table = _table("goal", "load", "per direction", "on the wire", "upper bound", "width")
    for found in result.goals:
        table.add_row(
            Text(goal_text(found.goal), style="bold"),
            Text(found_text(found), style=_found_style(found)),
            each_way_text(found.lower.load_pps, result.plan.traffic) if found.lower else "-",
            wire_text(found.lower.load_pps, result.plan.traffic) if found.lower else "-",
            format_pps(found.upper.load_pps) if found.upper else "-",
            width_text(found),
        )
    return table


def latency_table(result: RunResult) -> Table:
    """Latency at every load it was measured at, one line per direction."""
    table = _table("latency at", "way", "min", "mean", "p50", "p90", "p99", "p99.9", "max")
    for latency in result.latencies:
        for row in _latency_rows(latency, result.trials[latency.trial_index]):
            table.add_row(*row)
    return table


def trials_table(result: RunResult) -> Table:
    """Every trial, and under it why the search wanted it."""
    table = _table("#", "load", "time", "offered", "received", "loss", "verdict")
    for trial in result.trials:
        table.add_row(
            str(trial.index),
            format_pps(trial.trial.intended_load_pps),
            format_seconds(trial.duration_s) + ("*" if trial.stopped_early else ""),
            format_count(trial.offered_count),
            format_count(trial.received_count),
            format_ratio(trial.loss_ratio),
            Text(trial.validity.verdict, style=STYLES[trial.validity.verdict]),
        )
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column(first, no_wrap=True)
    for other in others:
        table.add_column(other, justify="right")
    return table


def _found_style(found: GoalResult) -> str:
    return "bold green" if found.regular and found.limit is Limit.SUT else "bold yellow"


def _latency_rows(latency: LatencyResult, trial: TrialResult) -> Iterator[tuple[str, ...]]:
    """The load stands under the label, in the line of the second direction where there is one."""
    labels = [latency.label, format_pps(latency.load_pps)]
    rows = [_latency_row(direction) for direction in trial.directions]
    rows += [("",) * 8] * (len(labels) - len(rows))
    labels += [""] * (len(rows) - len(labels))
    for label, row in zip(labels, rows, strict=True):
        yield label, *row


def _latency_row(direction: DirectionTimes) -> tuple[str, ...]:
    way = f"{direction.tx_port}→{direction.rx_port}"
    return way, *(_latency_figures(direction.latency) if direction.latency else ("-",) * 7)


def _latency_figures(latency: LatencySummary) -> tuple[str, ...]:
    figures = (
        latency.min_ns,
        latency.mean_ns,
        latency.p50_ns,
        latency.p90_ns,
        latency.p99_ns,
        latency.p999_ns,
        latency.max_ns,
    )
    return tuple(format_ns(figure) for figure in figures)
