"""nodrop's own search beside other work that takes the CPU of each kind of simulated SUT now and then."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

import pytest
from tests.own import MAX_LOAD_PPS, MIN_LOAD_PPS, goal, probe_plan

from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Outcome
from nodrop.simulation import SUTS
from nodrop.simulation import create as create_sut
from nodrop.simulation.disturbances import DISTURBANCES, DisturbedSut
from nodrop.simulation.search_run import SimulatedSearch, simulate_search, simulate_trial
from nodrop.simulation.sut import Sut

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


def search_with_undecided_loads(low_ratio: float, high_ratio: float, trial_count: int) -> SimulatedSearch:
    """Search a SUT whose trials at loads near its capacity are undecided up to a number of trials."""
    truth_pps = SUTS["hard-limit"](1).truth_pps(0.0, 5.0)

    def is_undecided(trial: Trial, index: int) -> bool:
        return low_ratio * truth_pps <= trial.intended_load_pps <= high_ratio * truth_pps and index < trial_count

    return search_with_undecided_trials("hard-limit", is_undecided)


def search_with_undecided_trials(sut: str | Sut, is_undecided: Callable[[Trial, int], bool]) -> SimulatedSearch:
    sut = SUTS[sut](1) if isinstance(sut, str) else sut
    own = create(probe_plan(GOALS))
    trials, outcomes, now_s = [], [], 0.0
    while (trial := own.ask()) is not None:
        outcome = simulate_trial(sut, trial, len(trials), now_s)
        if is_undecided(trial, len(trials)):
            outcome = replace(outcome, is_undecided=True, elapsed_s=trial.duration_s)
        own.tell(outcome)
        trials.append(trial)
        outcomes.append(outcome)
        now_s += outcome.elapsed_s + 0.5
    return SimulatedSearch(
        intervals=own.intervals(),
        findings=own.findings(),
        trials=tuple(trials),
        outcomes=tuple(outcomes),
        traffic_s=sum(outcome.elapsed_s for outcome in outcomes),
        wall_s=now_s,
        out_of_time=False,
    )


def test_below_loads_that_stay_undecided_a_lower_bound_is_proven() -> None:
    result = search_with_undecided_loads(0.9, 1.05, trial_count=1000)
    truth_pps = SUTS["hard-limit"](1).truth_pps(0.0, 5.0)
    for interval in result.intervals:
        assert interval.lower_valid and interval.lower_load_pps
        assert 0.88 * truth_pps < interval.lower_load_pps < 0.9 * truth_pps
        assert interval.upper_valid and interval.upper_load_pps and interval.upper_load_pps > 1.05 * truth_pps
        undecided = next(flag for flag in interval.flags if flag.code == "undecided-loads")
        assert 0.9 * truth_pps <= float(undecided.params["lowest_pps"]) <= 1.05 * truth_pps
    assert len(result.trials) < 30
    tries = Counter(
        trial.intended_load_pps
        for trial, outcome in zip(result.trials, result.outcomes, strict=True)
        if outcome.is_undecided
    )
    assert max(tries.values()) <= 2


def test_undecided_loads_are_tried_again_once_the_other_work_has_ended() -> None:
    quiet = search_with_undecided_loads(0.0, 0.0, trial_count=0)
    result = search_with_undecided_loads(0.9, 1.05, trial_count=8)
    truth_pps = SUTS["hard-limit"](1).truth_pps(0.0, 5.0)
    for interval, of_quiet in zip(result.intervals, quiet.intervals, strict=True):
        assert interval.lower_load_pps == pytest.approx(of_quiet.lower_load_pps, rel=0.01)
        assert interval.lower_load_pps == pytest.approx(truth_pps, rel=0.01)
        assert "undecided-loads" not in {flag.code for flag in interval.flags}


def test_a_search_goes_on_below_a_first_probe_that_stays_undecided() -> None:
    result = search_with_undecided_loads(1.5, 100.0, trial_count=1000)
    truth_pps = SUTS["hard-limit"](1).truth_pps(0.0, 5.0)
    assert all(interval.lower_load_pps == pytest.approx(truth_pps, rel=0.01) for interval in result.intervals)


def test_a_first_probe_that_is_undecided_is_repeated_rather_than_a_proof_just_below_it() -> None:
    result = search_with_undecided_loads(1.5, 100.0, trial_count=2)
    assert [trial.intended_load_pps for trial in result.trials[:3]] == [MAX_LOAD_PPS] * 3
    assert result.traffic_s < search_with_undecided_loads(1.5, 100.0, trial_count=0).traffic_s + 15.0


@pytest.mark.parametrize("probe", ["offer-lowest", "probe-highest"])
def test_a_sut_that_learns_flows_is_searched_although_its_probes_stay_undecided(probe: str) -> None:
    sut = create_sut("flow-table", 1, {"flow_count": 4096, "miss_s": 1e-3})
    result = search_with_undecided_trials(sut, lambda trial, _index: trial.reason.code == probe)
    assert any(outcome.is_undecided for outcome in result.outcomes)
    assert all(interval.lower_valid or interval.upper_valid for interval in result.intervals)


# A flow table is first searched far below its capacity, where undecided loads may leave the search.
@pytest.mark.parametrize("kind", [kind for kind in SUTS if kind not in (*RANDOM_LOSS, "flow-table")])
@pytest.mark.parametrize("seed", range(3))
def test_a_search_of_which_any_trial_may_stay_undecided_ends_with_bounds_around_the_truth(kind: str, seed: int) -> None:
    draws = random.Random(seed)
    undecided = search_with_undecided_trials(kind, lambda _trial, _index: draws.random() < 0.4)
    decided = search_with_undecided_trials(kind, lambda _trial, _index: False)
    assert len(undecided.trials) <= 4 * len(decided.trials) + 20
    for interval, of_decided in zip(undecided.intervals, decided.intervals, strict=True):
        assert interval.lower_valid == of_decided.lower_valid
        if interval.lower_valid and of_decided.lower_load_pps and interval.lower_load_pps:
            assert 0.5 < interval.lower_load_pps / of_decided.lower_load_pps < 1.1
