"""Searches against simulated SUTs on a virtual clock: hundreds of searches per minute, with known truth."""

import itertools
import operator
from collections.abc import Callable, Iterator
from itertools import count
from typing import NamedTuple

from nodrop.model.goal import Flag
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Interval, Outcome, Sample, Search, list_forwarding_rates
from nodrop.simulation.offer import offer_trial
from nodrop.simulation.sut import Sut


class SimulatedSearch(NamedTuple):
    """A completed search."""

    trials: tuple[Trial, ...]
    outcomes: tuple[Outcome, ...]
    intervals: tuple[Interval, ...]
    findings: tuple[Flag, ...]
    traffic_s: float
    """Duration of all trials."""
    wall_s: float
    """The same plus the dead time after each."""
    out_of_time: bool
    """Whether the search ended for lack of time."""


class SimulatedTrial(NamedTuple):
    """A trial of a search with its outcome."""

    trial: Trial
    outcome: Outcome
    end_s: float
    """Time since the start of the search, including the dead time after the trial."""


def simulate_search(
    plan: SearchPlan, sut: Sut, overhead_s: float | None = None, make: Callable[[SearchPlan], Search] = create
) -> SimulatedSearch:
    """Search until the search is over or its time is.

    Args:
        plan: the search plan.
        sut: a new SUT, as a SUT remembers earlier trials.
        overhead_s: dead time after each trial; by default that of the plan.
        make: creates the search.
    """
    search = make(plan)
    steps = list(simulate_trials(search, plan, sut, overhead_s=overhead_s))
    return SimulatedSearch(
        trials=tuple(step.trial for step in steps),
        outcomes=tuple(step.outcome for step in steps),
        intervals=search.intervals(),
        findings=search.findings(),
        traffic_s=sum(step.outcome.elapsed_s for step in steps),
        wall_s=steps[-1].end_s if steps else 0.0,
        out_of_time=search.ask() is not None,
    )


def simulate_trials(
    search: Search,
    plan: SearchPlan,
    sut: Sut,
    *,
    overhead_s: float | None = None,
    start_s: float = 0.0,
    first_index: int = 0,
) -> Iterator[SimulatedTrial]:
    """Yield the trials of a search until it is over, or its next trial would end too late.

    Args:
        search: a search, which may have seen earlier trials.
        plan: limits the duration of the search.
        sut: answers the trials.
        overhead_s: dead time after each trial; by default that of the plan.
        start_s: time since the start of the search.
        first_index: index of the first trial.
    """
    dead_s = plan.overhead_s if overhead_s is None else overhead_s
    now_s = start_s
    for index in count(first_index):
        trial = search.ask()
        if trial is None or now_s + trial.duration_s > plan.search_duration_max_s:
            return
        now_s += trial.rest_s
        outcome = simulate_trial(sut, trial, index, now_s)
        search.tell(outcome)
        now_s += outcome.elapsed_s + dead_s
        yield SimulatedTrial(trial, outcome, now_s)


def simulate_trial(sut: Sut, trial: Trial, index: int, now_s: float) -> Outcome:
    """Offer a trial to the SUT at that time since the start of the simulation. Return its outcome."""
    offered = offer_trial(sut, trial, now_s)
    arrived = map(operator.sub, offered.offered_count, offered.lost_count)
    received = [now - before for before, now in itertools.pairwise((0, *arrived))]
    return Outcome(
        index=index,
        loss_ratio=offered.loss_ratio,
        elapsed_s=offered.elapsed_s,
        intended_count=offered.intended_count,
        offered_count=offered.offered_count[-1],
        lost_count=offered.lost_count[-1],
        unsent_count=offered.unsent_count,
        stopped_early=offered.stopped_by is not None,
        samples=tuple(map(Sample, offered.end_s, offered.offered_count, offered.lost_count)),
        forwarding_pps=list_forwarding_rates(offered.end_s, received),
        requested_s=trial.duration_s,
        started_s=now_s,
    )
