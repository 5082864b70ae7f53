"""What a search looks for and what it found (names after RFC 9971)."""

from enum import StrEnum

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.message import Message


class Goal(Value):
    """What to find the highest load for (RFC 9971 Search Goal). What is None is the search's: `SearchPlan.complete`."""

    label: str
    """NDR for loss ratio 0, PDR otherwise, unless the user says different."""
    loss_ratio: float = Field(ge=0, lt=1)
    """Share of the frames that a trial may lose and still count as low-loss (Goal Loss Ratio)."""
    exceed_ratio: float = Field(default=0.0, ge=0, lt=1)
    """Share of the duration sum that high-loss trials may take at a load that still counts as met (Goal Exceed
    Ratio)."""
    initial_trial_duration_s: float | None = Field(default=None, gt=0)
    """Duration of the shortest trials (Goal Initial Trial Duration)."""
    final_trial_duration_s: float | None = Field(default=None, gt=0)
    """Duration from which on a trial counts as full-length (Goal Final Trial Duration)."""
    duration_sum_s: float | None = Field(default=None, gt=0)
    """Trial time that decides a load (Goal Duration Sum)."""
    width_ratio: float | None = Field(default=None, gt=0, lt=1)
    """(upper - lower) / upper at which the goal is found (Goal Width)."""


class Flag(Message):
    """A fact that readers of a result have to know."""

    code: str


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

    @property
    def is_tester(self) -> bool:
        """Whether the tester is the limit, so that the result says nothing about what the SUT can do."""
        return self in (Limit.TESTER, Limit.SHARED_CPU)

    @property
    def sut_may_exceed(self) -> bool:
        """Whether the SUT may forward more than the load measured: something else was the limit."""
        return self not in (Limit.SUT, Limit.MIN_LOAD)


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
    explanation: Message
    """Why the result ends where it does."""
    conditional_throughput_pps: float | None = None
    """Forwarding rate to expect at the lower bound (RFC 9971 Conditional Throughput); None where there is none."""
    estimate_pps: float | None = None
    """Where a model of the SUT sees the threshold; None for searches without one."""
    estimate_sd_pps: float | None = None
    """Standard deviation of the estimate."""
    lower_error_probability: float | None = Field(default=None, ge=0, le=1)
    """How likely the lower bound is misclassified: that most trials at its load would not meet the goal."""
    upper_error_probability: float | None = Field(default=None, ge=0, le=1)
    """How likely the upper bound is misclassified: that most trials at its load would meet the goal."""
    loss_ratio_limit: float | None = Field(default=None, ge=0, le=1)
    """Upper 95 % confidence limit of the loss ratio at the lower bound (no loss in n frames: about 3 / n)."""
    flags: tuple[Flag, ...] = ()
    """What the bounds alone do not say."""
