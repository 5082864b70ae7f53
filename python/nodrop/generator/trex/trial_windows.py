"""A trial as a time series, from snapshots of counters: what was sent, received and lost in each window. Pure.

A snapshot says how many frames were sent and how many had come back by then. The difference is lost or still on its
way. While a trial runs only that much is certainly lost which was sent longer ago than frames stay on their way, and
that not even everything received since makes up for. Afterwards it is known how many frames were on their way in the
end, and so which windows the loss belongs to.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from nodrop.generator.trex.counters import Snapshot
from nodrop.model.traffic import Traffic
from nodrop.model.trial import Series, Windows

INDIVIDUAL_STREAMS_MAX = 16
"""Streams up to which each has a series of its own, as with nodrop's own engine; more are followed by direction."""
Sums = tuple[int, ...]


@dataclass(frozen=True)
class CountSample:
    """Counts of each series at some moment."""

    requested_s: float
    replied_s: float
    offered: Sums
    received: Sums

    @property
    def at_s(self) -> float:
        """When."""
        return (self.requested_s + self.replied_s) / 2


class Grouping:
    """Which streams are followed together."""

    def __init__(self, traffic: Traffic, individual_max: int = INDIVIDUAL_STREAMS_MAX) -> None:
        alone = len(traffic.streams) <= individual_max
        of_stream = [
            Series(tx_port=each.tx_port, rx_port=each.rx_port, stream_id=each.stream_id if alone else None)
            for each in traffic.streams
        ]
        self.series = tuple(dict.fromkeys(of_stream))
        self.of_stream = tuple(self.series.index(each) for each in of_stream)

    def sums(self, counts: Sequence[int]) -> Sums:
        """Counts of streams, added up by series."""
        sums = [0] * len(self.series)
        for series, count in zip(self.of_stream, counts, strict=True):
            sums[series] += count
        return tuple(sums)

    def look(self, snapshot: Snapshot) -> CountSample:
        """A snapshot by series."""
        return CountSample(
            snapshot.requested_s, snapshot.replied_s, self.sums(snapshot.offered), self.sums(snapshot.received)
        )


@dataclass
class CertainLoss:
    """Frames certainly lost while a trial runs, if none is on its way for longer than `allowance_s`."""

    allowance_s: float
    count: int = 0
    first_s: float | None = None
    """When there were any first."""
    _looks: deque[CountSample] = field(default_factory=deque)

    def look(self, now: CountSample) -> None:
        """Take in the latest counts."""
        self._looks.append(now)
        # The latest of the samples that were answered long enough before this one was asked for.
        while len(self._looks) > 1 and now.requested_s - self._looks[1].replied_s >= self.allowance_s:
            self._looks.popleft()
        then = self._looks[0]
        if now.requested_s - then.replied_s < self.allowance_s:
            return
        lost = sum(max(0, sent - back) for sent, back in zip(then.offered, now.received, strict=True))
        self.count = max(self.count, lost)
        if self.count and self.first_s is None:
            self.first_s = now.at_s


def build_windows(
    grouping: Grouping, samples: Sequence[CountSample], start_s: float, in_flight_count: Sums, lost: Sums
) -> Windows:
    """The trial window by window.

    Args:
        grouping: what a series is.
        samples: at the ends of windows, in order; the last one at everything that came back.
        start_s: when the first frame was due.
        in_flight_count: frames of each series on their way at once.
        lost: frames of each series that were lost.
    """
    columns = [
        _column(samples, series, in_flight_count[series], lost[series]) for series in range(len(grouping.series))
    ]
    return Windows(
        series=grouping.series,
        end_s=tuple(max(0.0, look.at_s - start_s) for look in samples),
        offered_count=tuple(offered for offered, _, _ in columns),
        received_count=tuple(received for _, received, _ in columns),
        lost_count=tuple(lost for _, _, lost in columns),
    )


def _column(samples: Sequence[CountSample], series: int, in_flight_count: int, lost: int) -> tuple[Sums, Sums, Sums]:
    offered = [look.offered[series] for look in samples]
    received = [look.received[series] for look in samples]
    return _steps(offered), _steps(received), _steps(cumulative_loss(offered, received, in_flight_count, lost))


def cumulative_loss(offered: Sequence[int], received: Sequence[int], in_flight_count: int, lost: int) -> list[int]:
    """Frames lost by the end of each window, given how many are on their way at any time, and how many are lost by the
    end of the last one, when none is on its way any more.

    What is lost stays lost: at no moment more can be lost than was missing at a later one.
    """
    missing = [max(0, sent - back - in_flight_count) for sent, back in zip(offered[:-1], received[:-1], strict=True)]
    found = [lost]
    for count in reversed(missing):
        found.append(min(count, found[-1]))
    return found[::-1]


def _steps(counts: Sequence[int]) -> Sums:
    return tuple(now - before for now, before in zip(counts, [0, *counts[:-1]], strict=True))


def in_flight(samples: Sequence[CountSample]) -> Sums:
    """Frames of each series on their way at once, at least: those that came in later though none was sent for them."""
    end = samples[-1]

    def at(look: CountSample, series: int) -> int:
        return end.received[series] - look.received[series] - (end.offered[series] - look.offered[series])

    return tuple(max([0, *(at(look, series) for look in samples)]) for series in range(len(end.offered)))


def merge_short_last_window(found: Windows, sent_for_s: float, window_s: float) -> Windows:
    """Without a last window in which hardly anything was sent: it would say nothing by itself."""
    while len(found.end_s) > 1 and sent_for_s - found.end_s[-2] < window_s / 2:
        found = found.model_copy(
            update={
                "end_s": (*found.end_s[:-2], found.end_s[-1]),
                "offered_count": tuple(map(_join, found.offered_count)),
                "received_count": tuple(map(_join, found.received_count)),
                "lost_count": tuple(map(_join, found.lost_count)),
            }
        )
    return found


def _join(column: Sums) -> Sums:
    return (*column[:-2], column[-2] + column[-1])
