"""A goal as a chain of targets, each with less evidence and wider bounds than the next; the last is the goal itself.

Source: MLRsearch 1.2.1, target scaling.
"""

from collections.abc import Iterable
from typing import NamedTuple

from nodrop.errors import ConfigError
from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.search.load_grid import LoadGrid


class Target(NamedTuple):
    """One stage of a goal."""

    goal: Goal
    """The goal with the durations of this stage, for the classification of loads."""
    trial_s: float
    """Duration of its trials."""
    width: int
    """Distance of its bounds that is narrow enough, in steps of the grid."""


Chain = tuple[Target, ...]
"""The targets of one goal, the coarsest first."""


def build_chain(goal: Goal, preceding_count: int, grid: LoadGrid) -> Chain:
    """Return all targets of a goal.

    Each preceding one has twice the width of the next. The duration sums rise in geometric steps from the
    initial trial duration to the goal's own sum; a trial lasts as long as the sum, or the final trial duration if less.

    Args:
        goal: with every attribute set.
        preceding_count: number of coarser targets before the goal itself.
        grid: converts the width to steps.
    """
    initial_s, final_s, sum_s, width_ratio = _list_attributes(goal)
    width = grid.width(width_ratio)
    targets = [Target(goal, final_s, width)]
    shrink = (initial_s / sum_s) ** (1.0 / preceding_count) if preceding_count else 1.0
    for position in range(1, preceding_count + 1):
        # The first target's sum is exact, despite the rounding of powers.
        coarser_sum_s = initial_s if position == preceding_count else sum_s * shrink**position
        trial_s = min(final_s, coarser_sum_s)
        width = grid.clamp(2 * width)
        coarser = goal.replace(final_trial_duration_s=trial_s, duration_sum_s=coarser_sum_s)
        targets.insert(0, Target(coarser, trial_s, width))
    return tuple(targets)


def _list_attributes(goal: Goal) -> tuple[float, float, float, float]:
    """Return initial and final trial duration, duration sum and width of a complete goal."""
    initial_s, final_s, sum_s = goal.initial_trial_duration_s, goal.final_trial_duration_s, goal.duration_sum_s
    if initial_s is None or final_s is None or sum_s is None or goal.width_ratio is None:
        raise ValueError(f"{goal.label}: a goal without attributes; complete it with SearchPlan.complete")
    return initial_s, final_s, sum_s, goal.width_ratio


def check_targets(plan: SearchPlan, goals: Iterable[Goal]) -> None:
    """Raise ConfigError for a plan that targets cannot carry out.

    Args:
        plan: the loads and the numbers.
        goals: with every attribute set.
    """
    plan.check()
    if plan.expansion_coefficient < 2 or plan.expansion_coefficient != int(plan.expansion_coefficient):
        raise ConfigError(
            f"search.expansion_coefficient: {plan.expansion_coefficient:g} is not a whole number of at least 2, by "
            "which mlrsearch-rfc9971 multiplies widths; set it to 2, 3, 4 or more"
        )
    for goal in goals:
        initial_s, _, sum_s, _ = _list_attributes(goal)
        if plan.preceding_targets == 0 and initial_s < sum_s:
            raise ConfigError(
                f"search.preceding_targets: 0 leaves {goal.label} no way from trials of {initial_s:g} s to a duration "
                f"sum of {sum_s:g} s; set it to at least 1, or set the initial trial duration to {sum_s:g} s"
            )
