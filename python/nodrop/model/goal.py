"""What a search looks for and what it found (names after RFC 9971)."""

from enum import StrEnum

from pydantic import Field

from nodrop.model.base import Value


class Goal(Value):
    """A loss ratio to find the highest load for."""

    label: str
    """NDR for loss ratio 0, PDR otherwise, unless the user says different."""
    loss_ratio: float = Field(ge=0, lt=1)


class Limit(StrEnum):
    """What kept the load from going higher."""

    SUT = "sut"
    """The SUT lost more than the goal allows."""
    TESTER = "tester"
    """The tester could not send the load."""
    SHARED_CPU = "shared_cpu"
    """The SUT's work runs on the tester's CPU, so its overload shows as frames that were never sent."""
    MAX_LOAD = "max_load"
    """The goal is still met at the highest load allowed."""
    MIN_LOAD = "min_load"
    """The goal is not met even at the lowest load allowed."""
    UNKNOWN = "unknown"
    """The search ended before it had both bounds."""


class Bound(Value):
    """A measured load that bounds a goal."""

    load_pps: float
    """Intended load, aggregate."""
    loss_ratio: float
    duration_s: float
    trial_index: int
    """Which trial of the run measured it."""


class GoalResult(Value):
    """The bounds of one goal.

    Regular means: a lower bound that meets the goal and an upper bound that does not, no further apart than the
    width asked for (RFC 9971 regular goal result).
    """

    goal: Goal
    lower: Bound | None
    upper: Bound | None
    regular: bool
    limit: Limit
    explanation: str
    """Why the result ends where it does, as a sentence."""
