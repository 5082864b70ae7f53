"""Guarantees of the binary search: loads of the usual reading, bounds that enclose the truth, no lost result."""

import pytest
from tests.searching import drive, loss_ratio_of, search_plan
from tests.suts import Jitter, SlowTester, SmoothCurve, Step, Sut
from tests.systems import STEADY_SUTS, RecordingMeasurer, assert_encloses

from nodrop.errors import ConfigError
from nodrop.formatting.messages import format_message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Outcome

SUTS: dict[str, Sut] = STEADY_SUTS | {
    "a step just above the lowest load": Step(10_020.0),
    "a tester slower than the SUT": SlowTester(3_000_000.0, 600_000.0),
    "a jittering step": Jitter(1_500_000.0, 0.01, seed=1),
}


def make_plan(joint: bool = True, **changed: object) -> SearchPlan:
    return search_plan().model_copy(update={"algorithm": "binary", "joint": joint, **changed})


def loads_mpps(trials: list[Trial]) -> list[float]:
    return [trial.intended_load_pps / 1e6 for trial in trials]


def test_the_highest_load_comes_first_and_then_the_middle_of_the_bounds() -> None:
    plan = make_plan(goals=search_plan().goals[:1], min_load_pps=1.0, max_load_pps=8e6, width_ratio=0.1)
    trials = drive(create(plan), loss_ratio_of(Step(3.2e6)))
    assert loads_mpps(trials) == pytest.approx([8.0, 4.0, 2.0, 3.0, 3.5, 3.25], rel=1e-6)
    assert {trial.duration_s for trial in trials} == {plan.final_trial_duration_s}


def test_a_joint_trial_serves_every_goal_and_separate_searches_repeat_it() -> None:
    sut = loss_ratio_of(SmoothCurve(3.05e6, 1.0))
    changed = {"min_load_pps": 1.0, "max_load_pps": 8e6, "width_ratio": 0.1}
    joint = drive(create(make_plan(**changed)), sut)
    assert loads_mpps(joint) == pytest.approx([8.0, 4.0, 2.0, 3.0, 3.5, 3.25], rel=1e-6)
    separate = drive(create(make_plan(joint=False, **changed)), sut)
    assert loads_mpps(separate) == pytest.approx(
        [8.0, 4.0, 2.0, 3.0, 3.5, 3.25, 8.0, 4.0, 2.0, 3.0, 3.5, 3.25], rel=1e-6
    )
    assert [trial.goal for trial in separate] == ["NDR"] * 6 + ["PDR 0.005"] * 6


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("name", SUTS)
def test_valid_bounds_enclose_the_truth_and_are_as_close_as_asked(name: str, joint: bool) -> None:
    plan, sut = make_plan(joint), SUTS[name]
    search = create(plan)
    drive(search, RecordingMeasurer(sut))
    for interval in search.intervals():
        truth = sut.throughput(interval.goal.loss_ratio, plan.final_trial_duration_s)
        assert interval.final
        assert_encloses(interval, truth)
        if interval.lower_valid and interval.upper_valid:
            assert 1 - interval.lower_load_pps / interval.upper_load_pps <= plan.width_ratio
        elif interval.lower_valid:
            assert interval.lower_load_pps == plan.max_load_pps
        else:
            assert interval.upper_load_pps == plan.min_load_pps


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("name", [name for name in SUTS if not isinstance(SUTS[name], Jitter)])
def test_a_stopped_trial_leads_to_the_same_loads_as_the_whole_one(name: str, joint: bool) -> None:
    whole, stopped = RecordingMeasurer(SUTS[name], stops=False), RecordingMeasurer(SUTS[name])
    assert drive(create(make_plan(joint)), stopped) == drive(create(make_plan(joint)), whole)
    assert all(result.loss_ratio > 0 for result in stopped.results if result.stopped_early)


def test_the_lowest_load_is_tried_when_nothing_above_it_meets_the_goal() -> None:
    plan = make_plan(goals=search_plan().goals[:1])
    search = create(plan)
    trials = drive(search, loss_ratio_of(Step(10_020.0)))
    assert [trial.rule for trial in trials] == ["highest"] + ["halve"] * (len(trials) - 2) + ["lowest"]
    [interval] = search.intervals()
    assert (interval.lower_load_pps, interval.lower_valid) == (plan.min_load_pps, True)


def test_nothing_met_leaves_a_flagged_bound_at_the_lowest_load() -> None:
    plan = make_plan()
    search = create(plan)
    trials = drive(search, lambda _trial: 1.0)
    assert trials[-1].intended_load_pps == plan.min_load_pps
    for interval in search.intervals():
        assert (interval.lower_load_pps, interval.lower_valid) == (plan.min_load_pps, False)
        assert (interval.upper_load_pps, interval.upper_valid) == (plan.min_load_pps, True)
        assert [flag.code for flag in interval.flags] == ["invalid-lower-bound", "degenerate"]


def test_a_goal_met_at_the_highest_load_takes_one_trial() -> None:
    plan = make_plan()
    search = create(plan)
    assert loads_mpps(drive(search, lambda _trial: 0.0)) == [10.0]
    for interval in search.intervals():
        assert (interval.lower_valid, interval.upper_valid) == (True, False)


def test_a_bound_stays_whatever_later_trials_say_and_the_contradiction_is_flagged() -> None:
    losses = {8.0: 0.9, 4.0: 0.9, 2.0: 0.0, 3.0: 0.0005, 2.5: 0.001, 2.25: 0.9, 2.125: 0.0}
    search = create(make_plan(min_load_pps=1.0, max_load_pps=8e6, width_ratio=0.1))
    drive(search, lambda trial: losses.get(round(trial.intended_load_pps / 1e6, 3), 0.9))
    ndr, pdr = search.intervals()
    assert ndr.flags == ()
    assert pdr.lower_load_pps is not None
    assert pdr.lower_load_pps > 2.99e6, "although 2.25 Mpps lost nearly everything when NDR was searched for"
    assert [flag.code for flag in pdr.flags] == ["loss-inversion"]


@pytest.mark.parametrize("name", SUTS)
def test_intervals_can_be_asked_at_any_time(name: str) -> None:
    search = create(make_plan())
    measurer = RecordingMeasurer(SUTS[name])
    assert all(each.lower_index is None and each.upper_index is None for each in search.intervals())
    while (trial := search.ask()) is not None:
        search.tell(Outcome(index=len(measurer.results), loss_ratio=measurer(trial)))
        for interval in search.intervals():
            assert interval.lower_index is not None
            assert interval.upper_index is not None
            lower, upper = measurer.results[interval.lower_index], measurer.results[interval.upper_index]
            assert lower.trial.intended_load_pps == interval.lower_load_pps
            assert upper.trial.intended_load_pps == interval.upper_load_pps
            assert interval.lower_valid == (lower.loss_ratio <= interval.goal.loss_ratio)
            assert interval.upper_valid == (upper.loss_ratio > interval.goal.loss_ratio)
            assert lower.trial.intended_load_pps <= upper.trial.intended_load_pps


def test_every_trial_says_why_by_which_rule_and_for_whom() -> None:
    for trial in drive(create(make_plan()), loss_ratio_of(SmoothCurve(2e6))):
        assert len(format_message(trial.reason)) > 20
        assert trial.rule in {"highest", "halve", "lowest"}
        assert trial.goal in {"NDR", "PDR 0.005"}


def test_a_width_too_small_for_numbers_still_ends() -> None:
    trials = drive(create(make_plan(width_ratio=1e-300)), loss_ratio_of(Step(1e6)))
    assert len(trials) < 200


def test_one_allowed_load_is_measured_once() -> None:
    plan = make_plan(min_load_pps=1e6, max_load_pps=1e6)
    assert loads_mpps(drive(create(plan), lambda _trial: 0.3)) == [1.0]
    with pytest.raises(ConfigError, match=r"is not above search.min_load"):
        create(make_plan(min_load_pps=2e6, max_load_pps=1e6))
