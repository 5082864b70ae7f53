"""The streams of a TRex server, and the assignment of its flow statistics counters to them."""

from dataclasses import dataclass
from typing import Any

from nodrop.errors import GeneratorError
from nodrop.model.layer import Ethernet, IcmpEcho, Ipv4, Ipv6, Layer, Tcp, Udp, Vlan, Vxlan
from nodrop.model.traffic import Stream, Traffic
from nodrop.model.trex import TrexPlan

Json = dict[str, Any]
LATENCY_STREAMS_MAX = 128
"""Limit of a server for all its ports together."""
TAGS_MAX = 2
FIRST = 1


@dataclass(frozen=True)
class PortStreams:
    """The streams of one port."""

    number: int
    """TRex's number of the port."""
    streams: tuple[Json, ...]
    """Parameters of `add_stream`, `stream_id` and `stream`, in their order, without port and handler."""
    load_ratio: float
    """Share of the load that this port sends: the sum of its streams' rates in frames per second, without latency
    streams.

    A multiplier `raw` of L sends L times this, which is all of a load of L if the port has no latency streams.
    """
    latency_load_pps: float
    """Load of its latency streams, independent of the multiplier."""
    announcements: tuple[bytes, ...] = ()
    """Frames to push before a trial: sent as streams, port counters would count them as test frames."""

    def multiplier(self, load_pps: float) -> float:
        """Return the `raw` multiplier with which this port sends its share of a load, latency streams included.

        1 for a port that only announces addresses, which no multiplier scales; 0 without streams.
        """
        if not self.load_ratio:
            return float(bool(self.streams))
        return max(load_pps - self.latency_load_pps / self.load_ratio, 0.0)


@dataclass(frozen=True)
class FlowStatsIds:
    """Counter ids of a stream of the traffic."""

    pg_id: int | None
    """Of its frames except latency frames; None: counted by port only."""
    latency_pg_id: int | None
    """Of its latency stream, which has a load of its own; None: no latency stream."""
    latency_load_pps: float = 0.0
    """Of its latency stream."""


@dataclass(frozen=True)
class StreamSet:
    """The streams of all ports and their counter ids."""

    ports: tuple[PortStreams, ...]
    """In the order of the tester's ports."""
    counted: tuple[FlowStatsIds, ...]
    """In the order of the traffic's streams."""
    notes: tuple[str, ...] = ()
    """Differences to what nodrop's own engine would send, one sentence each."""


def assign_ids(traffic: Traffic, plan: TrexPlan, counter_count: int) -> tuple[FlowStatsIds, ...]:
    """Assign counter ids to streams, in their order; ids are unique across ports and chains.

    Args:
        traffic: the streams.
        plan: the settings of TRex.
        counter_count: streams that the server's ports can count individually.

    Raises: GeneratorError if the counters do not suffice.
    """
    is_counted = plan.flow_stats and not plan.service_mode
    counted = [stream for stream in traffic.streams if is_counted and is_countable(stream)]
    timed = [stream for stream in counted if measures_latency(stream, plan)]
    _check(len(counted), len(timed), counter_count)
    numbers = {stream.stream_id: FIRST + at for at, stream in enumerate(counted)}
    latency = {stream.stream_id: FIRST + len(counted) + at for at, stream in enumerate(timed)}
    return tuple(
        FlowStatsIds(
            pg_id=numbers.get(stream.stream_id),
            latency_pg_id=latency.get(stream.stream_id),
            latency_load_pps=plan.latency_load_pps if stream.stream_id in latency else 0.0,
        )
        for stream in traffic.streams
    )


def measures_latency(stream: Stream, plan: TrexPlan) -> bool:
    """Return whether a stream's latency is measured; echo requests are excluded, as their checksum covers the mark."""
    return (
        plan.latency_load_pps > 0
        and stream.chain in plan.latency_chains
        and not isinstance(stream.layers[-1], IcmpEcho)
    )


def is_countable(stream: Stream) -> bool:
    """Whether TRex finds its mark in a stream's frames: in an IP header behind two tags at most, in VXLAN the inner.

    Labels, GRE and what is no IP are counted at the ports only; so are flow labels that change, where the mark goes.
    """
    inner = inner_layers(stream)
    behind = [layer for layer in inner if not isinstance(layer, Vlan)]
    tags = len(inner) - len(behind)
    if any(part.field == "flow_label" for part in stream.ranges) or tags > TAGS_MAX or len(behind) != 3:
        return False
    ethernet, ip, transport = behind
    return (
        isinstance(ethernet, Ethernet) and isinstance(ip, Ipv4 | Ipv6) and isinstance(transport, Udp | Tcp | IcmpEcho)
    )


def vxlan_port(stream: Stream) -> int | None:
    """Return the UDP port of the tunnel around a stream's frames; None without a tunnel."""
    for layer, behind in zip(stream.layers, stream.layers[1:], strict=False):
        if isinstance(layer, Udp) and isinstance(behind, Vxlan):
            return layer.dst_port
    return None


def inner_layers(stream: Stream) -> list[Layer]:
    """Return the headers inside the tunnel, or all headers without one."""
    layers = list(stream.layers)
    tunnel = next((at for at, layer in enumerate(layers) if isinstance(layer, Vxlan)), None)
    return layers if tunnel is None else layers[tunnel + 1 :]


def _check(counted: int, timed: int, counter_count: int) -> None:
    if counted > counter_count:
        raise GeneratorError(
            f"trex.flow_stats: {counted} streams exceed the {counter_count} counters of TRex's ports; use fewer "
            "chains, or set trex.flow_stats: false to count by port only"
        )
    if timed > LATENCY_STREAMS_MAX:
        raise GeneratorError(
            f"trex: latency of {timed} streams exceeds TRex's limit of {LATENCY_STREAMS_MAX}; measure the latency of "
            "fewer chains"
        )
