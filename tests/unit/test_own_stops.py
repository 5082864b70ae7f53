"""Trials that nodrop's own search stops early, and measurers that deviate from its expectations."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.cases import Lottery
from tests.own import LONG, SHORT, probe_plan

from nodrop.model.goal import Goal
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Interval, Outcome, Search
from nodrop.simulation import SUTS
from nodrop.simulation.forwarder import SimulatedForwarder
from nodrop.simulation.search_run import simulate_trial

TRIAL_COUNT_MAX = 400


def drive(search: Search, measure: Callable[[Trial, int, float], Outcome]) -> list[tuple[Trial, Outcome]]:
    """Drive the search to its end; fail if it does not end."""
    report: list[tuple[Trial, Outcome]] = []
    now_s = 0.0
    while trial := search.ask():
        assert len(report) < TRIAL_COUNT_MAX, "the search does not come to an end"
        outcome = measure(trial, len(report), now_s)
        search.tell(outcome)
        report.append((trial, outcome))
        now_s += outcome.elapsed_s + 0.5
    return report


def lost_count(trial: Trial, outcome: Outcome) -> float:
    """Frames lost, unsent ones included."""
    return outcome.loss_ratio * trial.intended_load_pps * outcome.elapsed_s


TrialLog = list[tuple[Trial, float]]
"""Trials with their start times."""


def measure_to_end(kind: str, seed: int, before: TrialLog, trial: Trial, now_s: float) -> Outcome:
    """Measure the trial to its end, on a copy of the SUT with the same history."""
    twin = SUTS[kind](seed)
    for index, (earlier, started_s) in enumerate(before):
        simulate_trial(twin, earlier, index, started_s)
    return simulate_trial(twin, trial.model_copy(update={"stop": None}), len(before), now_s)


@pytest.mark.parametrize("kind", sorted(SUTS))
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("goals", [LONG, SHORT], ids=["30 s", "1 s"])
def test_a_trial_that_counts_as_full_length_though_stopped_would_have_come_out_the_same(
    kind: str, seed: int, goals: tuple[Goal, ...]
) -> None:
    sut, before = SUTS[kind](seed), TrialLog()
    stopped_count = 0

    def measure(trial: Trial, index: int, now_s: float) -> Outcome:
        nonlocal stopped_count
        stopped = simulate_trial(sut, trial, index, now_s)
        for goal in goals:
            assert goal.final_trial_duration_s
            allowed_count = goal.loss_ratio * trial.intended_load_pps * goal.final_trial_duration_s
            # Stopped with more loss than the goal's entire trial may have: it counts as a failed one.
            if stopped.stopped_early and lost_count(trial, stopped) > allowed_count:
                stopped_count += 1
                assert lost_count(trial, measure_to_end(kind, seed, before, trial, now_s)) > allowed_count
        before.append((trial, now_s))
        return stopped

    drive(create(probe_plan(goals)), measure)
    assert stopped_count > 0 or kind == "perfect-link"


@pytest.mark.parametrize("kind", sorted(SUTS))
def test_a_trial_stopped_without_that_much_loss_never_makes_a_lower_bound_unflagged(kind: str) -> None:
    for seed in range(3):
        sut = SUTS[kind](seed)
        search = create(probe_plan(LONG))
        report = drive(search, lambda trial, index, now_s, sut=sut: simulate_trial(sut, trial, index, now_s))  # type: ignore[misc]
        for interval in search.intervals():
            if interval.lower_index is not None and interval.lower_valid:
                _, outcome = report[interval.lower_index]
                assert outcome.elapsed_s >= 0.999 * (interval.goal.final_trial_duration_s or 0.0)
                assert outcome.loss_ratio <= interval.goal.loss_ratio


def bounds(interval: Interval) -> tuple[float, float]:
    assert interval.lower_valid and interval.upper_valid and interval.lower_load_pps and interval.upper_load_pps
    return interval.lower_load_pps, interval.upper_load_pps


@pytest.mark.parametrize("kind", ["hard-limit", "smooth-knee", "deep-buffer", "tester-overload", "loss-inversion"])
def test_a_measurer_that_tells_only_totals_is_enough(kind: str) -> None:
    sut = SUTS[kind](1)
    search = create(probe_plan(LONG))
    drive(search, lambda trial, index, now_s: replace(simulate_trial(sut, trial, index, now_s), samples=()))
    for interval in search.intervals():
        lower_pps, _ = bounds(interval)
        assert lower_pps == pytest.approx(sut.truth_pps(interval.goal.loss_ratio, 30.0), rel=0.02)


@pytest.mark.parametrize("kind", sorted(set(SUTS) - {"dead-link", "perfect-link"}))
def test_a_measurer_that_stops_no_trial_is_enough(kind: str) -> None:
    sut = SUTS[kind](2)
    search = create(probe_plan(LONG))

    def measure(trial: Trial, index: int, now_s: float) -> Outcome:
        return simulate_trial(sut, trial.model_copy(update={"stop": None}), index, now_s)

    drive(search, measure)
    for interval in search.intervals():
        bounds(interval)


@pytest.mark.parametrize("goals", [LONG, SHORT, (LONG[0],), (*LONG, *SHORT)], ids=["30 s", "1 s", "NDR", "all"])
def test_a_measurer_that_answers_at_random_is_done_with_after_a_bounded_number_of_trials(
    goals: tuple[Goal, ...],
) -> None:
    named = tuple(goal.model_copy(update={"label": f"goal {number}"}) for number, goal in enumerate(goals))
    for seed in range(60):
        lottery = Lottery(seed)

        def measure(trial: Trial, index: int, now_s: float, lottery: Lottery = lottery) -> Outcome:
            counts = lottery(trial.intended_load_pps, trial.duration_s)
            lost_count = counts.intended_count - counts.received_count
            return Outcome(
                index=index,
                loss_ratio=lost_count / counts.intended_count,
                elapsed_s=trial.duration_s,
                intended_count=counts.intended_count,
                offered_count=counts.offered_count,
                lost_count=lost_count,
                started_s=now_s,
            )

        search = create(probe_plan(named))
        drive(search, measure)
        assert len(search.intervals()) == len(goals)
        search.findings()


def test_a_search_can_be_asked_for_its_bounds_after_every_trial() -> None:
    for kind, seed in itertools.product(sorted(SUTS), range(2)):
        sut, search = SUTS[kind](seed), create(probe_plan(LONG))

        def measure(
            trial: Trial, index: int, now_s: float, sut: SimulatedForwarder = sut, search: Search = search
        ) -> Outcome:
            search.intervals()
            search.findings()
            return simulate_trial(sut, trial, index, now_s)

        drive(search, measure)
