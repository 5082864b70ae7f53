"""A trial with events that change the path, and events that change it back."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from nodrop.model.trial_event import PlannedEvent


class TwoWayTrial(NamedTuple):
    """The times of a trial: steady, the events, time to settle, and the same for the way back."""

    events: tuple[str, ...]
    """Of both ways, as in `trial_events`."""
    back_s: float
    """Begin of the way back; the end of the trial without one."""
    duration_s: float

    def make_settings(self) -> dict[str, Any]:
        """Return the configuration keys of a run with this trial."""
        return {"duration": self.duration_s, "trial_events": list(self.events)}


def schedule_two_ways(
    there: Sequence[PlannedEvent], back: Sequence[PlannedEvent], steady_s: float, settle_s: float
) -> TwoWayTrial:
    """Return the trial.

    Args:
        there: events of the change; their times count from the first.
        back: events of the way back, likewise; may be empty.
        steady_s: time before the first event.
        settle_s: time after the last event of each way.
    """
    back_s = steady_s + _find_last_s(there) + settle_s
    texts = (
        *(event.write(event.at_s + steady_s) for event in there),
        *(event.write(event.at_s + back_s) for event in back),
    )
    return TwoWayTrial(texts, back_s, back_s + _find_last_s(back) + settle_s if back else back_s)


def _find_last_s(events: Sequence[PlannedEvent]) -> float:
    return max((event.at_s for event in events), default=0.0)
