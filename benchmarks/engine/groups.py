"""Groups of generators that are measured in direct succession, so that the ratios of their rates are meaningful."""

from dataclasses import dataclass
from typing import Any

from benchmarks.engine.dpdk import TestpmdFlowgen, TestpmdMemif, create_nodrop_memif, create_nodrop_null
from benchmarks.engine.link import SEND_PORT
from benchmarks.engine.nodrop import NodropGenerator
from benchmarks.engine.packet_generator import SEND_CPU, PacketGenerator
from benchmarks.engine.testpmd import (
    TestpmdBidirectional,
    TestpmdSend,
    TestpmdSendReceive,
    TestpmdXdpBidirectional,
    TestpmdXdpSend,
    TestpmdXdpSendReceive,
)
from benchmarks.engine.trafgen import TrafgenSend
from benchmarks.engine.zero_loss import ZeroLossSearch

FLOWS_MAX = 2**20
LARGE_FRAME_BYTES = 1518
STREAM_COUNTS = (1, 16, 256, 4096)
EVERY_FRAME = 1


@dataclass(frozen=True)
class Group:
    """Generators that are compared with each other."""

    title: str
    generators: tuple[PacketGenerator | ZeroLossSearch, ...]
    frame_bytes: int = 64


def _create_xdp_live(name: str = "nodrop xdp_live send+receive", **options: Any) -> NodropGenerator:
    return NodropGenerator(name, backend="xdp_live", **options)


def _create_in_memory(name: str, latency_every: int) -> NodropGenerator:
    """Return nodrop with both ends in one thread, so that its CPU time is the cost of the frames."""
    ends = ("near", "far")
    return NodropGenerator(name, ends, "loopback", queue_slots=1024, latency_every=latency_every, cpus=(SEND_CPU,))


def _create_scaling_series(backend: str) -> tuple[NodropGenerator, ...]:
    """Return nodrop with increasing numbers of streams, then with many flows."""
    series = [
        NodropGenerator(f"{backend} {_format_streams(count)}", backend=backend, stream_count=count)
        for count in STREAM_COUNTS
    ]
    return (*series, NodropGenerator(f"{backend} 1 M flows", backend=backend, flow_count=FLOWS_MAX))


def _create_null_scaling_series() -> tuple[NodropGenerator, ...]:
    series = [create_nodrop_null(f"dpdk null {_format_streams(count)}", stream_count=count) for count in STREAM_COUNTS]
    return (*series, create_nodrop_null("dpdk null 1 M flows", flow_count=FLOWS_MAX))


def _format_streams(count: int) -> str:
    return f"{count} stream" if count == 1 else f"{count} streams"


GROUPS = {
    "veth": Group(
        "veth pair, packet sockets",
        (
            TrafgenSend(),
            NodropGenerator("nodrop send", ports=(SEND_PORT,)),
            TestpmdSend(),
            NodropGenerator("nodrop send+receive"),
            TestpmdSendReceive(),
        ),
    ),
    "xdp": Group(
        "veth pair, AF_XDP and frames created in the kernel",
        (
            NodropGenerator("nodrop af_xdp send", ports=(SEND_PORT,), backend="af_xdp"),
            TestpmdXdpSend(),
            NodropGenerator("nodrop af_xdp send+receive", backend="af_xdp"),
            TestpmdXdpSendReceive(),
            _create_xdp_live(),
            TrafgenSend(),
        ),
    ),
    "dpdk": Group(
        "DPDK ports without a kernel",
        (
            create_nodrop_null("nodrop dpdk null"),
            TestpmdFlowgen(),
            create_nodrop_memif("nodrop dpdk memif"),
            TestpmdMemif(),
        ),
    ),
    "zero-loss": Group("veth, XDP redirect, veth: highest rate without loss", (ZeroLossSearch(), TrafgenSend())),
    "large": Group(
        "veth pair, large frames",
        (
            TrafgenSend(),
            NodropGenerator("nodrop send", ports=(SEND_PORT,)),
            NodropGenerator("nodrop send+receive"),
            TestpmdSendReceive(),
            NodropGenerator("nodrop af_xdp send+receive", backend="af_xdp"),
            TestpmdXdpSendReceive(),
            _create_xdp_live(),
        ),
        LARGE_FRAME_BYTES,
    ),
    "both-ways": Group(
        "veth pair, both directions at once, rates added",
        (
            NodropGenerator("nodrop both ways", bidirectional=True),
            TestpmdBidirectional(),
            NodropGenerator("nodrop af_xdp both ways", backend="af_xdp", bidirectional=True),
            TestpmdXdpBidirectional(),
            _create_xdp_live("nodrop xdp_live both ways", bidirectional=True),
        ),
    ),
    "cost": Group(
        "CPU time per frame, without and with latency",
        (
            _create_in_memory("in memory, counting", 0),
            _create_in_memory("in memory, latency", EVERY_FRAME),
            NodropGenerator("af_packet, counting", latency_every=0),
            NodropGenerator("af_packet, latency", latency_every=EVERY_FRAME),
            _create_xdp_live("xdp_live, counting", latency_every=0),
            _create_xdp_live("xdp_live, latency", latency_every=EVERY_FRAME),
        ),
    ),
    "many": Group(
        "1 to 4096 streams of 256 flows, and one stream of 2^20 flows",
        (
            *_create_scaling_series("af_packet"),
            *_create_scaling_series("xdp_live"),
            *_create_null_scaling_series(),
        ),
    ),
}
"""Groups in the order of measurement and output."""
