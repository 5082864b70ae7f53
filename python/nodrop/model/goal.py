"""Goals of a search and their results (names after RFC 9971)."""

from enum import StrEnum

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.message import Message

OUT_OF_TIME = "out-of-time"
"""Code of the flag of a goal that the search did not find in time."""
REFUTED_LOWER = "refuted-lower-bound"
"""Code of the flag of a goal whose lower bound a latency trial refutes."""


class Goal(Value):
    """Criteria of the highest load to find (RFC 9971 Search Goal). None: the search's, see `SearchPlan.complete`."""

    label: str
    """By default NDR for loss ratio 0, else PDR."""
    loss_ratio: float = Field(ge=0, lt=1)
    """Share of the frames that a trial may lose and still count as low-loss (Goal Loss Ratio)."""
    exceed_ratio: float = Field(default=0.0, ge=0, lt=1)
    """Share of the duration sum that high-loss trials may take at a load that still counts as met (Goal Exceed
    Ratio)."""
    initial_trial_duration_s: float | None = Field(default=None, gt=0)
    """Duration of the shortest trials (Goal Initial Trial Duration)."""
    final_trial_duration_s: float | None = Field(default=None, gt=0)
    """Duration of a full-length trial (Goal Final Trial Duration)."""
    duration_sum_s: float | None = Field(default=None, gt=0)
    """Trial time that decides a load (Goal Duration Sum)."""
    width_ratio: float | None = Field(default=None, gt=0, lt=1)
    """(upper - lower) / upper of bounds that are close enough (Goal Width)."""

    def implies(self, other: "Goal") -> bool:
        """Whether a load that meets this goal also meets the other one, which allows more loss and no fewer trials."""
        return self.loss_ratio < other.loss_ratio and self.exceed_ratio <= other.exceed_ratio


class Flag(Message):
    """A fact that readers of a result have to know."""

    code: str


class Limit(StrEnum):
    """The reason why the load is not higher."""

    SUT = "sut"
    """The SUT lost more than the goal allows."""
    TESTER = "tester"
    """The tester could not send the load."""
    SHARED_CPU = "shared_cpu"
    """The SUT runs on the tester's CPU, so its overload appears as unsent frames."""
    MAX_LOAD = "max_load"
    """The goal is still met at the highest load allowed."""
    MIN_LOAD = "min_load"
    """The goal is not met even at the lowest load allowed."""
    UNKNOWN = "unknown"
    """The search ended without both bounds."""

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
    """Index of its trial in the run."""


class GoalResult(Value):
    """The bounds of one goal.

    A regular result has a lower bound that meets the goal and an upper bound that does not, no further apart than the
    goal width (RFC 9971 regular goal result).
    """

    goal: Goal
    lower: Bound | None
    upper: Bound | None
    regular: bool
    limit: Limit
    explanation: Message
    """Why the result ends where it does."""
    conditional_throughput_pps: float | None = None
    """Forwarding rate to expect at the lower bound (RFC 9971 Conditional Throughput); None: not available."""
    estimate_pps: float | None = None
    """Threshold according to a model of the SUT; None for searches without one."""
    estimate_sd_pps: float | None = None
    """Standard deviation of the estimate."""
    lower_error_probability: float | None = Field(default=None, ge=0, le=1)
    """Probability that most trials at the lower bound would not meet the goal."""
    upper_error_probability: float | None = Field(default=None, ge=0, le=1)
    """Probability that most trials at the upper bound would meet the goal."""
    loss_ratio_limit: float | None = Field(default=None, ge=0, le=1)
    """Upper 95 % confidence limit of the loss ratio at the lower bound (no loss in n frames: about 3 / n)."""
    flags: tuple[Flag, ...] = ()
    """Facts that the bounds do not show."""

    @property
    def is_resolved(self) -> bool:
        """Whether the goal was found as exactly as it requires: its bounds, a limit of the loads, or only an estimate.

        Searches for a mean rate have no bounds; any other estimate is that of a search that ran out of time.
        """
        is_late = any(flag.code == OUT_OF_TIME for flag in self.flags)
        is_estimated = self.estimate_pps is not None and not self.lower and not self.upper and not is_late
        return self.regular or is_estimated or self.limit in (Limit.MAX_LOAD, Limit.MIN_LOAD)

    @property
    def is_likely_too_high(self) -> bool:
        """Whether the goal is more likely missed than met at the lower bound.

        That is by the search's model of the SUT, or as a latency trial missed it, unless some trials may.
        """
        is_refuted = not self.goal.exceed_ratio and any(flag.code == REFUTED_LOWER for flag in self.flags)
        return is_refuted or (self.lower_error_probability or 0.0) > 0.5
