"""nodrop's own search beside other work that takes the CPU of each kind of simulated SUT now and then."""

from collections.abc import Sequence
from statistics import median

import pytest
from tests.own import MAX_LOAD_PPS, MIN_LOAD_PPS, goal, probe_plan

from nodrop.search.base import Outcome
from nodrop.simulation import SUTS
from nodrop.simulation.disturbances import DISTURBANCES, DisturbedSut
from nodrop.simulation.search_run import SimulatedSearch, simulate_search

GOALS = (goal("NDR", 0.0, 5.0), goal("PDR", 0.005, 5.0))
RANDOM_LOSS = ("loss-floor", "loss-floor-rare", "stall-periodic", "stall-random")
"""Kinds whose NDR is a matter of chance, or below half of the forwarding rate."""


def search_disturbed(kind: str, disturbance: str, seed: int) -> tuple[SimulatedSearch, DisturbedSut]:
    sut = DisturbedSut(SUTS[kind](seed), DISTURBANCES[disturbance], seed)
    return simulate_search(probe_plan(GOALS), sut), sut


def find_forwarding_rate(outcomes: Sequence[Outcome]) -> float:
    """Return the median receive rate of the latest trial with loss; 0 without one."""
    lossy = [each for each in outcomes if each.lost_count and each.forwarding_pps]
    return median(lossy[-1].forwarding_pps) if lossy else 0.0


@pytest.mark.parametrize("kind", SUTS)
@pytest.mark.parametrize("disturbance", DISTURBANCES)
def test_bounds_are_those_of_the_undisturbed_sut(kind: str, disturbance: str) -> None:
    result, sut = search_disturbed(kind, disturbance, seed=5)
    for interval in result.intervals:
        if kind in RANDOM_LOSS and interval.goal.loss_ratio == 0.0:
            continue
        truth_pps = min(sut.truth_pps(interval.goal.loss_ratio, 5.0, result.wall_s), MAX_LOAD_PPS)
        if truth_pps < MIN_LOAD_PPS:
            assert not interval.lower_valid
        else:
            assert interval.lower_valid and interval.lower_load_pps
            assert 0.5 * truth_pps <= interval.lower_load_pps <= 1.15 * truth_pps


@pytest.mark.parametrize("kind", [kind for kind in SUTS if kind not in RANDOM_LOSS])
@pytest.mark.parametrize("disturbance", DISTURBANCES)
@pytest.mark.parametrize("seed", [6, 7])
def test_no_threshold_is_expected_below_half_of_the_forwarding_rate(kind: str, disturbance: str, seed: int) -> None:
    result, _ = search_disturbed(kind, disturbance, seed)
    for position, trial in enumerate(result.trials):
        estimate_pps = trial.reason.params.get("estimate_pps")
        if isinstance(estimate_pps, float):
            assert estimate_pps > 0.0
            assert estimate_pps >= 0.5 * find_forwarding_rate(result.outcomes[:position])
