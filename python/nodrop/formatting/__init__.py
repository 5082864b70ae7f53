"""Texts for goals, loads, traffic and runs, shared by all outputs."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from nodrop.model.goal import Goal, GoalResult, Limit
from nodrop.model.summary import MeasureUnit
from nodrop.rates import WIRE_OVERHEAD_BYTES
from nodrop.system.cpu_load import CpuUse, format_use
from nodrop.units import format_bps, format_count, format_ns, format_pps, format_ratio, format_seconds

if TYPE_CHECKING:  # kept out of the start-up of commands that list results
    from nodrop.model.facts import Facts
    from nodrop.model.plan import Plan
    from nodrop.model.result import RunResult
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
    "after_loss": "a loss was observed for long enough",
    "elapsed": "the time limit of the stop rule was reached",
    "quiet": "too few frames were lost to continue",
}
"""The reason for an early stop, by the clause of the stop rule that fired."""
SMALL_RATIO_MAX = 1e-4
"""Ratios below this value are formatted as `1.1e-8`."""


def format_goal(goal: Goal) -> str:
    """Return a goal with its loss ratio: `PDR 0.5 %`."""
    return f"{goal.label} {format_ratio(goal.loss_ratio)}"


def format_goal_load(result: GoalResult) -> str:
    """Return the load that meets a goal: `at least 526.1 kpps` if the SUT was not the limit."""
    if not result.lower:
        return "none" if result.estimate_pps is None else f"about {format_pps(result.estimate_pps)}"
    least = "at least " if result.limit.sut_may_exceed else ""
    return f"{least}{format_pps(result.lower.load_pps)}"


def format_small_ratio(ratio: float) -> str:
    """Return a ratio of any size: in percent, or as `1.1e-8` if it is small."""
    if 0 < ratio < SMALL_RATIO_MAX:
        digits, exponent = f"{ratio:.1e}".split("e")
        return f"{digits}e{int(exponent)}"
    return format_ratio(ratio)


def format_surplus(load: str, surplus_ratio: float) -> str:
    """Return the doubt about a load at which more frames were received than sent, by this share of those sent."""
    share = format_small_ratio(surplus_ratio)
    return f"{load}: {share} more frames came back than were sent (duplicates or foreign frames); the loss is unknown"


def format_measure(value: float, unit: MeasureUnit) -> str:
    """Return a figure of a run with its unit."""
    if unit == "pps":
        return format_pps(value)
    return format_ns(value) if unit == "ns" else format_small_ratio(value)


def format_width(result: GoalResult) -> str:
    """Return the distance between the bounds as a share of the upper bound."""
    if not result.lower or not result.upper:
        return "-"
    return format_ratio((result.upper.load_pps - result.lower.load_pps) / result.upper.load_pps)


def compute_reported_loss(trial: "TrialResult") -> float:
    """Return the loss ratio to report: unsent frames count as lost in a search, not at a fixed rate."""
    from nodrop.model.trial import FIXED

    if trial.phase != FIXED or not trial.offered_count:
        return trial.loss_ratio
    return trial.lost_count / trial.offered_count


def format_stop_reason(trial: "TrialResult") -> str:
    """Return why a trial ended early; empty if it did not."""
    if not trial.stopped_early:
        return ""
    return f"stopped early: {STOP_REASONS[trial.stopped_by]}" if trial.stopped_by else "stopped early"


def describe_capture(trial: "TrialResult") -> str:
    """Return file and frame counts of a trial's capture; empty without one."""
    capture = trial.capture
    if capture is None:
        return ""
    dropped = f", capture dropped {format_count(capture.dropped_count)}" if capture.dropped_count else ""
    load = format_pps(trial.trial.intended_load_pps)
    frames = format_count(capture.frame_count, "frame")
    return f"capture: {capture.file} ({frames}{dropped}; {trial.phase} at {load})"


def format_load_per_direction(load_pps: float, traffic: "Traffic") -> str:
    """Return a load by direction: `2 x 150.0 kpps`."""
    loads = [format_pps(load_pps * ratio) for ratio in traffic.direction_ratios.values()]
    return f"{len(loads)} x {loads[0]}" if len(set(loads)) == 1 else " + ".join(loads)


def format_repeat(variant: str, repeat: int, repeat_count: int) -> str:
    """Return variant and number of a repeat: `A 2 of 5`, `2 of 5`, `A`; empty for a single run."""
    number = f"{repeat} of {repeat_count}" if repeat_count > 1 else ""
    return f"{variant} {number}".strip()


def format_sut_name(result: "RunResult") -> str:
    """Return the name of the measured SUT."""
    return result.facts.stage.sut if result.facts else result.plan.lab.sut_text


def describe_run(plan: "Plan") -> str:
    """Return the kind of a run: fixed rate and duration, or the profile of its search."""
    if plan.no_traffic:
        return "no traffic"
    if plan.fixed:
        return f"at {plan.fixed.asked} for {format_seconds(plan.fixed.duration_s)}"
    return f"{plan.profile} profile"


def format_wire_rate(load_pps: float, traffic: "Traffic", tx_ports: Collection[int] = ()) -> str:
    """Return a load as a bit rate on the wire, with preamble and gaps, over all directions or those of ports."""
    return format_bps(load_pps * (traffic.mean_frame_bytes(tx_ports) + WIRE_OVERHEAD_BYTES) * 8)


def describe_traffic(traffic: "Traffic") -> str:
    """Return the traffic in short: `64-byte frames both ways, 256 flows each way`."""
    stream, chains = traffic.streams[0], {stream.chain for stream in traffic.streams}
    directions = {(stream.chain, stream.tx_port) for stream in traffic.streams}
    way = "both ways" if len(directions) > len(chains) else "one way"
    streams_each = len(traffic.streams) // len(directions)
    flow_counts = sorted({stream.flow_count for stream in traffic.streams})
    flows = f"{' or '.join(map(str, flow_counts))} {'flow' if flow_counts == [1] else 'flows'}"
    if streams_each > 1:
        flows = f"{streams_each} streams of {flows}"
    pattern = "" if traffic.pattern.kind == "flat" else f", {traffic.pattern.kind} load"
    if traffic.warm_up_s:
        pattern += f", {format_seconds(traffic.warm_up_s)} of warm-up before each trial"
    in_each = " in each chain" if len(chains) > 1 else ""
    if stream.replay:
        return f"{describe_replay(stream.replay, stream)} {way}{pattern}"
    frames = f"{format_frame_sizes(stream)} frames{format_protocol_stack(stream)}"
    each_way = " each way" if way == "both ways" else ""
    return f"{frames} {way}, {flows}{each_way}{in_each}{pattern}"


def describe_replay(replay: "Replay", stream: "Stream") -> str:
    """Return the frames of a file, and which of its frames are not sent.

    `120 frames of dns.pcap (72 to 594 bytes, 3 grown for the signature; 2 of other links skipped)`
    """
    sizes = sorted({size.frame_bytes for size in stream.sizes})
    span = f"{sizes[0]} to {sizes[-1]} bytes" if len(sizes) > 1 else f"{sizes[0]} bytes"
    grown = f", {replay.grown_count} grown for the signature" if replay.grown_count else ""
    skipped = f"; {replay.other_link_count} of other links skipped" if replay.other_link_count else ""
    cut_off = "" if replay.cut_off_after is None else f"; the file is cut off after frame {replay.cut_off_after}"
    return f"{format_count(replay.frame_count, 'frame')} of {Path(replay.file).name} ({span}{grown}{skipped}{cut_off})"


def format_frame_sizes(stream: "Stream") -> str:
    """Return frame sizes: `64-byte`, or `64/594/1518-byte (7:4:1)`."""
    sizes = "/".join(str(size.frame_bytes) for size in stream.sizes)
    weights = ":".join(str(size.weight) for size in stream.sizes)
    return f"{sizes}-byte" if len(stream.sizes) == 1 else f"{sizes}-byte ({weights})"


def format_protocol_stack(stream: "Stream") -> str:
    """Return the headers of frames; empty for UDP over IPv4."""
    kinds = [layer.kind for layer in stream.layers]
    return "" if kinds == ["ethernet", "ipv4", "udp"] else f" of {'/'.join(kinds)}"


def format_other_load(facts: "Facts") -> str:
    """Return the other work on the CPUs of tester and SUT: `other work before the first trial: CPU 1 is 93 % busy`."""
    uses = (format_use(CpuUse(load.cpu, load.busy_ratio, load.processes)) for load in facts.other_load)
    return f"other work before the first trial: {'; '.join(uses)}"
