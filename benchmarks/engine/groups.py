"""What is measured: groups of contestants that run one right after the other, so that their ratios mean something."""

from dataclasses import dataclass
from typing import Any

from benchmarks.engine.contestant import SEND_CPU, Contestant
from benchmarks.engine.dpdk import TestpmdFlowgen, TestpmdMemif, nodrop_memif, nodrop_null
from benchmarks.engine.link import SEND_PORT
from benchmarks.engine.nodrop import Nodrop
from benchmarks.engine.testpmd import (
    TestpmdBothWays,
    TestpmdSend,
    TestpmdSendReceive,
    TestpmdXdpBothWays,
    TestpmdXdpSend,
    TestpmdXdpSendReceive,
)
from benchmarks.engine.trafgen import TrafgenSend
from benchmarks.engine.zero_loss import ZeroLoss

FLOWS_MAX = 2**20
LARGE_FRAME_BYTES = 1518
STREAM_COUNTS = (1, 16, 256, 4096)
EVERY_FRAME = 1


@dataclass(frozen=True)
class Group:
    """Rows of the table that belong together."""

    title: str
    contestants: tuple[Contestant | ZeroLoss, ...]
    frame_bytes: int = 64


def _live(name: str = "nodrop xdp_live send+receive", **options: Any) -> Nodrop:
    return Nodrop(name, backend="xdp_live", **options)


def _in_memory(name: str, latency_every: int) -> Nodrop:
    """Both ends on one thread, so that its whole CPU is what the frames cost."""
    ends = ("near", "far")
    return Nodrop(name, ends, "loopback", queue_slots=1024, latency_every=latency_every, cpus=(SEND_CPU,))


def _many(backend: str) -> tuple[Nodrop, ...]:
    """More streams, then more flows."""
    made = [Nodrop(f"{backend} {_streams(count)}", backend=backend, stream_count=count) for count in STREAM_COUNTS]
    return (*made, Nodrop(f"{backend} 1 M flows", backend=backend, flow_count=FLOWS_MAX))


def _many_null() -> tuple[Nodrop, ...]:
    made = [nodrop_null(f"dpdk null {_streams(count)}", stream_count=count) for count in STREAM_COUNTS]
    return (*made, nodrop_null("dpdk null 1 M flows", flow_count=FLOWS_MAX))


def _streams(count: int) -> str:
    return f"{count} stream" if count == 1 else f"{count} streams"


GROUPS = {
    "veth": Group(
        "veth pair, packet sockets",
        (
            TrafgenSend(),
            Nodrop("nodrop send", ports=(SEND_PORT,)),
            TestpmdSend(),
            Nodrop("nodrop send+receive"),
            TestpmdSendReceive(),
        ),
    ),
    "xdp": Group(
        "veth pair, AF_XDP and frames made in the kernel",
        (
            Nodrop("nodrop af_xdp send", ports=(SEND_PORT,), backend="af_xdp"),
            TestpmdXdpSend(),
            Nodrop("nodrop af_xdp send+receive", backend="af_xdp"),
            TestpmdXdpSendReceive(),
            _live(),
            TrafgenSend(),
        ),
    ),
    "dpdk": Group(
        "DPDK, no kernel on the way",
        (nodrop_null("nodrop dpdk null"), TestpmdFlowgen(), nodrop_memif("nodrop dpdk memif"), TestpmdMemif()),
    ),
    "zero-loss": Group("veth, XDP redirect, veth: the highest rate without loss", (ZeroLoss(), TrafgenSend())),
    "large": Group(
        "veth pair, large frames",
        (
            TrafgenSend(),
            Nodrop("nodrop send", ports=(SEND_PORT,)),
            Nodrop("nodrop send+receive"),
            TestpmdSendReceive(),
            Nodrop("nodrop af_xdp send+receive", backend="af_xdp"),
            TestpmdXdpSendReceive(),
            _live(),
        ),
        LARGE_FRAME_BYTES,
    ),
    "both-ways": Group(
        "veth pair, both directions at once, their rates added",
        (
            Nodrop("nodrop both ways", both_ways=True),
            TestpmdBothWays(),
            Nodrop("nodrop af_xdp both ways", backend="af_xdp", both_ways=True),
            TestpmdXdpBothWays(),
            _live("nodrop xdp_live both ways", both_ways=True),
        ),
    ),
    "cost": Group(
        "what a frame costs, without and with latency",
        (
            _in_memory("in memory, counting", 0),
            _in_memory("in memory, latency", EVERY_FRAME),
            Nodrop("af_packet, counting", latency_every=0),
            Nodrop("af_packet, latency", latency_every=EVERY_FRAME),
            _live("xdp_live, counting", latency_every=0),
            _live("xdp_live, latency", latency_every=EVERY_FRAME),
        ),
    ),
    "many": Group(
        "1 to 4096 streams of 256 flows, and a stream of 2^20 flows",
        (*_many("af_packet"), *_many("xdp_live"), *_many_null()),
    ),
}
"""In the order they are played and shown."""
