"""The figures of nodrop's own search never contradict each other, whenever it ends."""

import random
from itertools import pairwise

import pytest
from tests.own import LONG, SHORT, goal, probe_plan

from nodrop.search import create
from nodrop.search.base import Interval
from nodrop.simulation import SUTS
from nodrop.simulation.search_run import simulate_trials

SEARCHES = 2
"""Searches against each SUT."""
GOAL_SETS = (
    LONG,
    SHORT,
    (goal("PDR", 0.005, 5.0), goal("NDR", 0.0, 5.0)),
    (goal("NDR", 0.0, 2.0), goal("PDR 0.1 %", 0.001, 2.0), goal("PDR 0.5 %", 0.005, 2.0)),
    (goal("NDR", 0.0, 10.0), goal("PDR", 0.005, 1.0, 21.0)),
)


def assert_order(intervals: tuple[Interval, ...]) -> None:
    """Fail if a goal that allows less loss has a higher bound, or a lower bound is no lower than an upper one."""
    ordered = sorted(intervals, key=lambda interval: interval.goal.loss_ratio)
    for strict, loose in pairwise(ordered):
        assert loose.lower_valid or not strict.lower_valid
        assert strict.upper_valid or not loose.upper_valid
        if strict.lower_valid:
            assert strict.lower_load_pps <= loose.lower_load_pps
        if loose.upper_valid:
            assert strict.upper_load_pps <= loose.upper_load_pps
    for each in ordered:
        assert not (each.lower_valid and each.upper_valid) or each.lower_load_pps < each.upper_load_pps


@pytest.mark.parametrize("kind", SUTS)
def test_bounds_of_goals_are_in_the_order_of_their_loss_ratios_after_every_trial(kind: str) -> None:
    draws = random.Random(kind)
    for _ in range(SEARCHES):
        budget_s = draws.choice([draws.uniform(2.0, 15.0), draws.uniform(8.0, 40.0), 300.0])
        plan = probe_plan(draws.choice(GOAL_SETS), search_duration_max_s=budget_s)
        search = create(plan)
        loads_pps = []
        for step in simulate_trials(search, plan, SUTS[kind](draws.randrange(10**6))):
            loads_pps.append(step.trial.intended_load_pps)
            intervals = search.intervals()
            assert_order(intervals)
            for each in intervals:
                assert not each.lower_valid or loads_pps[each.lower_index] == each.lower_load_pps
                assert not each.upper_valid or loads_pps[each.upper_index] == each.upper_load_pps
