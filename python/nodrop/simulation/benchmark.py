"""Searches compared: each against the same simulated SUTs, time and again, and how near it came to the truth."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby, product
from statistics import fmean, median
from typing import NamedTuple

from nodrop.model.base import Value
from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.search import create
from nodrop.search.base import Interval, Search
from nodrop.simulation import Sut
from nodrop.simulation.search_run import Simulated, simulate

OFF_RATIO = 0.01
"""A figure further than this from the truth is off."""


class Contender(NamedTuple):
    """A search under a name."""

    name: str
    plan: SearchPlan
    make: Callable[[SearchPlan], Search] = create


class Found(Value):
    """What one search says of one goal, and what is true."""

    label: str
    found_pps: float
    """The lower bound, or the estimate of a search without bounds; 0 where there is neither."""
    truth_pps: float
    """For trials of the goal's final duration, when the search ended: no more than the highest load it might try, and 0
    where it is less than the lowest."""

    @property
    def found_ratio(self) -> float:
        """Found to true; 1 where both are nothing, 2 where something was found and nothing is true."""
        if not self.truth_pps:
            return 2.0 if self.found_pps else 1.0
        return self.found_pps / self.truth_pps


class Attempt(Value):
    """One search against one SUT."""

    search: str
    sut: str
    seed: int
    trial_count: int
    traffic_s: float
    wall_s: float
    """Traffic and the dead time after each trial."""
    out_of_time: bool
    goals: tuple[Found, ...]


class GoalScore(Value):
    """How near the attempts came to the truth for one goal."""

    label: str
    error_ratio: float
    """Median of (found - truth) / truth."""
    low_ratio: float
    """5 % quantile of found / truth."""
    high_ratio: float
    """95 % quantile of found / truth."""
    off_ratio: float
    """Share of the attempts more than 1 % off."""


class Score(Value):
    """All attempts of one search at one SUT: means of the times, and every goal."""

    search: str
    sut: str
    attempt_count: int
    trial_count: float
    traffic_s: float
    wall_s: float
    out_of_time_ratio: float
    """Share of the attempts that would have gone on, had there been time."""
    goals: tuple[GoalScore, ...]


class Comparison(Value):
    """Everything that was tried, and what it comes to."""

    attempts: tuple[Attempt, ...]
    scores: tuple[Score, ...]
    """SUT by SUT, each with all searches."""


def compare(
    contenders: Sequence[Contender],
    suts: Mapping[str, Callable[[int], Sut]],
    seeds: Sequence[int],
    process_count: int | None = None,
) -> Comparison:
    """Let every search try every SUT once for each seed.

    Args:
        contenders: with names that differ.
        suts: by name, what makes one from a seed.
        seeds: one attempt each.
        process_count: how many attempts to make at a time; as many as there are CPUs, if not given.

    Raises: whatever keeps a search or a SUT from being made, before any other is tried.
    """
    for contender in contenders:
        contender.make(contender.plan)
    for make_sut in suts.values():
        make_sut(seeds[0])
    tasks = [_Task(*task) for task in product(suts.items(), contenders, seeds)]
    workers = process_count or len(os.sched_getaffinity(0))
    if workers == 1:
        attempts = list(map(_attempt, tasks))
    else:
        with ProcessPoolExecutor(workers) as pool:
            attempts = list(pool.map(_attempt, tasks, chunksize=max(1, len(seeds) // 4)))
    scores = (_score(list(group)) for _, group in groupby(attempts, key=lambda each: (each.sut, each.search)))
    return Comparison(attempts=tuple(attempts), scores=tuple(scores))


def found(simulated: Simulated, plan: SearchPlan, sut: Sut) -> tuple[Found, ...]:
    """What a search found, goal by goal, beside the truth."""
    return tuple(
        Found(
            label=interval.goal.label,
            found_pps=_found_pps(interval),
            truth_pps=true_pps(plan, interval.goal, sut, simulated.wall_s),
        )
        for interval in simulated.intervals
    )


def true_pps(plan: SearchPlan, goal: Goal, sut: Sut, at_s: float) -> float:
    """The truth about a goal as far as the search could see it."""
    final_s = plan.complete(goal).final_trial_duration_s
    assert final_s
    truth_pps = min(sut.truth_pps(goal.loss_ratio, final_s, at_s), plan.max_load_pps)
    return truth_pps if truth_pps >= plan.min_load_pps else 0.0


class _Task(NamedTuple):
    sut: tuple[str, Callable[[int], Sut]]
    contender: Contender
    seed: int


def _attempt(task: _Task) -> Attempt:
    name, make_sut = task.sut
    sut, plan = make_sut(task.seed), task.contender.plan
    simulated = simulate(plan, sut, make=task.contender.make)
    return Attempt(
        search=task.contender.name,
        sut=name,
        seed=task.seed,
        trial_count=len(simulated.trials),
        traffic_s=simulated.traffic_s,
        wall_s=simulated.wall_s,
        out_of_time=simulated.out_of_time,
        goals=found(simulated, plan, sut),
    )


def _found_pps(interval: Interval) -> float:
    lower_pps = interval.lower_load_pps if interval.lower_valid else None
    return lower_pps or interval.estimate_pps or 0.0


def _score(attempts: list[Attempt]) -> Score:
    by_goal = zip(*(attempt.goals for attempt in attempts), strict=True)
    return Score(
        search=attempts[0].search,
        sut=attempts[0].sut,
        attempt_count=len(attempts),
        trial_count=fmean(attempt.trial_count for attempt in attempts),
        traffic_s=fmean(attempt.traffic_s for attempt in attempts),
        wall_s=fmean(attempt.wall_s for attempt in attempts),
        out_of_time_ratio=fmean(attempt.out_of_time for attempt in attempts),
        goals=tuple(_goal_score(each) for each in by_goal),
    )


def _goal_score(founds: tuple[Found, ...]) -> GoalScore:
    ratios = sorted(each.found_ratio for each in founds)
    return GoalScore(
        label=founds[0].label,
        error_ratio=median(ratios) - 1,
        low_ratio=_quantile(ratios, 0.05),
        high_ratio=_quantile(ratios, 0.95),
        off_ratio=fmean(abs(ratio - 1) > OFF_RATIO for ratio in ratios),
    )


def _quantile(ascending: list[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)]
