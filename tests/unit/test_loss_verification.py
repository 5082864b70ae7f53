"""Guarantees of binary search with loss verification (ETSI GS NFV-TST 009 clause 12.3.3)."""

import math
import random
from collections.abc import Callable

import pytest
from tests.searching import drive, loss_ratio_of, search_plan
from tests.suts import SmoothCurve, Step
from tests.systems import STEADY_SUTS, assert_encloses

from nodrop.formatting.messages import format_message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Outcome

SUTS = STEADY_SUTS | {"a step just above the lowest load": Step(10_020.0)}


def make_plan(loss_ratios: tuple[float, ...] = (0.0, 0.005), **changed: object) -> SearchPlan:
    plan = search_plan(loss_ratios=loss_ratios)
    return plan.model_copy(update={"algorithm": "binary-loss-verification", **changed})


def coarse_plan(**changed: object) -> SearchPlan:
    """Plan loads of 8, 4, 2 and 1 Mpps with one goal."""
    return make_plan(loss_ratios=(0.0,), min_load_pps=1e6, max_load_pps=8e6, width_ratio=0.5, **changed)


def lose_first(lossy_count: int) -> Callable[[Trial], float]:
    """Simulate a transient: the first trials at 4 Mpps lose a tenth, all at 8 Mpps too, and none below."""
    seen: list[Trial] = []

    def answer(trial: Trial) -> float:
        if trial.intended_load_pps > 5e6:
            return 0.1
        if trial.intended_load_pps < 3e6:
            return 0.0
        seen.append(trial)
        return 0.1 if len(seen) <= lossy_count else 0.0

    return answer


def loads_mpps(trials: list[Trial]) -> list[float]:
    return [round(trial.intended_load_pps / 1e6, 3) for trial in trials]


def test_a_load_passes_when_loss_does_not_come_back() -> None:
    search = create(coarse_plan(verify_trial_count=3))
    trials = drive(search, lose_first(2))
    assert loads_mpps(trials) == [8.0, 8.0, 8.0, 4.0, 4.0, 4.0]
    assert [trial.rule for trial in trials] == ["highest", "verify", "verify", "halve", "verify", "verify"]
    [interval] = search.intervals()
    assert (interval.lower_index, interval.lower_valid) == (5, True)
    assert (interval.upper_index, interval.upper_valid) == (2, True)


def test_a_load_fails_when_all_its_trials_lose() -> None:
    search = create(coarse_plan(verify_trial_count=3))
    assert loads_mpps(drive(search, lose_first(3))) == [8.0, 8.0, 8.0, 4.0, 4.0, 4.0, 2.0]
    [interval] = search.intervals()
    assert (interval.lower_load_pps, interval.upper_load_pps) == pytest.approx((2e6, 4e6), rel=1e-5)


def test_one_trial_is_a_search_without_verification() -> None:
    assert loads_mpps(drive(create(coarse_plan(verify_trial_count=1)), lose_first(1))) == [8.0, 4.0, 2.0]


@pytest.mark.parametrize(
    ("verify_lost_count", "expected"),
    [
        (800_001, [8.0, 4.0, 4.0]),  # a tenth of 4 Mpps for 2 s is 800,000 frames, of 8 Mpps 1,600,000
        (800_000, [8.0, 4.0, 2.0]),
        (1_600_001, [8.0, 8.0, 4.0, 4.0]),
    ],
)
def test_loss_of_so_many_frames_or_more_is_not_verified(verify_lost_count: int, expected: list[float]) -> None:
    search = create(coarse_plan(verify_lost_count=verify_lost_count))
    answer, loads = lose_first(1), []
    while (trial := search.ask()) is not None:
        loads.append(trial)
        ratio, intended_count = answer(trial), round(trial.intended_load_pps / 1e6) * 2_000_000
        search.tell(
            Outcome(
                index=len(loads) - 1,
                loss_ratio=ratio,
                offered_count=intended_count,
                lost_count=round(ratio * intended_count),
            )
        )
    assert loads_mpps(loads) == expected


def test_frames_never_sent_count_towards_what_is_not_verified() -> None:
    search = create(coarse_plan(verify_lost_count=100))
    search.tell(Outcome(index=0, loss_ratio=0.5, offered_count=100, unsent_count=100))
    trial = search.ask()
    assert trial is not None
    assert trial.rule == "halve"


def test_neighbors_in_the_list_are_as_close_as_asked_and_end_the_search() -> None:
    for name, sut in SUTS.items():
        plan = make_plan()
        search = create(plan)
        drive(search, loss_ratio_of(sut))
        for interval in search.intervals():
            truth = sut.throughput(interval.goal.loss_ratio, plan.final_trial_duration_s)
            assert interval.final
            assert_encloses(interval, truth)
            if interval.lower_valid and interval.upper_valid:
                assert 1 - interval.lower_load_pps / interval.upper_load_pps <= plan.width_ratio, name
                assert interval.flags == ()
            elif interval.lower_valid:
                assert interval.lower_load_pps == plan.max_load_pps
            else:
                assert interval.upper_load_pps == plan.min_load_pps


def test_every_load_is_on_the_list() -> None:
    plan = make_plan()
    for trial in drive(create(plan), loss_ratio_of(SmoothCurve(2e6, 0.3))):
        steps = math.log(plan.max_load_pps / trial.intended_load_pps) / -math.log(1 - plan.width_ratio)
        assert steps == pytest.approx(round(steps), abs=0.01)


def test_a_trial_for_one_goal_serves_the_others_once_it_decides_them() -> None:
    trials = drive(create(make_plan(verify_trial_count=1)), loss_ratio_of(Step(1_234_567.0)))
    alone = [
        len(drive(create(make_plan((ratio,), verify_trial_count=1)), loss_ratio_of(Step(1_234_567.0))))
        for ratio in (0.0, 0.005)
    ]
    assert len(trials) < sum(alone) - 5


def test_a_single_trial_fails_no_goal_that_wants_its_loss_verified() -> None:
    plan = make_plan(loss_ratios=(0.005, 0.0), min_load_pps=1e6, max_load_pps=8e6, width_ratio=0.5)
    search = create(plan)
    trials = drive(search, lambda trial: 0.001 if trial.intended_load_pps > 3e6 else 0.0)
    assert loads_mpps(trials) == [8.0, 8.0, 8.0, 4.0, 4.0, 2.0]
    assert [trial.goal for trial in trials] == ["PDR 0.005"] + ["NDR"] * 5


def test_trials_stop_only_when_neither_verdict_nor_verification_can_change() -> None:
    for trial in drive(create(make_plan(verify_lost_count=50_000)), loss_ratio_of(Step(1e6))):
        assert trial.stop is not None
        assert trial.stop.lost_count is not None
        assert trial.stop.lost_count >= max(50_000, 0.005 * trial.intended_load_pps * trial.duration_s)


def test_whatever_the_trials_say_the_search_ends_and_intervals_can_be_asked() -> None:
    for seed in range(200):
        draw = random.Random(seed)
        plan = make_plan(
            loss_ratios=tuple(draw.choice((0.0, 0.001, 0.005, 0.2)) for _ in range(draw.randint(1, 3))),
            min_load_pps=10 ** draw.uniform(0, 7),
            max_load_pps=1e7,
            width_ratio=draw.choice((0.001, 0.02, 0.3, 0.9)),
            verify_trial_count=draw.randint(1, 4),
            verify_lost_count=draw.choice((None, 0, 1000)),
        )
        search = create(plan)
        loads: list[float] = []
        while (trial := search.ask()) is not None:
            assert len(loads) < 300
            assert len(format_message(trial.reason)) > 20
            assert plan.min_load_pps <= trial.intended_load_pps <= plan.max_load_pps
            search.tell(Outcome(index=len(loads), loss_ratio=draw.choice((0.0, 0.0, 0.0007, 0.003, 0.1, 1.0))))
            loads.append(trial.intended_load_pps)
            for interval in search.intervals():
                if interval.lower_index is not None and interval.upper_index is not None:
                    assert loads[interval.lower_index] == interval.lower_load_pps
                    assert loads[interval.upper_index] == interval.upper_load_pps


def test_one_allowed_load_is_verified_and_no_other_measured() -> None:
    plan = make_plan(min_load_pps=1e6, max_load_pps=1e6)
    assert loads_mpps(drive(create(plan), lambda _trial: 0.3)) == [1.0, 1.0]
