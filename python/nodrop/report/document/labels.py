"""What runs are called in a report."""

from collections.abc import Sequence

from nodrop.analysis import Comparison
from nodrop.formatting import describe_traffic, format_repeat
from nodrop.model.result import RunResult
from nodrop.units import format_seconds

SUTS = {
    "vnf-l2": "nodrop's layer 2 forwarder",
    "vnf-l3": "nodrop's IP router",
    "xdp": "an XDP cross-connect",
    "bridge": "the Linux bridge",
    "router": "the Linux router",
    "ovs": "Open vSwitch",
    "wire": "a bare wire",
    "ext": "a system that was there already",
    "openstack": "loopback VMs in OpenStack",
}
"""Kinds of SUTs, for somebody who has never seen nodrop."""
SIMULATED = "simulated"
"""Name of the stage of runs without packets."""


def sut_text(result: RunResult) -> str:
    """What was measured, as a name."""
    return result.facts.stage.sut if result.facts else result.plan.lab.sut_text


def known_sut_text(result: RunResult) -> str:
    """The same, with what it is."""
    if is_simulated(result):
        return f"The model {sut_text(result)}"
    return f"{sut_text(result)} ({SUTS[result.plan.lab.sut]})"


def is_simulated(result: RunResult) -> bool:
    """Whether no packet was ever sent."""
    return result.facts is not None and result.facts.stage.name == SIMULATED


def size_text(result: RunResult) -> str:
    """The frame size as users know it."""
    return result.plan.frame_size or f"{result.plan.traffic.frame_bytes:g}"


def title(results: Sequence[RunResult], comparison: Comparison | None = None) -> str:
    """What was measured: `vnf-l2, 64-byte frames both ways`; or what beside what: `after beside before`."""
    if comparison and comparison.a.name != comparison.b.name:
        return f"{comparison.b.name} beside {comparison.a.name}"
    suts = list(dict.fromkeys(map(sut_text, results)))
    if len(results) == 1:
        return f"{suts[0]}, {describe_traffic(results[0].plan.traffic).partition(',')[0]}"
    sizes = list(dict.fromkeys(map(size_text, results)))
    what = f"frame sizes {', '.join(sizes)}" if len(sizes) == len(results) else f"{len(results)} runs"
    return f"{', '.join(suts)}: {what}"


def names(results: Sequence[RunResult]) -> tuple[str, ...]:
    """A name for each of several runs, no two alike: by what tells them apart, as `64 bytes`, `vnf-l2`, `before`."""
    ways = (
        [f"{size_text(result)} bytes" if size_text(result).isdecimal() else size_text(result) for result in results],
        [result.plan.label or "" for result in results],
        [sut_text(result) for result in results],
        [f"{sut_text(result)}, {size_text(result)}" for result in results],
        [f"{result.plan.label or sut_text(result)}, {size_text(result)}" for result in results],
        [format_repeat(result.plan.variant, result.plan.repeat, result.plan.repeat_count) for result in results],
    )
    for way in ways:
        if len(set(way)) == len(results) and all(way):
            return tuple(way)
    return tuple(
        f"{number}: {result.plan.label or sut_text(result)}, {size_text(result)}"
        for number, result in enumerate(results, 1)
    )


def counted(count: int, what: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def when_text(result: RunResult) -> str:
    """When it began, and how long it took."""
    began = result.started_at[:19].replace("T", " ")
    return f"{began} UTC, for {format_seconds(result.wall_s)}"
