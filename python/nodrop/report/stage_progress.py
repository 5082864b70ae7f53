"""The progress of a slow stage as lines of text."""

from nodrop.model.event import StageProgress

LINES_MAX = 10
"""The number of lines for all steps of a stage."""


def format_stage_step(event: StageProgress) -> str:
    """Return a step with its number: `server nodrop-vm-3 is ACTIVE (7 of 12)`."""
    return f"{event.text} ({event.done_count} of {event.count})" if event.count else event.text


class StageLineFilter:
    """Selects the events of a stage worth a line: all messages, and evenly spaced steps."""

    def __init__(self) -> None:
        self._part = -1
        self._done_count = 0

    def select_line(self, event: StageProgress) -> str | None:
        """Return the line of an event; None for a step between two lines."""
        is_step = event.count > 0 and event.done_count != self._done_count
        if event.done_count < self._done_count:  # the stage starts again or rolls back
            self._part = -1
        self._done_count = event.done_count
        if not is_step:
            return format_stage_step(event)
        part = event.done_count * LINES_MAX // event.count
        if part == self._part and event.done_count < event.count:
            return None
        self._part = part
        return format_stage_step(event)
