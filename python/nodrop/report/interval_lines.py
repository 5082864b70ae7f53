"""Lines with the frames sent, received and lost in each interval of a trial at a fixed rate."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from nodrop.formatting import format_small_ratio
from nodrop.model.event import Event, RunStarted, TrialDone, TrialProgress, TrialStarted
from nodrop.model.trial import WINDOW_S
from nodrop.units import format_count


class _Counts(NamedTuple):
    """Counts since the start of the trial."""

    elapsed_s: float = 0.0
    offered_count: int = 0
    received_count: int = 0
    lost_count: int = 0


class IntervalLines:
    """Turns events of a run into lines, if the plan requests intervals."""

    def __init__(self) -> None:
        self._interval_s: float | None = None
        self._reported = _Counts()
        self._due_s = 0.0
        self._index: int | None = None

    def handle(self, event: Event) -> Iterator[str]:
        """Yield the line due after an event, if any."""
        match event:
            case RunStarted():
                self._interval_s = event.plan.interval_s if event.plan.fixed else None
            case TrialStarted() if self._interval_s:
                self._reported, self._due_s, self._index = _Counts(), self._interval_s, event.index
            case TrialProgress() if self._interval_s and event.elapsed_s >= self._due_s - WINDOW_S / 2:
                passed = math.floor((event.elapsed_s + WINDOW_S / 2) / self._interval_s)
                self._due_s = (passed + 1) * self._interval_s
                yield self._format_line(
                    _Counts(event.elapsed_s, event.offered_count, event.received_count, event.lost_count)
                )
            case TrialDone() if self._interval_s:
                result = event.result
                if (
                    self._reported.offered_count < result.offered_count
                    or self._reported.lost_count != result.lost_count
                ):
                    yield self._format_line(
                        _Counts(result.duration_s, result.offered_count, result.received_count, result.lost_count)
                    )

    def _format_line(self, now: _Counts) -> str:
        """Return a line; frames in flight count as neither received nor lost."""
        before, self._reported = self._reported, now
        sent_count = now.offered_count - before.offered_count
        lost_count = now.lost_count - before.lost_count
        ratio = lost_count / sent_count if sent_count else 0.0
        return (
            f"{now.elapsed_s:6.1f} s: sent {format_count(sent_count)}, "
            f"received {format_count(now.received_count - before.received_count)}, "
            f"dropped {format_count(lost_count)} ({format_small_ratio(ratio)}); "
            f"since the start {format_count(now.lost_count)} of {format_count(now.offered_count)} dropped"
        )
