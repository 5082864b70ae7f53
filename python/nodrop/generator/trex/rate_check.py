"""Whether a port keeps to its timetable, from counters and the clock. Pure.

A TRex that cannot keep up sends every frame of a trial nevertheless, only later, and does not say so: a second's worth
may take four. How far it is behind shows in how many frames it should have sent by now.
"""

from dataclasses import dataclass

LATE_S = 0.010
"""Lateness that goes unremarked, as with nodrop's own engine."""
CATCH_UP_S = 0.020
"""What may be sent after the end, as with nodrop's own engine; the rest goes unsent."""


@dataclass
class PortSchedule:
    """The timetable of one port."""

    rate_pps: float
    duration_s: float
    parts: int = 1
    """Streams that each send a first frame at once, and may each send one more or less than their share."""
    start_requested_s: float = 0.0
    """Before this it cannot have begun."""
    start_s: float | None = None
    """When it began at the latest, as its counters have it; None before the first frame."""
    sent_count: int = 0
    behind_s: float = 0.0
    """The most it was behind, at least."""

    @property
    def due_count(self) -> int:
        """Frames of the whole trial."""
        return round(self.rate_pps * self.duration_s)

    @property
    def done(self) -> bool:
        """Whether all were sent."""
        return self.sent_count >= self.due_count

    @property
    def end_s(self) -> float | None:
        """When the last frame is due; None before the first was sent."""
        return None if self.start_s is None else self.start_s + self.duration_s

    @property
    def late_s(self) -> float:
        """How far it certainly fell behind, where that is remarkable; else 0."""
        rounding_s = self.parts / self.rate_pps if self.rate_pps else 0.0
        return self.behind_s if self.behind_s > LATE_S + rounding_s else 0.0

    def look(self, requested_s: float, replied_s: float, sent_count: int) -> None:
        """So many frames had been sent at some moment between the two."""
        if not sent_count or not self.rate_pps:
            return
        # A sender is never ahead of its timetable, so it cannot have begun later than its counts say.
        begun_s = max(replied_s - max(0, sent_count - self.parts) / self.rate_pps, self.start_requested_s)
        self.start_s = begun_s if self.start_s is None else min(self.start_s, begun_s)
        if sent_count < self.due_count - self.parts:  # once all was sent, nobody knows since when
            self.behind_s = max(self.behind_s, requested_s - self.start_s - sent_count / self.rate_pps)
        self.sent_count = sent_count

    def is_overdue(self, now_s: float, begin_max_s: float) -> bool:
        """Whether what has not left by now is to stay; one that sent nothing at all had `begin_max_s` to begin."""
        if self.end_s is None:
            return now_s > self.start_requested_s + self.duration_s + begin_max_s
        return now_s > self.end_s + CATCH_UP_S

    def is_missing(self, now_s: float) -> bool:
        """Whether so many frames are missing that it cannot have come to its end by itself."""
        end_s = self.end_s if self.end_s is not None else self.start_requested_s + self.duration_s
        return self.sent_count < self.due_count - self.parts and now_s < end_s - LATE_S
