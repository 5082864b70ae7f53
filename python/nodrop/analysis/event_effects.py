"""Effects of the events of a trial on its streams: frames lost, gaps, and when each stream recovered.

Source: RFC 6412 sections 3.3 and 3.6; ETSI GS NFV-PER 001 clause C.1.2.2, whose t1 is the begin of an event, t2 and t4
the recovery of the first and of the last stream.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.model.trial import LossRun, StreamCounts, TrialResult
from nodrop.model.trial_event import TrialEvent


class StreamEffect(NamedTuple):
    """What one stream lost by an event."""

    stream: StreamCounts
    lost_count: int
    gap_s: float
    """Longest time between two arrivals around lost frames, or between the departures of these two frames; to the end
    of the trial if the stream did not recover."""
    gap_count: int
    """Times between two arrivals in which frames were lost."""
    recovered_s: float | None
    """Arrival of the first frame after the last lost one, in the trial's time; None: no further frame arrived."""


class EventEffect(NamedTuple):
    """What an event cost."""

    event: TrialEvent
    streams: tuple[StreamEffect, ...]
    """The streams that lost frames."""

    @property
    def lost_count(self) -> int:
        """Frames lost by all streams."""
        return sum(stream.lost_count for stream in self.streams)

    @property
    def is_recovered(self) -> bool:
        """Whether every stream recovered."""
        return all(stream.recovered_s is not None for stream in self.streams)

    @property
    def first_s(self) -> float | None:
        """Time from the event to the recovery of the first stream (first route convergence); None without any."""
        return min(self._list_recoveries_s(), default=None)

    @property
    def convergence_s(self) -> float | None:
        """Time from the event to the recovery of the last stream; None if a stream did not recover, or lost nothing."""
        return max(self._list_recoveries_s(), default=None) if self.is_recovered else None

    @property
    def gap_s(self) -> float | None:
        """Longest gap of a stream."""
        return max((stream.gap_s for stream in self.streams), default=None)

    def _list_recoveries_s(self) -> list[float]:
        return [each.recovered_s - self.event.begin_s for each in self.streams if each.recovered_s is not None]


def compute_event_effects(trial: TrialResult) -> tuple[EventEffect, ...]:
    """Return the effect of each event, in order. `count_earlier_losses` counts what belongs to none."""
    events = sorted(trial.events, key=lambda event: event.begin_s)
    caused: dict[int, dict[int, list[LossRun]]] = {position: {} for position in range(len(events))}
    for index, stream in enumerate(trial.streams):
        for run in stream.loss_timeline:
            position = _find_cause(run, events, trial.duration_s)
            if position is not None:
                caused[position].setdefault(index, []).append(run)
    return tuple(
        EventEffect(event, tuple(_iter_streams(trial, caused[position]))) for position, event in enumerate(events)
    )


def count_earlier_losses(trial: TrialResult) -> int:
    """Return the number of frames lost before the first event."""
    events = trial.events
    runs = [run for stream in trial.streams for run in stream.loss_timeline]
    return sum(run.count for run in runs if _find_cause(run, events, trial.duration_s) is None)


def _find_cause(run: LossRun, events: Sequence[TrialEvent], duration_s: float) -> int | None:
    """Return the position of the first event that overlaps a run of lost frames, else of the last one before it.

    Frames that a process holds when it is killed were sent before; a migration interrupts the traffic at its end.
    """
    begin_s = run.before.sent_ns / 1e9 if run.before else 0.0
    end_s = run.after.sent_ns / 1e9 if run.after else duration_s
    during = [position for position, event in enumerate(events) if event.begin_s <= end_s and event.end_s >= begin_s]
    before = [position for position, event in enumerate(events) if event.begin_s < begin_s]
    return during[0] if during else before[-1] if before else None


def _iter_streams(trial: TrialResult, caused: dict[int, list[LossRun]]) -> Iterator[StreamEffect]:
    for index, runs in caused.items():
        last = runs[-1].after
        yield StreamEffect(
            trial.streams[index],
            sum(run.count for run in runs),
            max(_compute_gap_s(run, trial.duration_s) for run in runs),
            len(runs),
            last.received_ns / 1e9 if last else None,
        )


def _compute_gap_s(run: LossRun, duration_s: float) -> float:
    """Return the gap of a run of lost frames. Frames that a paused guest holds arrive just before those after it."""
    before, after = run.before, run.after
    if before and after:
        return max(after.received_ns - before.received_ns, after.sent_ns - before.sent_ns) / 1e9
    begin_s = before.received_ns / 1e9 if before else 0.0
    return (after.received_ns / 1e9 if after else duration_s) - begin_s
