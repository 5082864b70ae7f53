"""How goals and loads read, wherever they are shown."""

from pathlib import Path
from typing import TYPE_CHECKING

from nodrop.model.goal import Goal, GoalResult, Limit
from nodrop.model.summary import MeasureUnit
from nodrop.rates import WIRE_OVERHEAD_BYTES
from nodrop.units import format_bps, format_ns, format_pps, format_ratio, format_seconds

if TYPE_CHECKING:  # lists of results do not wait for these
    from nodrop.model.plan import Plan
    from nodrop.model.traffic import Replay, Stream, Traffic
    from nodrop.model.trial import StopClause, TrialResult

LIMIT_NAMES = {
    Limit.SUT: "the SUT",
    Limit.TESTER: "the tester",
    Limit.SHARED_CPU: "a CPU that tester and SUT share",
    Limit.MAX_LOAD: "the highest load allowed",
    Limit.MIN_LOAD: "the lowest load allowed",
    Limit.UNKNOWN: "not known yet",
}
STOP_REASONS: "dict[StopClause, str]" = {
    "lost_count": "enough frames were lost to decide",
    "after_loss": "a loss was seen and watched",
    "elapsed": "it was to be this short",
    "quiet": "too little was lost to go on",
}
"""Why a trial was stopped early, by the clause that did it."""
SMALL_RATIO_MAX = 1e-4
AT_LEAST = frozenset({Limit.TESTER, Limit.SHARED_CPU, Limit.MAX_LOAD, Limit.UNKNOWN})
"""Limits that are not the SUT's: the lower bound then says what it does at least, not what it can."""


def format_goal(goal: Goal) -> str:
    """A goal with its number: `PDR 0.5 %`."""
    return f"{goal.label} {format_ratio(goal.loss_ratio)}"


def format_goal_load(found: GoalResult) -> str:
    """The load that meets a goal, never as the SUT's figure where something else was the limit."""
    if not found.lower:
        return "none" if found.estimate_pps is None else f"about {format_pps(found.estimate_pps)}"
    least = "at least " if found.limit in AT_LEAST else ""
    return f"{least}{format_pps(found.lower.load_pps)}"


def format_small_ratio(ratio: float) -> str:
    """A share of any size: in percent, or as `1.1e-8` where percent would be zeros."""
    if 0 < ratio < SMALL_RATIO_MAX:
        digits, exponent = f"{ratio:.1e}".split("e")
        return f"{digits}e{int(exponent)}"
    return format_ratio(ratio)


def format_measure(value: float, unit: MeasureUnit) -> str:
    """A figure of a run with its unit."""
    if unit == "pps":
        return format_pps(value)
    return format_ns(value) if unit == "ns" else format_small_ratio(value)


def format_width(found: GoalResult) -> str:
    """How far apart the bounds are, relative to the upper one."""
    if not found.lower or not found.upper:
        return "-"
    return format_ratio((found.upper.load_pps - found.lower.load_pps) / found.upper.load_pps)


def compute_reported_loss(trial: "TrialResult") -> float:
    """Frames that were not sent count as lost in a search; at a fixed rate they are told apart from those lost."""
    from nodrop.model.trial import FIXED

    if trial.phase != FIXED or not trial.offered_count:
        return trial.loss_ratio
    return trial.lost_count / trial.offered_count


def format_stop_reason(trial: "TrialResult") -> str:
    """Why a trial ended early; empty for one that did not."""
    if not trial.stopped_early:
        return ""
    return f"stopped early: {STOP_REASONS[trial.stopped_by]}" if trial.stopped_by else "stopped early"


def format_load_per_direction(load_pps: float, traffic: "Traffic") -> str:
    """A load per direction: `2 x 150.0 kpps`."""
    loads = [format_pps(load_pps * ratio) for ratio in traffic.direction_ratios.values()]
    return f"{len(loads)} x {loads[0]}" if len(set(loads)) == 1 else " + ".join(loads)


def format_repeat(variant: str, repeat: int, repeat_count: int) -> str:
    """Which of several runs with the same traffic one is: `A 2 of 5`, `2 of 5`, `A`; empty where there are none."""
    number = f"{repeat} of {repeat_count}" if repeat_count > 1 else ""
    return f"{variant} {number}".strip()


def describe_run(plan: "Plan") -> str:
    """What is to be measured, in short: a fixed rate, or with which profile."""
    if plan.no_traffic:
        return "no traffic"
    if plan.fixed:
        return f"at {plan.fixed.asked} for {format_seconds(plan.fixed.duration_s)}"
    return f"{plan.profile} profile"


def format_wire_rate(load_pps: float, traffic: "Traffic") -> str:
    """A load as bits on a wire, gaps included, over all directions."""
    return format_bps(load_pps * (traffic.frame_bytes + WIRE_OVERHEAD_BYTES) * 8)


def describe_traffic(traffic: "Traffic") -> str:
    """What is sent, in short: `64-byte frames both ways, 256 flows each way`."""
    stream, chains = traffic.streams[0], {stream.chain for stream in traffic.streams}
    ways = {(stream.chain, stream.tx_port) for stream in traffic.streams}
    way = "both ways" if len(ways) > len(chains) else "one way"
    per_way = len(traffic.streams) // len(ways)
    counts = " or ".join(map(str, sorted({stream.flow_count for stream in traffic.streams})))
    flows = f"{counts} flows" if per_way == 1 else f"{per_way} streams of {counts} flows"
    course = "" if traffic.pattern.kind == "flat" else f", {traffic.pattern.kind} load"
    in_each = " in each chain" if len(chains) > 1 else ""
    if stream.replay:
        return f"{describe_replay(stream.replay, stream)} {way}{course}"
    return f"{format_frame_sizes(stream)} frames{format_protocol_stack(stream)} {way}, {flows} each way{in_each}{course}"


def describe_replay(replay: "Replay", stream: "Stream") -> str:
    """Frames of a file: `120 frames of dns.pcap (72 to 594 bytes, 3 grown)`."""
    sizes = sorted({size.frame_bytes for size in stream.sizes})
    span = f"{sizes[0]} to {sizes[-1]} bytes" if len(sizes) > 1 else f"{sizes[0]} bytes"
    grown = f", {replay.grown_count} grown for the signature" if replay.grown_count else ""
    return f"{replay.frame_count} frames of {Path(replay.file).name} ({span}{grown})"


def format_frame_sizes(stream: "Stream") -> str:
    """Frame sizes: `64-byte`, or `64/594/1518-byte (7:4:1)`."""
    sizes = "/".join(str(size.frame_bytes) for size in stream.sizes)
    weights = ":".join(str(size.weight) for size in stream.sizes)
    return f"{sizes}-byte" if len(stream.sizes) == 1 else f"{sizes}-byte ({weights})"


def format_protocol_stack(stream: "Stream") -> str:
    """Headers, where they are not just UDP over IPv4."""
    kinds = [layer.kind for layer in stream.layers]
    return "" if kinds == ["ethernet", "ipv4", "udp"] else f" of {'/'.join(kinds)}"
