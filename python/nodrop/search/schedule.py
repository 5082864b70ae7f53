"""What MLRsearch settles before its first trial: whether it can search at all, for which ratios, in which phases."""

import math
from collections.abc import Callable
from typing import NamedTuple

from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan


class PhasePlan(NamedTuple):
    """Duration and width goal of one phase."""

    duration_s: float
    width_goal: float


def schedule(plan: SearchPlan, doubled: Callable[[float], float]) -> list[PhasePlan]:
    """The phases after the initial one: durations in geometric steps, each width goal twice the following one's.

    Worked out from the last to the first, so that the last has exactly the duration and the width asked for.

    Args:
        plan: what is asked for.
        doubled: twice a width, in the arithmetic of the search.
    """
    initial_s = plan.initial_trial_duration_s
    phases = [PhasePlan(plan.final_trial_duration_s, plan.width_ratio)]
    for count in range(plan.intermediate_phases, 0, -1):
        later = phases[0]
        duration_s = initial_s * math.pow(later.duration_s / initial_s, (count - 1) / count)
        phases.insert(0, PhasePlan(duration_s, doubled(later.width_goal)))
    return phases


def one_per_ratio(goals: tuple[Goal, ...]) -> tuple[Goal, ...]:
    """The goals by rising loss ratio, the first of each ratio; goals of one ratio share their bounds."""
    by_ratio = {goal.loss_ratio: goal for goal in reversed(goals)}
    return tuple(by_ratio[ratio] for ratio in sorted(by_ratio))
