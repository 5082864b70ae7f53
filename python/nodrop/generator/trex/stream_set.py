"""What a TRex server is given to send, and how each stream is told apart in its counters."""

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class PortStreams:
    """The streams of a port of TRex."""

    number: int
    """TRex's number of the port."""
    streams: tuple[Json, ...]
    """Parameters of `add_stream`, `stream_id` and `stream`, in their order; port and handler are to be added."""
    load_ratio: float
    """Part of the load that this port sends: the sum of its streams' rates in frames per second, latency streams apart.

    A multiplier `raw` of L sends L times this; all of a load of L where the port has no latency streams.
    """
    latency_load_pps: float
    """What its latency streams send, whatever the multiplier."""
    announcements: tuple[bytes, ...] = ()
    """Frames to be pushed before a trial: as streams they would be counted as the test's, where only ports are."""
    vxlan_ports: tuple[int, ...] = ()
    """UDP ports of VXLAN that TRex has to look into to count streams (port attribute `vxlan_fs`)."""

    def multiplier(self, load_pps: float) -> float:
        """What `raw` multiplies the streams with for this port to send its part of a load in all, latency included."""
        return max(load_pps - self.latency_load_pps / self.load_ratio, 0.0) if self.load_ratio else 0.0


@dataclass(frozen=True)
class FlowStatsIds:
    """How TRex counts a stream of the traffic."""

    pg_id: int | None
    """Its frames but those of latency; None: they count at the ports only."""
    latency_pg_id: int | None
    """Its latency stream, which sends at a load of its own; None: it has none."""
    latency_load_pps: float = 0.0
    """Of its latency stream."""


@dataclass(frozen=True)
class StreamSet:
    """What all ports send, and how it is counted."""

    ports: tuple[PortStreams, ...]
    """In the order of the tester's ports."""
    counted: tuple[FlowStatsIds, ...]
    """In the order of the traffic's streams."""
    notes: tuple[str, ...] = ()
    """What differs from what nodrop's own engine would send, each as a sentence."""
