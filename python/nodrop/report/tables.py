"""The tables of a result: goals, latency, trials."""

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from nodrop.formatting import format_load_per_direction, format_goal_load, format_goal, compute_reported_loss, format_width, format_wire_rate
from nodrop.model.goal import GoalResult, Limit
from nodrop.model.latency import LatencyFigures, latency_by_way, latency_of
from nodrop.model.plan import Plan
from nodrop.model.result import LatencyResult, RunResult
from nodrop.model.trial import FIXED, TrialResult, ValidityStatus
from nodrop.units import format_count, format_ns, format_pps, format_ratio, format_seconds

USUAL_PERCENTILES = (50.0, 90.0, 99.0, 99.9)
STYLES = {ValidityStatus.VALID: "green", ValidityStatus.SUSPECT: "yellow", ValidityStatus.INVALID: "red"}


def goals_table(result: RunResult) -> Table:
    """Every goal with the load that meets it and the lowest that does not."""
    table = plain_table("goal", "load", "per direction", "on the wire", "upper bound", "width")
    for found in result.goals:
        table.add_row(
            Text(format_goal(found.goal), style="bold"),
            Text(format_goal_load(found), style=_found_style(found)),
            format_load_per_direction(found.lower.load_pps, result.plan.traffic) if found.lower else "-",
            format_wire_rate(found.lower.load_pps, result.plan.traffic) if found.lower else "-",
            format_pps(found.upper.load_pps) if found.upper else "-",
            format_width(found),
        )
    return table


def latency_table(result: RunResult) -> Table:
    """Latency at every load it was measured at, one line per direction."""
    shown = shown_percentiles(result.plan)
    table = plain_table("latency at", "way", "min", "mean", *(f"p{each:g}" for each in shown), "max")
    for latency in result.latencies:
        for row in _latency_rows(latency, result.trials[latency.trial_index], shown):
            table.add_row(*row)
    return table


def shown_percentiles(plan: Plan) -> tuple[float, ...]:
    """Those that were asked for; by default those that tell most of a latency."""
    is_default = plan.percentiles == Plan.model_fields["percentiles"].default
    return USUAL_PERCENTILES if is_default and not plan.fixed else plan.percentiles


def trials_table(result: RunResult) -> Table:
    """Every trial, and under it why the search wanted it."""
    table = plain_table("#", "load", "time", "offered", "received", "loss", "verdict")
    for trial in result.trials:
        table.add_row(
            str(trial.index),
            format_pps(trial.trial.intended_load_pps),
            format_seconds(trial.duration_s) + ("*" if trial.stopped_early else ""),
            format_count(trial.offered_count),
            format_count(trial.received_count),
            format_ratio(compute_reported_loss(trial)),
            Text(trial.validity.verdict, style=STYLES[trial.validity.verdict]),
        )
    return table


def plain_table(first: str, *others: str) -> Table:
    """An empty table; its first column is text, the others are figures."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column(first, no_wrap=True)
    for other in others:
        table.add_column(other, justify="right")
    return table


def _found_style(found: GoalResult) -> str:
    return "bold green" if found.regular and found.limit is Limit.SUT else "bold yellow"


def _latency_rows(latency: LatencyResult, trial: TrialResult, shown: tuple[float, ...]) -> Iterator[tuple[str, ...]]:
    """The load stands under the label, in the line of the second direction where there is one."""
    labels = [latency.label] if trial.phase == FIXED else [latency.label, format_pps(latency.load_pps)]
    rows = [
        (f"{way[0]}→{way[1]}", *_latency_figures(figures, shown))
        for way, figures in latency_by_way(trial, shown).items()
    ]
    if trial.phase == FIXED and len(rows) > 1:
        rows.append(("all", *_latency_figures(latency_of(trial, shown), shown)))
    rows += [("",) * (4 + len(shown))] * (len(labels) - len(rows))
    labels += [""] * (len(rows) - len(labels))
    for label, row in zip(labels, rows, strict=True):
        yield label, *row


def _latency_figures(latency: LatencyFigures | None, shown: tuple[float, ...]) -> tuple[str, ...]:
    if latency is None:
        return ("-",) * (3 + len(shown))
    known = latency.percentiles_ns
    percentiles = (format_ns(known[each]) if each in known else "-" for each in shown)
    return format_ns(latency.min_ns), format_ns(latency.mean_ns), *percentiles, format_ns(latency.max_ns)
