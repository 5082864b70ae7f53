"""The interval of a goal if several trials at a load may decide it: bounds, conditional throughput, flags."""

from collections.abc import Mapping, Sequence

from nodrop.model.goal import Flag, Goal
from nodrop.search.base import Interval
from nodrop.search.classification import (
    Evidence,
    RelevantBounds,
    classify,
    compute_conditional_throughput,
    find_relevant_bounds,
)

TrialsAt = Mapping[float, Sequence[Evidence]]
"""All trials so far, by intended load in packets per second."""

ROUNDING = 1.0 + 1e-9
"""Rounding may increase the width between two bounds by this factor."""


def compute_goal_interval(
    goal: Goal,
    trials_at: TrialsAt,
    min_load_pps: float,
    max_load_pps: float,
    bounds: RelevantBounds[float] | None = None,
) -> Interval:
    """Return the relevant bounds of a goal; the lowest (highest) load measured replaces a missing one, invalid.

    Args:
        goal: with every attribute set.
        trials_at: all trials so far, for any goal.
        min_load_pps, max_load_pps: the loads allowed.
        bounds: the bounds, if the search has rules of its own; by default those of the trials.
    """
    bounds = bounds or find_relevant_bounds(trials_at, goal)
    low = bounds.lower if bounds.lower is not None else min(trials_at, default=None)
    high = bounds.upper if bounds.upper is not None else max(trials_at, default=None)
    throughput_pps = None
    if bounds.lower is not None and bounds.lower in trials_at:
        throughput_pps = compute_conditional_throughput(bounds.lower, trials_at[bounds.lower], goal)
    return Interval(
        goal=goal,
        lower_index=_find_representative_index(trials_at, low, goal),
        lower_load_pps=low,
        lower_valid=bounds.lower is not None,
        upper_index=_find_representative_index(trials_at, high, goal),
        upper_load_pps=high,
        upper_valid=bounds.upper is not None,
        final=all(
            load is not None and load in trials_at and not classify(trials_at[load], goal).undecided
            for load in (low, high)
        ),
        conditional_throughput_pps=throughput_pps,
        flags=_list_flags(goal, bounds, trials_at, min_load_pps, max_load_pps),
    )


def _find_representative_index(trials_at: TrialsAt, load_pps: float | None, goal: Goal) -> int | None:
    if load_pps is None or load_pps not in trials_at:
        return None
    return pick_representative(trials_at[load_pps], goal).trial_index


def pick_representative(trials: Sequence[Evidence], goal: Goal) -> Evidence:
    """Return the trial that represents a load: the last of the longest that agree with its classification."""
    result = classify(trials, goal)
    agreeing = trials
    if result.is_lower:
        agreeing = [trial for trial in trials if trial.loss_ratio <= goal.loss_ratio]
    elif result.is_upper:
        agreeing = [trial for trial in trials if trial.loss_ratio > goal.loss_ratio]
    return max(reversed(agreeing), key=lambda trial: trial.duration_s)


def _list_flags(
    goal: Goal, bounds: RelevantBounds[float], trials_at: TrialsAt, min_load_pps: float, max_load_pps: float
) -> tuple[Flag, ...]:
    lower, upper = bounds
    flags = []
    if upper == min_load_pps:
        flags.append(Flag.of("goal-lost", lowest_pps=upper))
    elif lower is None:
        flags.append(Flag.of("undecided-lower-bound"))
    if lower == max_load_pps:
        flags.append(Flag.of("met-at-max-load", load_pps=lower))
    elif upper is None:
        flags.append(Flag.of("undecided-upper-bound"))
    apart = (upper - lower) / upper if lower is not None and upper is not None else 0.0
    if goal.width_ratio and apart > goal.width_ratio * ROUNDING:
        flags.append(Flag.of("wide-interval", width_ratio=apart, goal_width_ratio=goal.width_ratio))
    if upper is not None and classify(trials_at.get(upper, ()), goal).full_high_s == 0:
        flags.append(Flag.of("short-upper-bound", load_pps=upper, full_s=goal.final_trial_duration_s))
    return tuple(flags)
