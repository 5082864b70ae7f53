"""How a run or a suite ended, in words: complete only if every goal was found as exactly as it requires."""

from collections.abc import Sequence

from nodrop.model.goal import OUT_OF_TIME, GoalResult
from nodrop.model.result import RunResult, Status
from nodrop.model.suite import Suite
from nodrop.report.document.blocks import Paragraph, Tone
from nodrop.report.document.fixed_rate import describe_short_offer
from nodrop.units import format_count, format_pps, format_seconds

STATUS_TEXTS = {
    Status.COMPLETE: "complete",
    Status.INTERRUPTED: "interrupted; partial results follow",
    Status.TIMED_OUT: "out of time; partial results follow",
    Status.FAILED: "failed; partial results follow",
}


def build_status(result: RunResult) -> Paragraph:
    """Return how a run ended, with its trials and its time."""
    unresolved = describe_unresolved_goals(result)
    trials = "" if result.plan.no_traffic else f", {format_count(len(result.trials), 'trial')}"
    ended = f"{unresolved or STATUS_TEXTS[result.status]}{trials} in {format_seconds(result.wall_s)}"
    short = describe_short_offer(result)
    tone: Tone = "bad" if result.status is not Status.COMPLETE or short else "caution" if unresolved else "good"
    return Paragraph(text=f"{ended}{f'; {short}' if short else ''}", tone=tone)


def build_suite_status(suite: Suite, measured: str, results: Sequence[RunResult]) -> Paragraph:
    """Return how a suite ended, with its time and with `measured`, the number of its runs or trials."""
    unresolved_count = sum(bool(describe_unresolved_goals(result)) for result in results)
    ended = f"{STATUS_TEXTS[suite.status]}, {measured} in {format_seconds(suite.wall_s)}"
    tone: Tone = "bad" if suite.status is not Status.COMPLETE else "caution" if unresolved_count else "good"
    runs = f"{unresolved_count} of {format_count(len(results), 'run')}"
    without = f"; {runs} did not reach the width of every goal" if unresolved_count else ""
    return Paragraph(text=f"{ended}{without}", tone=tone)


def describe_unresolved_goals(result: RunResult) -> str:
    """Return `time ran out: NDR between 425 kpps and 910 kpps`; empty unless a complete search missed a width."""
    if result.status is not Status.COMPLETE:
        return ""
    unresolved = [each for each in result.goals if not each.is_resolved]
    ranges: dict[str, list[str]] = {}
    for each in unresolved:
        ranges.setdefault(_describe_range(each), []).append(each.goal.label)
    if not ranges:
        return ""
    is_late = any(flag.code == OUT_OF_TIME for each in unresolved for flag in each.flags)
    goals = ", ".join(f"{' and '.join(labels)} {text}" for text, labels in ranges.items())
    return f"{'time ran out' if is_late else 'not confirmed'}: {goals}"


def _describe_range(goal_result: GoalResult) -> str:
    lower, upper = goal_result.lower, goal_result.upper
    if lower and upper:
        return f"between {format_pps(lower.load_pps)} and {format_pps(upper.load_pps)}"
    if lower:
        return f"at least {format_pps(lower.load_pps)}"
    return f"below {format_pps(upper.load_pps)}" if upper else "not found"
