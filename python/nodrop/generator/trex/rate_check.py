"""Check that a port keeps its schedule, from counters and the clock. Pure.

A TRex that cannot keep up still sends every frame of a trial, only later, without saying so: frames for one second may
take four. The number of frames that should have been sent by now shows the delay.
"""

from dataclasses import dataclass

LATE_S = 0.010
"""Highest lateness without a doubt, as with nodrop's own engine."""
CATCH_UP_S = 0.020
"""Time after the end for sending what is overdue, as with nodrop's own engine; later frames stay unsent."""


@dataclass
class PortSchedule:
    """The schedule of one port."""

    rate_pps: float
    duration_s: float
    parts: int = 1
    """Streams times sending cores: each sends its first frame at once, and its count may be off by one."""
    start_requested_s: float = 0.0
    """Time of the start request; sending cannot have begun earlier."""
    start_s: float | None = None
    """Latest possible time of the first frame, from its counters; None before the first frame."""
    sent_count: int = 0
    behind_s: float = 0.0
    """Highest observed delay, a lower bound."""

    @property
    def due_count(self) -> int:
        """Frames of the whole trial."""
        return round(self.rate_pps * self.duration_s)

    @property
    def done(self) -> bool:
        """Whether all frames were sent."""
        return self.sent_count >= self.due_count

    @property
    def end_s(self) -> float | None:
        """Time when the last frame is due; None before the first frame."""
        return None if self.start_s is None else self.start_s + self.duration_s

    @property
    def late_s(self) -> float:
        """How far it certainly fell behind; 0 if not noteworthy."""
        rounding_s = self.parts / self.rate_pps if self.rate_pps else 0.0
        return self.behind_s if self.behind_s > LATE_S + rounding_s else 0.0

    def update(self, requested_s: float, replied_s: float, sent_count: int) -> None:
        """Record that `sent_count` frames had been sent at some time between the two."""
        if not sent_count or not self.rate_pps:
            return
        # A sender is never ahead of its schedule, so it began no later than its count implies.
        begun_s = max(replied_s - max(0, sent_count - self.parts) / self.rate_pps, self.start_requested_s)
        self.start_s = begun_s if self.start_s is None else min(self.start_s, begun_s)
        if sent_count < self.due_count - self.parts:  # a complete count does not tell when sending ended
            self.behind_s = max(self.behind_s, requested_s - self.start_s - sent_count / self.rate_pps)
        self.sent_count = sent_count

    def is_overdue(self, now_s: float, begin_max_s: float) -> bool:
        """Return whether unsent frames are given up; a port that sent nothing had `begin_max_s` to begin."""
        if self.end_s is None:
            return now_s > self.start_requested_s + self.duration_s + begin_max_s
        return now_s > self.end_s + CATCH_UP_S

    def is_missing(self, now_s: float) -> bool:
        """Return whether too many frames are missing for a regular end."""
        end_s = self.end_s if self.end_s is not None else self.start_requested_s + self.duration_s
        return self.sent_count < self.due_count - self.parts and now_s < end_s - LATE_S
