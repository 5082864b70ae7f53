"""The interface of all observers."""

from typing import Protocol

from nodrop.model.trial import TrialResult


class Observer(Protocol):
    """Reads the host's state right before and right after a trial, never during it."""

    def begin_trial(self) -> None:
        """Prepare for a trial that is about to start."""

    def end_trial(self, result: TrialResult) -> TrialResult:
        """Return the trial's result with the observations added. Never raises."""
