"""The one interface of all observers."""

from typing import Protocol

from nodrop.model.trial import TrialResult


class Observer(Protocol):
    """Looks at the host right before and right after a trial, never within it."""

    def before(self) -> None:
        """A trial is about to start."""

    def after(self, result: TrialResult) -> TrialResult:
        """It is over: the result with what was seen. Never raises."""
