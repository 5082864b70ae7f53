"""A result as a person wants to read it in a terminal."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nodrop.formatting import LIMIT_NAMES, describe_run, format_goal_load, format_goal, format_stop_reason, describe_traffic
from nodrop.model.facts import Facts
from nodrop.model.goal import GoalResult, Limit
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import TrialResult
from nodrop.report.calibration import beyond_calibration, calibration_text, holds
from nodrop.report.chains import chain_lines
from nodrop.report.cloud import cloud_lines
from nodrop.report.confidence import confidence_lines, estimate_text
from nodrop.report.fixed import chains_table, fixed_line, fixed_table, fixed_trial, shortfall_lines
from nodrop.report.ledger import bound_lines, loss_line
from nodrop.report.path_facts import facts_parts
from nodrop.report.tables import goals_table, latency_table, trials_table
from nodrop.report.validity_notes import doubt_lines
from nodrop.units import format_pps, format_ratio, format_seconds

STATUS_TEXTS = {
    Status.COMPLETE: "complete",
    Status.INTERRUPTED: "interrupted; what follows was known by then",
    Status.TIMED_OUT: "out of time; what follows was known by then",
    Status.FAILED: "failed; what follows was known by then",
}


TOLD = {
    Limit.SUT: (),
    Limit.TESTER: ("tester-limited",),
    Limit.SHARED_CPU: ("tester-limited",),
    Limit.MAX_LOAD: ("met-at-max-load", "invalid-upper-bound"),
    Limit.MIN_LOAD: ("goal-lost", "invalid-lower-bound"),
    Limit.UNKNOWN: ("undecided-lower-bound", "undecided-upper-bound", "invalid-lower-bound", "invalid-upper-bound"),
}
"""Codes of the flags that the line about a limit tells anyway."""


def report(result: RunResult, with_trials: bool = False) -> RenderableType:
    """The whole report; with the list of trials if asked."""
    return Group(*_parts(result, with_trials))


def _parts(result: RunResult, with_trials: bool) -> Iterator[RenderableType]:
    yield _headline(result)
    yield from _fixed_parts(result)
    if result.plan.no_traffic:
        yield ""
        yield from facts_parts(result)
        yield _bullet("- ", no_traffic_text(result), "")
    if result.goals:
        yield ""
        yield goals_table(result)
        yield ""
        for found in result.goals:
            yield _bullet("- ", limit_text(found), "" if found.limit is Limit.SUT else "yellow")
            yield from (_bullet("  ", text, "") for text in confidence_lines(found, result))
        yield from (_bullet("- ", text, "") for text in (*bound_lines(result), *chain_lines(result)))
    if result.latencies:
        yield ""
        yield latency_table(result)
    if with_trials and result.trials:
        yield ""
        yield trials_table(result)
        yield ""
        yield from (_reason_line(trial) for trial in result.trials)
    if result.plan.calibration and holds(result.plan.calibration, result):
        yield ""
        yield _bullet("- ", calibration_text(result.plan.calibration), "dim")
    warnings = warning_lines(result)
    if warnings:
        yield ""
        yield from (_bullet("! ", text, "yellow") for text in warnings)
    if result.findings:
        yield ""
        yield Text("What else was seen", style="bold")
        yield from (_bullet("- ", finding.text, "") for finding in result.findings)
    if result.facts:
        yield ""
        yield from (_bullet("- ", text, "") for text in cloud_lines(result))
        yield Text(_facts_text(result.facts), style="dim")


def _fixed_parts(result: RunResult) -> Iterator[RenderableType]:
    """The trial at a fixed rate, where that is what was asked for."""
    trial = fixed_trial(result)
    if trial is None:
        return
    yield ""
    yield fixed_table(result, trial)
    yield ""
    yield _bullet("- ", fixed_line(trial), "yellow" if trial.lost_count else "")
    if trial.lost_count and (line := loss_line(trial)):
        yield _bullet("- ", line, "")
    if result.plan.lab.chain_count > 1:
        yield ""
        yield chains_table(result, trial)


def no_traffic_text(result: RunResult) -> str:
    """What a run without traffic has shown."""
    if not result.plan.path_check:
        return "The lab and the tester's ports came up; the path was not checked, and nothing was measured."
    if not result.checks:
        return "The path was not checked, and nothing was measured."
    arrived = sum(check.received_count > 0 for check in result.checks)
    chains = result.plan.lab.chain_count
    return (
        f"Frames came through {arrived} of {len(result.checks)} directions of {chains} "
        f"{'chains' if chains > 1 else 'chain'}; nothing was measured."
    )


def _headline(result: RunResult) -> Text:
    sut = result.facts.stage.sut if result.facts else result.plan.lab.sut
    style = "bold green" if result.status is Status.COMPLETE else "bold red"
    headline = Text.assemble((f"{sut}, {describe_traffic(result.plan.traffic)}, {describe_run(result.plan)}\n", "bold"))
    headline.append(STATUS_TEXTS[result.status], style=style)
    trials = "1 trial" if len(result.trials) == 1 else f"{len(result.trials)} trials"
    counted = "" if result.plan.no_traffic else f", {trials}"
    headline.append(f"{counted} in {format_seconds(result.wall_s)}")
    return headline


def limit_text(found: GoalResult) -> str:
    """What a figure stands for and why it is not higher."""
    text = f"{format_goal(found.goal)}: {format_goal_load(found)}, limited by {LIMIT_NAMES[found.limit]}. {found.explanation}"
    if found.limit is Limit.UNKNOWN or (not found.lower and found.limit is Limit.MIN_LOAD):
        load = f"about {estimate_text(found)}" if found.estimate_pps and not found.lower else format_goal_load(found)
        text = f"{format_goal(found.goal)}: {load}. {found.explanation}"
    if found.lower and found.upper and not found.regular:
        text += " Not confirmed: the search did not get to narrow these bounds with its longest trials."
    return text


def warning_lines(result: RunResult) -> list[str]:
    """What the figures alone do not say, and what speaks against them."""
    beyond = beyond_calibration(result)
    return [
        *result.plan.warnings,
        *_flag_lines(result),
        *([beyond.text] if beyond else []),
        *shortfall_lines(result),
        *doubt_lines(result),
        *_latency_lines(result),
    ]


def _reason_line(trial: TrialResult) -> RenderableType:
    """What a trial was for, by which rule, why it ended early, and what speaks against it."""
    asked = trial.trial
    chosen = ", ".join(filter(None, (asked.goal, asked.rule)))
    remarks = [format_stop_reason(trial)] if trial.stopped_early else []
    remarks += [f"{doubt.verdict}: {doubt.text}" for doubt in trial.validity.doubts]
    text = f"{asked.reason or trial.phase}{f' ({chosen})' if chosen else ''}"
    return _bullet(f"{trial.index:>3} ", "".join((text, *(f" [{remark}]" for remark in remarks))), "")


def _flag_lines(result: RunResult) -> Iterator[str]:
    """What the bounds alone do not say, once for all goals it is true of."""
    labels: dict[str, list[str]] = {}
    for found in result.goals:
        for flag in found.flags:
            if flag.code not in TOLD[found.limit]:
                labels.setdefault(flag.text, []).append(found.goal.label)
    yield from (f"{', '.join(concerned)}: {text}" for text, concerned in labels.items())


def _latency_lines(result: RunResult) -> Iterator[str]:
    """Latency that describes a path which lost frames, and latency that is missing."""
    for latency in result.latencies:
        trial = result.trials[latency.trial_index]
        every = max((times.latency_every for times in trial.directions), default=1)
        if every > 1:
            yield f"latency at {latency.label}: measured of every {every}th frame of a stream, not of each"
        if trial.lost_count:
            yield (
                f"latency at {latency.label}: {format_ratio(trial.lost_count / trial.offered_count)} of the frames "
                f"were lost in this trial at {format_pps(latency.load_pps)}; the figures are of those that arrived"
            )
    measured = {latency.label for latency in result.latencies}
    for label in (point.label for point in result.plan.latency.points):
        if result.status is Status.COMPLETE and label not in measured:
            yield f"latency at {label}: not measured, there was no load for it or no valid trial"


def _facts_text(facts: Facts) -> str:
    host, versions = facts.host, facts.versions
    made_of = "" if host.virtualization == "none" else f", virtual machine ({host.virtualization})"
    return (
        f"nodrop {versions.nodrop}, {versions.generator_text}, Python {versions.python}, "
        f"Linux {host.kernel}, {host.core_count} x {host.cpu_model}{made_of}, clock {host.clock_source}, "
        f"lab {facts.stage.name} as {facts.stage.privilege}{_ports_text(facts)}"
    )


def _ports_text(facts: Facts) -> str:
    ways = {f"{port.backend} ({port.why})" if port.why else port.backend: None for port in facts.ports}
    return f", packets by {' and '.join(ways)}" if ways else ""


def _bullet(mark: str, text: str, style: str) -> RenderableType:
    """A text whose further lines are indented under its first."""
    grid = Table.grid()
    grid.add_row(Text(mark, style=style), Text(text, style=style))
    return grid
