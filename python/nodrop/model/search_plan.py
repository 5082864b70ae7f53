"""The search of a plan: goals, bounds and durations."""

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.choices import AlgorithmName
from nodrop.model.goal import Goal

GOAL_ATTRIBUTE_SEARCHES: frozenset[AlgorithmName] = frozenset({"nodrop", "mlrsearch-rfc9971"})
"""Searches that heed all attributes of each goal; to the others a goal is a loss ratio."""


class SearchPlan(Value):
    """Goals, bounds and durations of the search."""

    algorithm: AlgorithmName
    goals: tuple[Goal, ...] = Field(min_length=1)
    min_load_pps: float = Field(gt=0)
    """Aggregate over all directions."""
    max_load_pps: float = Field(gt=0)
    """Aggregate over all directions."""
    initial_trial_duration_s: float = Field(gt=0)
    final_trial_duration_s: float = Field(gt=0)
    width_ratio: float = Field(gt=0, lt=1)
    """(upper - lower) / upper at which a goal is found."""
    intermediate_phases: int = Field(ge=0)
    expansion_coefficient: float = Field(gt=1)
    search_duration_max_s: float = Field(gt=0)
    """Time for the whole search, dead time included."""
    budgeted: bool = False
    """Whether that time is a budget: to have used it up is then a normal end, else it means the search has failed."""
    repeat_invalid: int = Field(ge=0)
    """How often an invalid trial is tried again before it is given up."""
    overhead_s: float = Field(default=0.5, ge=0)
    """Time a trial takes beside its sending, as far as a search reckons with it."""
    doublings: int = Field(default=1, ge=1)
    """mlrsearch-03: how often the width is doubled in an external search."""
    preceding_targets: int = Field(default=2, ge=0)
    """mlrsearch-rfc9971: coarser targets before the final one of each goal."""
    fail_fast: bool = False
    """mlrsearch-rfc9971: end the whole search when a goal fails at the lowest load."""
    joint: bool = True
    """binary: whether trials made for one goal count for the others."""
    verify_trial_count: int = Field(default=2, ge=1)
    """binary-loss-verification: trials at a load before its loss counts, the first included (TST 009 max(r))."""
    verify_lost_count: int | None = Field(default=None, ge=0)
    """binary-loss-verification: loss of so many frames or more is not verified (TST 009 z); None: always verified."""
    load_epsilon_ratio: float = Field(default=0.001, gt=0, lt=1)
    """nfvbench: share of the line rate, `max_load_pps`, at which the range is narrow enough."""
    trial_count: int = Field(default=10, ge=1)
    """mrr: trials at the highest load."""
    initial_count: int = Field(default=50, ge=0)
    """plrsearch: the first trial lasts as long as this many duration increments."""
    duration_increment_s: float = Field(default=0.1, gt=0)
    """plrsearch: how much longer each trial is than the one before."""
    earlier: tuple["EarlierGoal", ...] = ()
    """nodrop: what an earlier search of the same SUT found, to start from."""

    def complete(self, goal: Goal) -> Goal:
        """A goal with every attribute filled in: its own where it has one, the search's where not."""
        final_s = goal.final_trial_duration_s or self.final_trial_duration_s
        return goal.model_copy(
            update={
                "initial_trial_duration_s": goal.initial_trial_duration_s
                or min(self.initial_trial_duration_s, final_s),
                "final_trial_duration_s": final_s,
                "duration_sum_s": goal.duration_sum_s or final_s,
                "width_ratio": goal.width_ratio or self.width_ratio,
            }
        )


class EarlierGoal(Value):
    """A goal as an earlier result has it."""

    loss_ratio: float
    final_trial_duration_s: float
    lower_pps: float
    upper_pps: float
