"""The schedule of MLRsearch, fixed before its first trial: loss ratios and phases."""

import math
from collections.abc import Callable
from typing import NamedTuple

from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan


class PhasePlan(NamedTuple):
    """Duration and width goal of one phase."""

    duration_s: float
    width_goal: float


def build_schedule(plan: SearchPlan, doubled: Callable[[float], float]) -> list[PhasePlan]:
    """Return the phases after the initial one: durations in geometric steps, each width goal twice the next.

    Computed from the last to the first, so that the last has exactly the required duration and width.

    Args:
        plan: the plan of the search.
        doubled: doubles a width, in the arithmetic of the search.
    """
    initial_s = plan.initial_trial_duration_s
    phases = [PhasePlan(plan.final_trial_duration_s, plan.width_ratio)]
    for count in range(plan.intermediate_phases, 0, -1):
        later = phases[0]
        duration_s = initial_s * math.pow(later.duration_s / initial_s, (count - 1) / count)
        phases.insert(0, PhasePlan(duration_s, doubled(later.width_goal)))
    return phases


def pick_one_per_ratio(goals: tuple[Goal, ...]) -> tuple[Goal, ...]:
    """Return the first goal of each loss ratio, in ascending order; goals of one ratio share their bounds."""
    by_ratio = {goal.loss_ratio: goal for goal in reversed(goals)}
    return tuple(by_ratio[ratio] for ratio in sorted(by_ratio))
