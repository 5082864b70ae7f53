"""Searches against simulated SUTs on a virtual clock: hundreds of searches a minute, with the truth beside them."""

from collections.abc import Callable
from typing import NamedTuple

from nodrop.model.goal import Flag
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Interval, Outcome, Sample, Search
from nodrop.simulation.offer import take
from nodrop.simulation.sut import Sut


class Simulated(NamedTuple):
    """A search that is over."""

    trials: tuple[Trial, ...]
    outcomes: tuple[Outcome, ...]
    intervals: tuple[Interval, ...]
    findings: tuple[Flag, ...]
    traffic_s: float
    """Time of all trials."""
    wall_s: float
    """The same with the dead time of each."""
    out_of_time: bool
    """Whether the search would have gone on, had there been time."""


def simulate(
    plan: SearchPlan, sut: Sut, overhead_s: float | None = None, make: Callable[[SearchPlan], Search] = create
) -> Simulated:
    """Search until the search is over, or its next trial would end after the time it has.

    Args:
        plan: what to search for.
        sut: as it was made, as it remembers what it was offered.
        overhead_s: dead time that follows each trial; what the plan reckons with, if not given.
        make: what makes the search, if not one of nodrop's is wanted.
    """
    search = make(plan)
    dead_s = plan.overhead_s if overhead_s is None else overhead_s
    trials: list[Trial] = []
    outcomes: list[Outcome] = []
    now_s = 0.0
    while (trial := search.ask()) is not None and now_s + trial.duration_s <= plan.search_duration_max_s:
        outcome = answer(sut, trial, len(trials), now_s)
        search.tell(outcome)
        trials.append(trial)
        outcomes.append(outcome)
        now_s += outcome.elapsed_s + dead_s
    return Simulated(
        trials=tuple(trials),
        outcomes=tuple(outcomes),
        intervals=search.intervals(),
        findings=search.findings(),
        traffic_s=sum(outcome.elapsed_s for outcome in outcomes),
        wall_s=now_s,
        out_of_time=trial is not None,
    )


def answer(sut: Sut, trial: Trial, index: int, now_s: float) -> Outcome:
    """What a search learns of one trial, offered at that time since the simulation began."""
    taken = take(sut, trial, now_s)
    return Outcome(
        index=index,
        loss_ratio=taken.loss_ratio,
        elapsed_s=taken.elapsed_s,
        intended_count=taken.intended_count,
        sent_count=taken.offered_count[-1],
        lost_count=taken.lost_count[-1],
        unsent_count=taken.unsent_count,
        stopped_early=taken.stopped_by is not None,
        samples=tuple(map(Sample, taken.end_s, taken.offered_count, taken.lost_count)),
        started_s=now_s,
    )
