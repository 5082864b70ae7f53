"""A trial as a time series, from counter snapshots: frames sent, received and lost in each window. Pure.

A snapshot counts the frames sent and received by then. The difference is lost or in flight. During a trial only frames
are certainly lost that were sent longer ago than the time in flight and exceed everything received since. After the
trial the number of frames in flight is known, and with it the windows that the loss belongs to.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from nodrop.generator.trex.counters import Snapshot
from nodrop.model.traffic import Traffic
from nodrop.model.trial import Series, Windows

INDIVIDUAL_STREAMS_MAX = 16
"""Up to this number, each stream has a series of its own, as with nodrop's own engine; more are grouped by direction.
"""
Sums = tuple[int, ...]


@dataclass(frozen=True)
class CountSample:
    """Counts of each series at one time."""

    requested_s: float
    replied_s: float
    offered: Sums
    received: Sums

    @property
    def at_s(self) -> float:
        """Estimated time of the counts."""
        return (self.requested_s + self.replied_s) / 2


class Grouping:
    """Assignment of streams to series."""

    def __init__(self, traffic: Traffic, individual_max: int = INDIVIDUAL_STREAMS_MAX) -> None:
        alone = len(traffic.streams) <= individual_max
        of_stream = [
            Series(tx_port=each.tx_port, rx_port=each.rx_port, stream_id=each.stream_id if alone else None)
            for each in traffic.streams
        ]
        self.series = tuple(dict.fromkeys(of_stream))
        self.of_stream = tuple(self.series.index(each) for each in of_stream)

    def sums(self, counts: Sequence[int]) -> Sums:
        """Add up the counts of streams by series."""
        sums = [0] * len(self.series)
        for series, count in zip(self.of_stream, counts, strict=True):
            sums[series] += count
        return tuple(sums)

    def sample(self, snapshot: Snapshot) -> CountSample:
        """Return a snapshot's counts by series."""
        return CountSample(
            snapshot.requested_s, snapshot.replied_s, self.sums(snapshot.offered), self.sums(snapshot.received)
        )


@dataclass
class CertainLoss:
    """Frames certainly lost while a trial runs, if none is in flight for longer than `allowance_s`."""

    allowance_s: float
    count: int = 0
    first_s: float | None = None
    """Time of the first certain loss."""
    _samples: deque[CountSample] = field(default_factory=deque)

    def update(self, now: CountSample) -> None:
        """Add the latest counts."""
        self._samples.append(now)
        # The latest sample that was replied to long enough before this one was requested.
        while len(self._samples) > 1 and now.requested_s - self._samples[1].replied_s >= self.allowance_s:
            self._samples.popleft()
        then = self._samples[0]
        if now.requested_s - then.replied_s < self.allowance_s:
            return
        lost = sum(max(0, sent - back) for sent, back in zip(then.offered, now.received, strict=True))
        self.count = max(self.count, lost)
        if self.count and self.first_s is None:
            self.first_s = now.at_s


def build_windows(
    grouping: Grouping, samples: Sequence[CountSample], start_s: float, in_flight_count: Sums, lost: Sums
) -> Windows:
    """Return the trial by window.

    Args:
        grouping: the series.
        samples: at the ends of windows, in order; the last one covers all arrivals.
        start_s: time when the first frame was due.
        in_flight_count: frames in flight at once, by series.
        lost: lost frames by series.
    """
    columns = [
        _column(samples, series, in_flight_count[series], lost[series]) for series in range(len(grouping.series))
    ]
    return Windows(
        series=grouping.series,
        end_s=tuple(max(0.0, sample.at_s - start_s) for sample in samples),
        offered_count=tuple(offered for offered, _, _ in columns),
        received_count=tuple(received for _, received, _ in columns),
        lost_count=tuple(lost for _, _, lost in columns),
    )


def _column(samples: Sequence[CountSample], series: int, in_flight_count: int, lost: int) -> tuple[Sums, Sums, Sums]:
    offered = [sample.offered[series] for sample in samples]
    received = [sample.received[series] for sample in samples]
    return _steps(offered), _steps(received), _steps(cumulative_loss(offered, received, in_flight_count, lost))


def cumulative_loss(offered: Sequence[int], received: Sequence[int], in_flight_count: int, lost: int) -> list[int]:
    """Return the frames lost by the end of each window, given the number in flight and the total loss at the end.

    A lost frame stays lost: at no time more can be lost than were missing at a later time.
    """
    missing = [max(0, sent - back - in_flight_count) for sent, back in zip(offered[:-1], received[:-1], strict=True)]
    found = [lost]
    for count in reversed(missing):
        found.append(min(count, found[-1]))
    return found[::-1]


def _steps(counts: Sequence[int]) -> Sums:
    return tuple(now - before for now, before in zip(counts, [0, *counts[:-1]], strict=True))


def in_flight(samples: Sequence[CountSample]) -> Sums:
    """Return the number of frames in flight at once, by series: the highest number that arrived later than expected."""
    end = samples[-1]

    def at(sample: CountSample, series: int) -> int:
        return end.received[series] - sample.received[series] - (end.offered[series] - sample.offered[series])

    return tuple(max([0, *(at(sample, series) for sample in samples)]) for series in range(len(end.offered)))


def merge_short_last_window(found: Windows, sent_for_s: float, window_s: float) -> Windows:
    """Merge a last window in which hardly anything was sent into the one before."""
    while len(found.end_s) > 1 and sent_for_s - found.end_s[-2] < window_s / 2:
        found = found.replace(
            end_s=(*found.end_s[:-2], found.end_s[-1]),
            offered_count=tuple(map(_join, found.offered_count)),
            received_count=tuple(map(_join, found.received_count)),
            lost_count=tuple(map(_join, found.lost_count)),
        )
    return found


def _join(column: Sums) -> Sums:
    return (*column[:-2], column[-2] + column[-1])
