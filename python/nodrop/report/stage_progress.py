"""How far a stage that takes its time is, in words."""

from nodrop.model.event import StageProgress

LINES = 10
"""Into how many parts the way is divided where each is a line of its own."""


def staging_text(event: StageProgress) -> str:
    """What it is about, and how far that is: `server nodrop-vm-3 is ACTIVE (7 of 12)`."""
    return f"{event.text} ({event.done_count} of {event.count})" if event.count else event.text


class Staging:
    """Which of a stage's steps are worth a line: what is no step, and of steps one in each part of the way."""

    def __init__(self) -> None:
        self._part = -1
        self._done_count = 0

    def line(self, event: StageProgress) -> str | None:
        """What to say; None for a step among many."""
        is_step = event.count > 0 and event.done_count != self._done_count
        if event.done_count < self._done_count:  # it begins again, or goes back
            self._part = -1
        self._done_count = event.done_count
        if not is_step:
            return staging_text(event)
        part = event.done_count * LINES // event.count
        if part == self._part and event.done_count < event.count:
            return None
        self._part = part
        return staging_text(event)
