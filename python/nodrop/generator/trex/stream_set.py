"""The streams of a TRex server and their counter ids."""

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


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
    vxlan_ports: tuple[int, ...] = ()
    """UDP ports of VXLAN that TRex must parse to count streams (port attribute `vxlan_fs`)."""

    def multiplier(self, load_pps: float) -> float:
        """Return the `raw` multiplier with which this port sends its share of a load, latency streams included."""
        return max(load_pps - self.latency_load_pps / self.load_ratio, 0.0) if self.load_ratio else 0.0


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
