"""What was sent, received and lost since the line before, while a trial at a fixed rate runs."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from nodrop.formatting import format_small_ratio
from nodrop.model.event import Event, RunStarted, TrialDone, TrialProgress, TrialStarted
from nodrop.units import format_count

WINDOW_S = 0.05
"""Counts come about so often: a line is due when the next ones would come too late for it."""


class _Counts(NamedTuple):
    """Since the trial began."""

    elapsed_s: float = 0.0
    offered_count: int = 0
    received_count: int = 0
    lost_count: int = 0


class Intervals:
    """Lines from the events of a run; none unless the plan asks for them."""

    def __init__(self) -> None:
        self._interval_s: float | None = None
        self._told = _Counts()
        self._due_s = 0.0
        self._index: int | None = None

    def hear(self, event: Event) -> Iterator[str]:
        """The line that is due now, if any."""
        match event:
            case RunStarted():
                self._interval_s = event.plan.interval_s if event.plan.fixed else None
            case TrialStarted() if self._interval_s:
                self._told, self._due_s, self._index = _Counts(), self._interval_s, event.index
            case TrialProgress() if self._interval_s and event.elapsed_s >= self._due_s - WINDOW_S / 2:
                passed = math.floor((event.elapsed_s + WINDOW_S / 2) / self._interval_s)
                self._due_s = (passed + 1) * self._interval_s
                yield self._line(_Counts(event.elapsed_s, event.offered_count, event.received_count, event.lost_count))
            case TrialDone() if self._interval_s:
                result = event.result
                if self._told.offered_count < result.offered_count or self._told.lost_count != result.lost_count:
                    yield self._line(
                        _Counts(result.duration_s, result.offered_count, result.received_count, result.lost_count)
                    )

    def _line(self, now: _Counts) -> str:
        """Frames that are still on their way are neither received nor lost."""
        before, self._told = self._told, now
        sent_count = now.offered_count - before.offered_count
        lost_count = now.lost_count - before.lost_count
        ratio = lost_count / sent_count if sent_count else 0.0
        return (
            f"{now.elapsed_s:6.1f} s: sent {format_count(sent_count)}, "
            f"received {format_count(now.received_count - before.received_count)}, "
            f"dropped {format_count(lost_count)} ({format_small_ratio(ratio)}); "
            f"since the start {format_count(now.lost_count)} of {format_count(now.offered_count)} dropped"
        )
