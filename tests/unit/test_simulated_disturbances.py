"""Simulated SUTs that lose their CPU now and then: what is left out, and what a search finds."""

import pytest
from benchmarks.search.goals import GOAL_SETS, LONG

from nodrop.simulation.disturbances import DISTURBANCES, DisturbedSut
from nodrop.simulation.forwarder import SimulatedForwarder
from nodrop.simulation.search_run import simulate_search
from nodrop.simulation.stationary import HardLimit
from nodrop.simulation.sut import LossTimeline
from nodrop.simulation.time_varying_capacity import NoisyWindows

CAPACITY_PPS = 1e6


def disturb(sut: SimulatedForwarder, name: str, seed: int = 1) -> DisturbedSut:
    return DisturbedSut(sut, DISTURBANCES[name], seed)


@pytest.mark.parametrize("name", DISTURBANCES)
@pytest.mark.parametrize("buffer_count", [0.0, 1000.0])
def test_below_the_capacity_all_losses_are_left_out(name: str, buffer_count: float) -> None:
    sut = HardLimit(capacity_pps=CAPACITY_PPS, buffer_count=buffer_count)
    timeline = disturb(sut, name).offer(0.9 * CAPACITY_PPS, 20.0, 0.0)
    assert timeline.at_s[-1] == pytest.approx(20.0)
    assert timeline.lost_count[-1] == pytest.approx(0.0, abs=1e-3)
    raw = sut.offer(0.9 * CAPACITY_PPS, 20.0, 30.0)
    assert raw.lost_count[-1] > 10_000


@pytest.mark.parametrize("name", DISTURBANCES)
def test_in_overload_the_sut_loses_as_much_as_without_disturbances(name: str) -> None:
    timeline = disturb(HardLimit(capacity_pps=CAPACITY_PPS), name).offer(1.25 * CAPACITY_PPS, 20.0, 0.0)
    assert timeline.lost_count[-1] == pytest.approx(0.25 * CAPACITY_PPS * 20.0, rel=1e-6)


def test_after_an_early_end_time_goes_on_where_the_trial_ended() -> None:
    starts_s: list[float] = []

    class Recorder(HardLimit):
        def offer(self, load_pps: float, duration_s: float, start_s: float) -> LossTimeline:
            starts_s.append(start_s)
            return super().offer(load_pps, duration_s, start_s)

    sut = disturb(Recorder(capacity_pps=CAPACITY_PPS), "steal")
    for start_s in (0.0, 5.5, 11.0):
        sut.offer(CAPACITY_PPS, 30.0, start_s)
        sut.stop(5.0)
    lags_s = [real_s - start_s for real_s, start_s in zip(starts_s, (0.0, 5.5, 11.0), strict=True)]
    assert lags_s[0] == 0.0
    assert 0.2 < lags_s[1] < 3.0
    assert lags_s[1] + 0.2 < lags_s[2] < lags_s[1] + 3.0


@pytest.mark.parametrize("name", DISTURBANCES)
def test_a_search_finds_the_undisturbed_truth(name: str) -> None:
    entry = GOAL_SETS[LONG].create_entries()[0]
    for kind in (HardLimit, NoisyWindows):
        sut = disturb(kind(seed=3), name, seed=3)
        searched = simulate_search(entry.plan, sut, make=entry.make)
        for interval in searched.intervals:
            truth_pps = sut.truth_pps(interval.goal.loss_ratio, 30.0)
            assert interval.lower_load_pps == pytest.approx(truth_pps, rel=0.015)
