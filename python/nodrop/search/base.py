"""The one interface of all searches: ask for a trial, be told what came of it."""

from typing import Protocol

from nodrop.model.base import Value
from nodrop.model.goal import Goal
from nodrop.model.trial import Trial


class Outcome(Value):
    """What a search learns of a trial it asked for."""

    index: int
    """The trial's position in the run, so that bounds can point at it."""
    loss_ratio: float
    """Lost share in [0, 1], unsent frames included."""


class Interval(Value):
    """What a search knows of one goal: on either side the tightest valid bound of the longest trials that have one.

    A bound is valid when its effective loss ratio is on the right side of the goal's; invalid ones are the nearest
    load measured by the longest trials.
    """

    goal: Goal
    lower_index: int | None
    """Index of the trial that is the lower bound; None before there is any."""
    lower_load_pps: float | None
    lower_valid: bool
    upper_index: int | None
    upper_load_pps: float | None
    upper_valid: bool
    final: bool
    """Both bounds were measured at the final trial duration."""


class Search(Protocol):
    """A dialogue: `ask`, measure, `tell`, until `ask` gives None."""

    def ask(self) -> Trial | None:
        """The next trial wanted, the same one until it is told about; None when the search is over."""

    def tell(self, outcome: Outcome) -> None:
        """Answer the last `ask`."""

    def intervals(self) -> tuple[Interval, ...]:
        """One per goal, in the goals' order; may be asked at any time, also half-way."""
