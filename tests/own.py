"""Plans of nodrop's own search: long goals, short ones of which half may fail, and searches of both against a SUT."""

from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.search.base import Interval
from nodrop.simulation import SUTS
from nodrop.simulation.forwarder import SimulatedForwarder
from nodrop.simulation.search_run import SimulatedSearch, simulate_search

MIN_LOAD_PPS, MAX_LOAD_PPS = 18_002.0, 37.5e6
WIDTH_RATIO = 0.005


def goal(label: str, loss_ratio: float, final_s: float = 30.0, sum_s: float | None = None) -> Goal:
    """Return a goal that no trial may fail or, with a duration sum beyond one trial, half of them."""
    return Goal(
        label=label,
        loss_ratio=loss_ratio,
        exceed_ratio=0.5 if sum_s else 0.0,
        initial_trial_duration_s=min(1.0, final_s),
        final_trial_duration_s=final_s,
        duration_sum_s=sum_s or final_s,
        width_ratio=WIDTH_RATIO,
    )


NDR, PDR = goal("NDR", 0.0), goal("PDR", 0.005)
LONG = (NDR, PDR)
"""One trial of 30 s decides."""
SHORT = (goal("NDR", 0.0, 1.0, 21.0), goal("PDR", 0.005, 1.0, 21.0))
"""Trials of 1 s, 21 s in all, of which half may fail."""


def probe_plan(goals: tuple[Goal, ...] = LONG, **changed: object) -> SearchPlan:
    """Return a plan for nodrop's own search over the entire range of loads."""
    plan = SearchPlan(
        algorithm="nodrop",
        goals=goals,
        min_load_pps=MIN_LOAD_PPS,
        max_load_pps=MAX_LOAD_PPS,
        initial_trial_duration_s=min(goal.initial_trial_duration_s or 1.0 for goal in goals),
        final_trial_duration_s=max(goal.final_trial_duration_s or 1.0 for goal in goals),
        width_ratio=WIDTH_RATIO,
        intermediate_phases=2,
        expansion_coefficient=2.0,
        search_duration_max_s=1e5,
        repeat_invalid=0,
        overhead_s=0.5,
    )
    return plan.model_copy(update=changed)


def search(kind: str, seed: int = 1, goals: tuple[Goal, ...] = LONG, **changed: object) -> SimulatedSearch:
    """Run one search against a SUT of a kind."""
    return simulate_search(probe_plan(goals, **changed), SUTS[kind](seed))


def error_ratio(interval: Interval, sut: SimulatedForwarder) -> float:
    """Return the distance of the lower bound from the truth."""
    assert interval.lower_valid and interval.lower_load_pps and interval.goal.final_trial_duration_s
    truth_pps = min(MAX_LOAD_PPS, sut.truth_pps(interval.goal.loss_ratio, interval.goal.final_trial_duration_s))
    return interval.lower_load_pps / truth_pps - 1.0


def codes(interval: Interval) -> set[str]:
    """Return the codes of a goal's flags."""
    return {flag.code for flag in interval.flags}
