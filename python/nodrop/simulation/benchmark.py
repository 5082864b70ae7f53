"""Benchmark of searches: repeated runs against the same simulated SUTs, and their errors."""

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
from nodrop.simulation.search_run import SimulatedSearch, simulate_search

OFF_RATIO = 0.01
"""A result with a larger relative error counts as off."""


class BenchmarkEntry(NamedTuple):
    """A named search."""

    name: str
    plan: SearchPlan
    make: Callable[[SearchPlan], Search] = create


class GoalError(Value):
    """The result of one search for one goal, and the truth."""

    label: str
    found_pps: float
    """The lower bound, or the estimate of a search without bounds; 0 without either."""
    truth_pps: float
    """For trials of the goal's final duration at the end of the search; limited to the highest load of the search, and
    0 below its lowest load."""

    @property
    def result_ratio(self) -> float:
        """The result divided by the truth; 1 if both are 0, 2 if only the truth is 0."""
        if not self.truth_pps:
            return 2.0 if self.found_pps else 1.0
        return self.found_pps / self.truth_pps


class BenchmarkRun(Value):
    """One run of a search against a SUT."""

    search: str
    sut: str
    seed: int
    trial_count: int
    traffic_s: float
    wall_s: float
    """Duration of the trials, plus the dead time after each."""
    out_of_time: bool
    goals: tuple[GoalError, ...]


class GoalScore(Value):
    """The errors of all runs for one goal."""

    label: str
    error_ratio: float
    """Median of (result - truth) / truth."""
    low_ratio: float
    """5 % quantile of result / truth."""
    high_ratio: float
    """95 % quantile of result / truth."""
    off_ratio: float
    """Share of the runs more than 1 % off."""


class EntryScore(Value):
    """All runs of one search against one SUT: mean times, and the errors of every goal."""

    search: str
    sut: str
    attempt_count: int
    trial_count: float
    traffic_s: float
    wall_s: float
    out_of_time_ratio: float
    """Share of the runs that ended for lack of time."""
    goals: tuple[GoalScore, ...]


class Benchmark(Value):
    """All runs and their scores."""

    attempts: tuple[BenchmarkRun, ...]
    scores: tuple[EntryScore, ...]
    """Ordered by SUT, then by search."""


def run_benchmark(
    entries: Sequence[BenchmarkEntry],
    suts: Mapping[str, Callable[[int], Sut]],
    seeds: Sequence[int],
    process_count: int | None = None,
) -> Benchmark:
    """Run every search against every SUT, once for each seed.

    Args:
        entries: searches with distinct names.
        suts: by name, factories that create a SUT from a seed.
        seeds: one run each.
        process_count: number of worker processes; by default the number of CPUs.

    Raises: the error of a search or SUT that cannot be created, before any run.
    """
    for entry in entries:
        entry.make(entry.plan)
    for make_sut in suts.values():
        make_sut(seeds[0])
    tasks = [_Task(*task) for task in product(suts.items(), entries, seeds)]
    workers = process_count or len(os.sched_getaffinity(0))
    if workers == 1:
        runs = list(map(_run_task, tasks))
    else:
        with ProcessPoolExecutor(workers) as pool:
            runs = list(pool.map(_run_task, tasks, chunksize=max(1, len(seeds) // 4)))
    scores = (_score_entry(list(group)) for _, group in groupby(runs, key=lambda each: (each.sut, each.search)))
    return Benchmark(attempts=tuple(runs), scores=tuple(scores))


def compute_goal_errors(simulated: SimulatedSearch, plan: SearchPlan, sut: Sut) -> tuple[GoalError, ...]:
    """Return the result of a search for each goal, with the truth."""
    return tuple(
        GoalError(
            label=interval.goal.label,
            found_pps=_get_result_pps(interval),
            truth_pps=compute_true_pps(plan, interval.goal, sut, simulated.wall_s),
        )
        for interval in simulated.intervals
    )


def compute_true_pps(plan: SearchPlan, goal: Goal, sut: Sut, at_s: float) -> float:
    """Return the truth for a goal, within the loads of the search."""
    final_s = plan.complete(goal).final_trial_duration_s
    assert final_s
    truth_pps = min(sut.truth_pps(goal.loss_ratio, final_s, at_s), plan.max_load_pps)
    return truth_pps if truth_pps >= plan.min_load_pps else 0.0


class _Task(NamedTuple):
    sut: tuple[str, Callable[[int], Sut]]
    entry: BenchmarkEntry
    seed: int


def _run_task(task: _Task) -> BenchmarkRun:
    name, make_sut = task.sut
    sut, plan = make_sut(task.seed), task.entry.plan
    simulated = simulate_search(plan, sut, make=task.entry.make)
    return BenchmarkRun(
        search=task.entry.name,
        sut=name,
        seed=task.seed,
        trial_count=len(simulated.trials),
        traffic_s=simulated.traffic_s,
        wall_s=simulated.wall_s,
        out_of_time=simulated.out_of_time,
        goals=compute_goal_errors(simulated, plan, sut),
    )


def _get_result_pps(interval: Interval) -> float:
    lower_pps = interval.lower_load_pps if interval.lower_valid else None
    return lower_pps or interval.estimate_pps or 0.0


def _score_entry(runs: list[BenchmarkRun]) -> EntryScore:
    by_goal = zip(*(each.goals for each in runs), strict=True)
    return EntryScore(
        search=runs[0].search,
        sut=runs[0].sut,
        attempt_count=len(runs),
        trial_count=fmean(each.trial_count for each in runs),
        traffic_s=fmean(each.traffic_s for each in runs),
        wall_s=fmean(each.wall_s for each in runs),
        out_of_time_ratio=fmean(each.out_of_time for each in runs),
        goals=tuple(_build_goal_score(each) for each in by_goal),
    )


def _build_goal_score(errors: tuple[GoalError, ...]) -> GoalScore:
    ratios = sorted(each.result_ratio for each in errors)
    return GoalScore(
        label=errors[0].label,
        error_ratio=median(ratios) - 1,
        low_ratio=_compute_quantile(ratios, 0.05),
        high_ratio=_compute_quantile(ratios, 0.95),
        off_ratio=fmean(abs(ratio - 1) > OFF_RATIO for ratio in ratios),
    )


def _compute_quantile(ascending: list[float], share: float) -> float:
    """Return the smallest value not exceeded by at least this share of the values."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)]
