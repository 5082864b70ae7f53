"""The nfvbench search measures at the loads of NFVbench's documented range search, without its faults."""

import random
from collections.abc import Callable, Sequence

import pytest
from tests.searching import drive, loss_ratio_of, search_plan
from tests.suts import Buffer, LossFloor, SlowTester, SmoothCurve, Step, Sut

from nodrop.formatting.messages import format_message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Outcome

SUTS: dict[str, Sut] = {
    "a step": Step(1_234_567.0),
    "a step above the line rate": Step(12_000_000.0),
    "a step just below the line rate": Step(9_990_000.0),
    "a step at half the line rate": Step(5_000_000.0),
    "a buffer of 20 ms": Buffer(800_000.0, 16_000),
    "a smooth curve": SmoothCurve(2_000_000.0, 0.3),
    "a loss floor between the ratios": LossFloor(900_000.0, 0.0005),
    "a loss floor above both ratios": LossFloor(900_000.0, 0.03),
}


def make_plan(**changed: object) -> SearchPlan:
    plan = search_plan(loss_ratios=(0.00001, 0.001), min_load_pps=1.0)
    return plan.model_copy(update={"algorithm": "nfvbench", **changed})


def nfvbench_percents(
    left: float, right: float, limits: Sequence[float], epsilon: float, drop_of: Callable[[float], float]
) -> list[float]:
    """Return the loads of NFVbench's range search in percent of the line rate, from its documentation and behavior.

    Args:
        left, right: the range, 0 and 200 at first.
        limits: drop rates in percent allowed by the targets in it.
        epsilon: load_epsilon, percent.
        drop_of: drop rate in percent of a trial at a load in percent.
    """
    if not limits or right - left < epsilon:
        return []
    middle = (left + right) / 2
    drop = drop_of(middle)
    failing = [limit for limit in limits if drop > limit]
    passing = [limit for limit in limits if drop <= limit]
    loads = [middle, *nfvbench_percents(left, middle, failing, epsilon, drop_of)]
    if middle < 100:
        loads += nfvbench_percents(middle, right, passing, epsilon, drop_of)
    return loads


def load_percents(trials: Sequence[Trial], plan: SearchPlan) -> list[float]:
    return [100 * trial.intended_load_pps / plan.max_load_pps for trial in trials]


@pytest.mark.parametrize("epsilon_percent", [1.0, 0.5, 0.1, 0.01])
@pytest.mark.parametrize("name", SUTS)
def test_the_loads_are_those_nfvbench_documents(name: str, epsilon_percent: float) -> None:
    plan, answer = make_plan(load_epsilon_ratio=epsilon_percent / 100), loss_ratio_of(SUTS[name])

    def drop_of(percent: float) -> float:
        trial = Trial(intended_load_pps=plan.max_load_pps * percent / 100, duration_s=plan.final_trial_duration_s)
        return 100 * answer(trial)

    result = load_percents(drive(create(plan), answer), plan)
    assert result == pytest.approx(nfvbench_percents(0, 200, [0.001, 0.1], epsilon_percent, drop_of), rel=1e-12)


def test_the_loads_are_those_nfvbench_documents_whatever_the_trials_say() -> None:
    for seed in range(300):
        limits = [random.Random(seed).choice((0.0, 0.001, 0.1, 5.0)) for _ in range(seed % 4 + 1)]
        goals = search_plan(loss_ratios=tuple(limit / 100 for limit in limits)).goals
        plan = make_plan(goals=goals, load_epsilon_ratio=0.003)
        draws, again = random.Random(seed), random.Random(seed)

        def drawn(draw: random.Random) -> float:
            return draw.choice((0.0, 0.00001, 0.0005, 0.02, 0.9, 1.0))

        result = load_percents(drive(create(plan), lambda _trial, draws=draws: drawn(draws)), plan)
        documented = nfvbench_percents(0, 200, limits, 0.3, lambda _load, again=again: 100 * drawn(again))
        assert result == pytest.approx(documented, rel=1e-12)


@pytest.mark.parametrize(("epsilon_ratio", "trial_count"), [(0.01, 8), (0.005, 9), (0.001, 11), (0.0005, 12)])
def test_one_target_takes_as_many_trials_as_nfvbench_does(epsilon_ratio: float, trial_count: int) -> None:
    plan = make_plan(goals=make_plan().goals[:1], load_epsilon_ratio=epsilon_ratio)
    assert len(drive(create(plan), loss_ratio_of(Step(3.3e6)))) == trial_count


@pytest.mark.parametrize("name", SUTS)
def test_valid_bounds_enclose_the_truth_within_epsilon_of_the_line_rate(name: str) -> None:
    plan, sut = make_plan(), SUTS[name]
    search = create(plan)
    drive(search, loss_ratio_of(sut))
    for interval in search.intervals():
        truth = sut.throughput(interval.goal.loss_ratio, plan.final_trial_duration_s)
        assert interval.lower_load_pps is not None
        assert interval.upper_load_pps is not None
        if interval.lower_valid:
            assert interval.lower_load_pps <= truth.high_pps
        if interval.upper_valid:
            assert interval.upper_load_pps >= truth.low_pps
        if interval.lower_valid and interval.upper_valid:
            assert interval.upper_load_pps - interval.lower_load_pps < 0.001 * plan.max_load_pps


def test_a_target_met_nowhere_is_flagged_where_nfvbench_reports_a_load_of_zero() -> None:
    search = create(make_plan())
    drive(search, lambda _trial: 1.0)
    for interval in search.intervals():
        assert not interval.lower_valid
        assert interval.lower_load_pps is not None
        assert 0 < interval.lower_load_pps < 0.001 * 10e6
        assert "invalid-lower-bound" in {flag.code for flag in interval.flags}


def test_frames_the_tester_failed_to_send_count_where_nfvbench_only_warns() -> None:
    search = create(make_plan())
    drive(search, loss_ratio_of(SlowTester(capacity_pps=8e6, tester_pps=6e6)))
    for interval in search.intervals():
        assert interval.lower_load_pps is not None
        assert interval.lower_load_pps < 6.02e6, "NFVbench would go on to the 8 Mpps that were never sent"


def test_a_width_that_is_only_narrow_beside_the_line_rate_is_flagged() -> None:
    search = create(make_plan())
    drive(search, loss_ratio_of(Step(120_000.0)))
    for interval in search.intervals():
        assert [flag.code for flag in interval.flags] == ["wide-interval"]


@pytest.mark.parametrize("capacity_pps", [10_000.0, 30_000.0])
def test_loads_below_the_lowest_allowed_are_replaced_by_it_and_measured_once(capacity_pps: float) -> None:
    plan = make_plan(min_load_pps=25_000.0)
    search = create(plan)
    trials = drive(search, loss_ratio_of(Step(capacity_pps)))
    assert min(trial.intended_load_pps for trial in trials) == plan.min_load_pps
    assert [trial.rule for trial in trials].count("lowest") == 1
    for interval in search.intervals():
        assert interval.lower_load_pps is not None
        assert interval.lower_valid == (capacity_pps > plan.min_load_pps)


def test_a_stopped_trial_is_one_that_no_target_of_its_range_could_still_meet() -> None:
    trials = drive(create(make_plan()), loss_ratio_of(SmoothCurve(2e6)))
    for trial in trials:
        assert trial.stop is not None
        assert trial.stop.lost_count is not None
        largest_ratio = 0.00001 if trial.goal == "PDR 1e-05" else 0.001
        assert trial.stop.lost_count >= largest_ratio * trial.intended_load_pps * trial.duration_s


def test_every_trial_says_why_and_intervals_can_be_asked_at_any_time() -> None:
    search, sut = create(make_plan()), loss_ratio_of(SmoothCurve(2e6))
    loads: list[float] = []
    assert all(interval.lower_index is None for interval in search.intervals())
    while (trial := search.ask()) is not None:
        assert len(format_message(trial.reason)) > 20
        assert trial.rule in {"line-rate", "halve", "lowest"}
        search.tell(Outcome(index=len(loads), loss_ratio=sut(trial)))
        loads.append(trial.intended_load_pps)
        for interval in search.intervals():
            assert interval.lower_index is not None
            assert interval.upper_index is not None
            assert loads[interval.lower_index] == interval.lower_load_pps
            assert loads[interval.upper_index] == interval.upper_load_pps


def test_an_epsilon_too_small_for_numbers_still_ends() -> None:
    assert len(drive(create(make_plan(load_epsilon_ratio=1e-300)), loss_ratio_of(Step(1e6)))) < 300
