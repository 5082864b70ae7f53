"""Names of SUTs, runs and states in reports."""

from collections.abc import Sequence

from nodrop.analysis import Comparison
from nodrop.formatting import describe_traffic, format_repeat, format_sut_name
from nodrop.model.result import RunResult
from nodrop.model.suite import Suite
from nodrop.units import format_count, format_seconds

SUTS = {
    "vnf-l2": "nodrop's layer 2 forwarder",
    "vnf-l3": "nodrop's IP router",
    "vnf-bras": "nodrop's BRAS",
    "pool": "a pool of nodrop's layer 2 forwarders",
    "xdp": "an XDP cross-connect",
    "bridge": "the Linux bridge",
    "router": "the Linux router",
    "ovs": "Open vSwitch",
    "wire": "a bare wire",
    "ext": "an external system",
    "openstack": "loopback VMs in OpenStack",
}
"""Kinds of SUTs, for readers new to nodrop."""
SIMULATED = "simulated"
"""The name of the stage of runs without packets."""


def describe_sut(result: RunResult) -> str:
    """Return the name of the SUT and its kind."""
    if is_simulated(result):
        return f"The model {format_sut_name(result)}"
    return f"{format_sut_name(result)} ({SUTS[result.plan.lab.sut]})"


def describe_path_check(result: RunResult) -> str:
    """Return the outcome of a run without traffic."""
    if not result.plan.path_check:
        return "The lab and the tester's ports came up; the path was not checked, and nothing was measured."
    if not result.checks:
        return "The path was not checked, and nothing was measured."
    arrived = sum(check.received_count > 0 for check in result.checks)
    return (
        f"Frames arrived on {arrived} of {format_count(len(result.checks), 'direction')} of "
        f"{format_count(result.plan.lab.chain_count, 'chain')}; nothing was measured."
    )


def is_simulated(result: RunResult) -> bool:
    """Return whether a model was measured, without any packet."""
    return result.facts is not None and result.facts.stage.name == SIMULATED


def format_frame_size(result: RunResult) -> str:
    """Return the frame size as configured."""
    return result.plan.frame_size or f"{result.plan.traffic.frame_bytes:g}"


def format_title(results: Sequence[RunResult], comparison: Comparison | None = None) -> str:
    """Return `vnf-l2, 64-byte frames both ways`, or `after compared with before`."""
    if comparison and comparison.a.name != comparison.b.name:
        return f"{comparison.b.name} compared with {comparison.a.name}"
    suts = list(dict.fromkeys(map(format_sut_name, results)))
    if len(results) == 1:
        return f"{suts[0]}, {describe_traffic(results[0].plan.traffic).partition(',')[0]}"
    sizes = list(dict.fromkeys(map(format_frame_size, results)))
    what = f"frame sizes {', '.join(sizes)}" if len(sizes) == len(results) else format_count(len(results), "run")
    return f"{', '.join(suts)}: {what}"


def name_runs(results: Sequence[RunResult]) -> tuple[str, ...]:
    """Return a unique name for each of several runs by their differences: `64 bytes`, `vnf-l2`, `before`."""
    sizes = [format_frame_size(result) for result in results]
    suts = [format_sut_name(result) for result in results]
    labels = [result.plan.label or "" for result in results]
    labeled = [f"{label or sut}, {size}" for label, sut, size in zip(labels, suts, sizes, strict=True)]
    candidates = (
        [f"{size} bytes" if size.isdecimal() else size for size in sizes],
        labels,
        suts,
        [f"{sut}, {size}" for sut, size in zip(suts, sizes, strict=True)],
        labeled,
        [format_repeat(result.plan.variant, result.plan.repeat, result.plan.repeat_count) for result in results],
    )
    for names in candidates:
        if len(set(names)) == len(results) and all(names):
            return tuple(names)
    variants = [result.plan.variant for result in results]
    return tuple(f"{number}: {name}" for number, name in enumerate(variants if all(variants) else labeled, 1))


def format_time(measured: RunResult | Suite) -> str:
    """Return start and duration of a run or suite."""
    started = measured.started_at[:19].replace("T", " ")
    return f"{started} UTC, for {format_seconds(measured.wall_s)}"
