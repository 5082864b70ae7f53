"""How goals and loads read, wherever they are shown."""

from nodrop.model.goal import Goal, GoalResult, Limit
from nodrop.model.traffic import Traffic
from nodrop.model.trial import StopClause, TrialResult
from nodrop.units import format_bps, format_pps, format_ratio

WIRE_OVERHEAD_BYTES = 20
"""Preamble, start of frame and gap between frames, as on a wire (IEEE 802.3 section 4.4.2)."""

LIMITS = {
    Limit.SUT: "the SUT",
    Limit.TESTER: "the tester",
    Limit.SHARED_CPU: "a CPU that tester and SUT share",
    Limit.MAX_LOAD: "the highest load allowed",
    Limit.MIN_LOAD: "the lowest load allowed",
    Limit.UNKNOWN: "not known yet",
}
STOPS: dict[StopClause, str] = {
    "lost_count": "enough frames were lost to decide",
    "after_loss": "a loss was seen and watched",
    "elapsed": "it was to be this short",
    "quiet": "too little was lost to go on",
}
"""Why a trial was stopped early, by the clause that did it."""
SMALL_RATIO = 1e-4
AT_LEAST = frozenset({Limit.TESTER, Limit.SHARED_CPU, Limit.MAX_LOAD, Limit.UNKNOWN})
"""Limits that are not the SUT's: the lower bound then says what it does at least, not what it can."""


def goal_text(goal: Goal) -> str:
    """A goal with its number: `PDR 0.5 %`."""
    return f"{goal.label} {format_ratio(goal.loss_ratio)}"


def found_text(found: GoalResult) -> str:
    """The load that meets a goal, never as the SUT's figure where something else was the limit."""
    if not found.lower:
        return "none" if found.estimate_pps is None else f"about {format_pps(found.estimate_pps)}"
    least = "at least " if found.limit in AT_LEAST else ""
    return f"{least}{format_pps(found.lower.load_pps)}"


def small_ratio_text(ratio: float) -> str:
    """A share of any size: in percent, or as `1.1e-8` where percent would be zeros."""
    if 0 < ratio < SMALL_RATIO:
        digits, exponent = f"{ratio:.1e}".split("e")
        return f"{digits}e{int(exponent)}"
    return format_ratio(ratio)


def width_text(found: GoalResult) -> str:
    """How far apart the bounds are, relative to the upper one."""
    if not found.lower or not found.upper:
        return "-"
    return format_ratio((found.upper.load_pps - found.lower.load_pps) / found.upper.load_pps)


def stop_text(trial: TrialResult) -> str:
    """Why a trial ended early; empty for one that did not."""
    if not trial.stopped_early:
        return ""
    return f"stopped early: {STOPS[trial.stopped_by]}" if trial.stopped_by else "stopped early"


def each_way_text(load_pps: float, traffic: Traffic) -> str:
    """A load per direction: `2 x 150.0 kpps`."""
    count = len(traffic.streams)
    return f"{count} x {format_pps(load_pps / count)}"


def wire_text(load_pps: float, traffic: Traffic) -> str:
    """A load as bits on a wire, gaps included, over all directions."""
    return format_bps(load_pps * (traffic.frame_bytes + WIRE_OVERHEAD_BYTES) * 8)


def traffic_text(traffic: Traffic) -> str:
    """What is sent, in short."""
    ways = "both ways" if len(traffic.streams) > 1 else "one way"
    course = "" if traffic.pattern.kind == "flat" else f", {traffic.pattern.kind} load"
    return f"{traffic.frame_bytes}-byte frames {ways}, {traffic.streams[0].flow_count} flows each way{course}"
