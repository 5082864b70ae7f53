"""What each service chain did with its frames, each way."""

from collections.abc import Sequence

from nodrop.model.base import Value
from nodrop.model.latency import LatencyFigures, merge_latency
from nodrop.model.traffic import Stream, Traffic
from nodrop.model.trial import DirectionTimes, StreamCounts, TrialResult

ChainDirection = tuple[int, int, int]
"""Chain, sending and receiving port."""


class ChainCounts(Value):
    """The frames that were sent through one chain one way in one trial."""

    chain: int
    tx_port: int
    rx_port: int
    intended_count: int
    offered_count: int
    received_count: int
    latency: LatencyFigures | None
    """None where nothing arrived, or only that of several chains together is known."""

    @property
    def lost_count(self) -> int:
        """Frames that were sent and did not arrive."""
        return self.offered_count - self.received_count

    @property
    def is_forward(self) -> bool:
        """Whether they went from the left to the right."""
        return self.tx_port < self.rx_port


def count_by_chain(traffic: Traffic, trial: TrialResult, percentiles: Sequence[float] = ()) -> tuple[ChainCounts, ...]:
    """Counts and latency of every chain each way, chain by chain, forward first.

    Args:
        traffic: what was sent.
        trial: the trial.
        percentiles: those of the latency that are wanted, 0 to 100.
    """
    streams = {stream.stream_id: stream for stream in traffic.streams}
    counts: dict[ChainDirection, list[StreamCounts]] = {}
    for counted in trial.streams:
        counts.setdefault(_way(streams[counted.stream_id]), []).append(counted)
    times = _times(streams, trial.directions)
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


def _times(
    streams: dict[int, Stream], directions: Sequence[DirectionTimes]
) -> dict[ChainDirection, list[DirectionTimes]]:
    """The latencies that are of one chain alone."""
    found: dict[ChainDirection, list[DirectionTimes]] = {}
    for times in directions:
        ways = {
            _way(stream)
            for stream in streams.values()
            if (stream.tx_port, stream.rx_port) == (times.tx_port, times.rx_port)
            and times.stream_id in (None, stream.stream_id)
        }
        if len(ways) == 1:
            found.setdefault(ways.pop(), []).append(times)
    return found


def _way(stream: Stream) -> ChainDirection:
    return stream.chain, stream.tx_port, stream.rx_port
