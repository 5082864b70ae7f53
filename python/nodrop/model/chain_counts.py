"""Frame counts and latency of each service chain, by direction."""

from collections.abc import Sequence

from nodrop.model.base import Value
from nodrop.model.latency import LatencyFigures, merge_latency
from nodrop.model.traffic import Stream, Traffic
from nodrop.model.trial import DirectionTimes, StreamCounts, TrialResult

ChainDirection = tuple[int, int, int]
"""Chain, sending and receiving port."""


class ChainCounts(Value):
    """The frames of one direction of a chain in one trial."""

    chain: int
    tx_port: int
    rx_port: int
    intended_count: int
    offered_count: int
    received_count: int
    latency: LatencyFigures | None
    """None if no frames arrived, or only the latency of several chains together is known."""

    @property
    def lost_count(self) -> int:
        """Frames sent but not received."""
        return self.offered_count - self.received_count

    @property
    def is_forward(self) -> bool:
        """Whether the direction is from left to right."""
        return self.tx_port < self.rx_port


def count_by_chain(traffic: Traffic, trial: TrialResult, percentiles: Sequence[float] = ()) -> tuple[ChainCounts, ...]:
    """Return counts and latency of every chain and direction, chain by chain, forward first.

    Args:
        traffic: the traffic of the trial.
        trial: the trial.
        percentiles: latency percentiles, 0 to 100.
    """
    streams = {stream.stream_id: stream for stream in traffic.streams}
    counts: dict[ChainDirection, list[StreamCounts]] = {}
    for counted in trial.streams:
        counts.setdefault(_get_direction(streams[counted.stream_id]), []).append(counted)
    times = _group_times(streams, trial.directions)
    return tuple(
        ChainCounts(
            chain=way[0],
            tx_port=way[1],
            rx_port=way[2],
            intended_count=sum(each.intended_count for each in counts[way]),
            offered_count=sum(each.offered_count for each in counts[way]),
            received_count=sum(each.received_count for each in counts[way]),
            latency=merge_latency(times.get(way, ()), percentiles),
        )
        for way in sorted(counts)
    )


def _group_times(
    streams: dict[int, Stream], directions: Sequence[DirectionTimes]
) -> dict[ChainDirection, list[DirectionTimes]]:
    """Return the latencies that belong to a single chain."""
    times_by_direction: dict[ChainDirection, list[DirectionTimes]] = {}
    for times in directions:
        ways = {
            _get_direction(stream)
            for stream in streams.values()
            if (stream.tx_port, stream.rx_port) == (times.tx_port, times.rx_port)
            and times.stream_id in (None, stream.stream_id)
        }
        if len(ways) == 1:
            times_by_direction.setdefault(ways.pop(), []).append(times)
    return times_by_direction


def _get_direction(stream: Stream) -> ChainDirection:
    return stream.chain, stream.tx_port, stream.rx_port
