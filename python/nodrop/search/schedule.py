"""What MLRsearch settles before its first trial: whether it can search at all, for which ratios, in which phases."""

import math
from collections.abc import Callable
from typing import NamedTuple

from nodrop.errors import ConfigError
from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.search.reason_text import load_text


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


def check(plan: SearchPlan) -> None:
    """Raises ConfigError for loads or durations that leave nothing to search."""
    if plan.min_load_pps > plan.max_load_pps:
        raise ConfigError(
            f"search: loads from {load_text(plan.min_load_pps)} to {load_text(plan.max_load_pps)} asked, "
            "which leaves none; make the maximum load at least the minimum load"
        )
    if plan.final_trial_duration_s < plan.initial_trial_duration_s:
        raise ConfigError(
            f"search: trials from {plan.initial_trial_duration_s:g} s to {plan.final_trial_duration_s:g} s asked, "
            "later ones shorter; make the final trial duration at least the initial one"
        )
