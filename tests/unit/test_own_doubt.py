"""nodrop's own search does not end on a lower bound that it disbelieves, and counts trials that it did not request."""

import pytest
from benchmarks.search.drawn_suts import create_drawn
from tests.own import LONG, NDR, codes, probe_plan, search

from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Outcome, Sample
from nodrop.search.probe_search.search import MAX_CONFIRMATIONS_IN_DOUBT
from nodrop.simulation import SUTS
from nodrop.simulation.search_run import simulate_search, simulate_trials
from nodrop.simulation.stationary import HardLimit
from nodrop.simulation.varying_capacity import WarmUp

KINDS = tuple(kind for kind in SUTS if kind != "drift")
"""Kinds at which a bound is right for more than a moment."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [3, 4])
def test_a_lower_bound_is_doubtful_only_after_it_passed_repeatedly(kind: str, seed: int) -> None:
    result = search(kind, seed, LONG)
    for interval in result.intervals:
        if "doubtful-lower-bound" in codes(interval):
            loads = [trial.intended_load_pps for trial in result.trials]
            assert loads.count(interval.lower_load_pps or 0.0) > MAX_CONFIRMATIONS_IN_DOUBT


def make_outcome(trial: Trial, index: int, lost_ratio: float) -> Outcome:
    count = round(trial.intended_load_pps * trial.duration_s)
    lost = round(count * lost_ratio)
    samples = tuple(Sample(trial.duration_s * at / 20, count * at // 20, lost * at // 20) for at in range(1, 21))
    return Outcome(
        index=index,
        loss_ratio=lost / count,
        elapsed_s=trial.duration_s,
        intended_count=count,
        offered_count=count,
        lost_count=lost,
        samples=samples,
        started_s=1000.0,
    )


@pytest.mark.parametrize(("lost_ratio", "goes_on"), [(0.0, False), (0.0175, True)])
def test_a_trial_after_the_end_makes_the_search_go_on_if_it_contradicts_a_bound(
    lost_ratio: float, goes_on: bool
) -> None:
    plan, sut = probe_plan((NDR,)), HardLimit(capacity_pps=1e6)
    own = create(plan)
    count = len(list(simulate_trials(own, plan, sut)))
    lower_pps = own.intervals()[0].lower_load_pps
    assert lower_pps and own.ask() is None
    trial = Trial(intended_load_pps=lower_pps, duration_s=3.0)
    assert own.add_evidence(trial, make_outcome(trial, count, lost_ratio))
    assert (own.ask() is not None) is goes_on
    (interval,) = own.intervals()
    assert (interval.upper_load_pps == lower_pps) is goes_on


def test_a_search_that_is_not_over_takes_the_outcomes_of_its_own_trials_only() -> None:
    own = create(probe_plan())
    trial = Trial(intended_load_pps=1e6, duration_s=3.0)
    with pytest.raises(RuntimeError, match="not over"):
        own.add_evidence(trial, make_outcome(trial, 0, 0.0))


def test_a_bound_above_the_slower_of_two_modes_needs_more_than_one_lucky_trial() -> None:
    # A trial of 30 s ran in the faster mode to its end, after others had changed to the slower one.
    sut = create_drawn("two-modes-time", 20044)
    result = simulate_search(probe_plan(), sut)
    for interval in result.intervals:
        truth_pps = sut.truth_pps(interval.goal.loss_ratio, 30.0)
        assert interval.lower_load_pps == pytest.approx(truth_pps, rel=0.01)


@pytest.mark.parametrize("cold_ratio", [0.08, 0.2])
@pytest.mark.parametrize("warm_up_s", [5.0, 40.0, 60.0])
def test_failures_of_a_cold_sut_do_not_hold_down_the_bounds_of_the_warm_one(
    cold_ratio: float, warm_up_s: float
) -> None:
    sut = WarmUp(cold_ratio=cold_ratio, warm_up_s=warm_up_s)
    result = simulate_search(probe_plan(), sut)
    for interval in result.intervals:
        truth_pps = sut.truth_pps(interval.goal.loss_ratio, 30.0, result.wall_s)
        assert interval.lower_load_pps == pytest.approx(truth_pps, rel=0.01)
