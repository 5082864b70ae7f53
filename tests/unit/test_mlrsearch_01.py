"""Guarantees of the mlrsearch-01 search: bounds that enclose the truth, safe stop rules, no lost result."""

import math
import random

import pytest
from tests.searching import Answer, drive, loss_ratio_of, search_plan
from tests.suts import Buffer, LossFloor, SmoothCurve, Step
from tests.systems import (
    SUTS,
    RecordingMeasurer,
    assert_consistent,
    assert_encloses,
    assert_stopping_changes_no_load,
    reset_sut,
)

from nodrop.errors import ConfigError
from nodrop.formatting.messages import format_message
from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.search import create
from nodrop.search.base import Outcome
from nodrop.search.loss_table import LossTable, Measured

LOWEST_LOAD_FAILS = {
    "a step below the lowest load",
    "a loss floor below the larger ratio",
    "a loss floor above both ratios",
}
"""If no load meets loss ratio 0, every goal's search ends early."""


@pytest.mark.parametrize("name", SUTS)
@pytest.mark.parametrize("expansion_coefficient", [2.0, 4.0])
def test_valid_final_bounds_enclose_the_truth(name: str, expansion_coefficient: float) -> None:
    plan = search_plan(expansion_coefficient=expansion_coefficient)
    search = create(plan)
    drive(search, RecordingMeasurer(reset_sut(name)))
    for interval in search.intervals():
        truth = reset_sut(name).throughput(interval.goal.loss_ratio, plan.final_trial_duration_s)
        assert_encloses(interval, truth)
        if not interval.lower_valid:
            assert interval.lower_load_pps == plan.min_load_pps
            assert truth.low_pps <= plan.min_load_pps
        if not interval.upper_valid and interval.final:
            assert truth.high_pps >= interval.upper_load_pps


@pytest.mark.parametrize("name", [name for name in SUTS if name not in LOWEST_LOAD_FAILS])
def test_final_intervals_are_as_narrow_as_asked_when_the_smallest_ratio_has_a_lower_bound(name: str) -> None:
    plan = search_plan()
    search = create(plan)
    drive(search, RecordingMeasurer(reset_sut(name)))
    for interval in search.intervals():
        assert interval.lower_valid
        assert interval.final
        assert interval.lower_load_pps is not None
        assert interval.upper_load_pps is not None
        if interval.upper_valid:
            assert 1 - interval.lower_load_pps / interval.upper_load_pps <= plan.width_ratio
        else:
            assert interval.upper_load_pps == interval.lower_load_pps == plan.max_load_pps


@pytest.mark.parametrize("loss_ratios", [(0.0,), (0.0, 0.005), (0.0, 0.005, 0.5)])
@pytest.mark.parametrize("name", SUTS)
def test_a_stopped_trial_leads_to_the_same_loads_as_the_whole_one(name: str, loss_ratios: tuple[float, ...]) -> None:
    plan = search_plan(loss_ratios=loss_ratios)
    whole, stopped = assert_stopping_changes_no_load(plan, name)
    for part, full in zip(stopped.results, whole.results, strict=True):
        assert part.stopped_early == (full.trial.duration_s > part.duration_s)


def test_stopping_saves_time_on_a_step() -> None:
    whole, stopped = RecordingMeasurer(Step(1e6), stops=False), RecordingMeasurer(Step(1e6))
    for measurer in (whole, stopped):
        drive(create(search_plan()), measurer)
    assert sum(r.duration_s for r in stopped.results) < 0.8 * sum(r.duration_s for r in whole.results)


def test_the_first_lost_frame_stops_a_trial_when_every_goal_wants_no_loss() -> None:
    search = create(search_plan(loss_ratios=(0.0,)))
    trials = drive(search, loss_ratio_of(Step(1e6)))
    assert {trial.stop.lost_count for trial in trials if trial.stop} == {0}


def test_the_initial_phase_runs_its_trials_to_the_end_and_all_others_may_stop() -> None:
    trials = drive(create(search_plan()), loss_ratio_of(Step(1e6)))
    assert [trial.stop is None for trial in trials] == [True] * 3 + [False] * (len(trials) - 3)


def test_a_fired_stop_rule_is_certain_however_many_frames_streams_round_up_to() -> None:
    draw = random.Random(4)
    for _ in range(300):
        largest_ratio = draw.choice((0.0, 1e-7, 0.005, 0.02, 1 / 3, 0.5, draw.random()))
        plan = search_plan(
            loss_ratios=(largest_ratio,), min_load_pps=1.0, max_load_pps=10 ** draw.uniform(1, 8), final_s=0.1
        )
        search = create(plan)
        trials = drive(search, loss_ratio_of(Step(plan.max_load_pps * draw.random())))
        for trial in trials:
            if trial.stop is not None:
                intended_of_two_streams = 2 * math.ceil(trial.intended_load_pps * trial.duration_s / 2)
                assert (trial.stop.lost_count + 1) / intended_of_two_streams > largest_ratio


@pytest.mark.parametrize("name", SUTS)
def test_every_trial_says_why_and_stays_inside_the_allowed_loads(name: str) -> None:
    plan = search_plan(loss_ratios=(0.0, 0.005, 0.02))
    for trial in drive(create(plan), RecordingMeasurer(reset_sut(name))):
        assert len(format_message(trial.reason)) > 20
        assert trial.rule in {"initial", "split", "remeasure", "external-down", "external-up", "step-down"}
        assert trial.goal in {"NDR", "PDR 0.005", "PDR 0.02"} or trial.rule == "initial"
        assert plan.min_load_pps <= trial.intended_load_pps <= plan.max_load_pps


def test_reasons_read_as_the_story_of_the_search() -> None:
    plan = search_plan(intermediate_phases=1, initial_s=1.0, final_s=30.0)
    trials = drive(create(plan), loss_ratio_of(Buffer(1e6, 50_000)))
    assert [format_message(trial.reason) for trial in trials] == [
        "the forwarding rate at the highest load shows the order of magnitude",
        "1.05 Mpps came back of 10 Mpps: measuring at that rate",
        "1.05 Mpps is good enough for NDR: stepping up one width of 0.997 %",
        "NDR: splitting 1.05 Mpps to 1.0606 Mpps (0.997 %), the bounds of the 1 s trials, "
        "wider than the 0.5 % this phase needs",
        "re-measuring the NDR lower bound 1.05 Mpps of the 1 s trials at 30 s",
        "no NDR lower bound at 30 s yet: stepping down from 1.05 Mpps to 1.0292 Mpps",
        "no NDR lower bound at 30 s yet: stepping down from 1.0292 Mpps to 949.84 kpps",
        "NDR: splitting 949.84 kpps to 1.0292 Mpps (7.71 %), wider than the 0.5 % this phase needs",
        "NDR: splitting 988.7 kpps to 1.0292 Mpps (3.93 %), wider than the 0.5 % this phase needs",
        "NDR: splitting 988.7 kpps to 1.0087 Mpps (1.99 %), wider than the 0.5 % this phase needs",
        "NDR: splitting 998.67 kpps to 1.0087 Mpps (0.997 %), wider than the 0.5 % this phase needs",
    ]


@pytest.mark.parametrize("name", SUTS)
def test_intervals_can_be_asked_at_any_time_and_never_contradict_themselves(name: str) -> None:
    search = create(search_plan())
    measurer = RecordingMeasurer(reset_sut(name))
    assert all(i.lower_load_pps is None and i.upper_load_pps is None and not i.final for i in search.intervals())

    while (trial := search.ask()) is not None:
        search.tell(Outcome(index=len(measurer.results), loss_ratio=measurer(trial)))
        ndr, pdr = search.intervals()
        for interval in (ndr, pdr):
            assert_consistent(interval, measurer.results)
        assert not (ndr.lower_valid and not pdr.lower_valid), "what meets the smaller ratio meets the larger"


def test_after_one_lossy_trial_the_upper_bound_is_known_and_the_lower_flagged() -> None:
    search = create(search_plan())
    search.tell(Outcome(index=0, loss_ratio=0.25))
    for interval in search.intervals():
        assert (interval.upper_load_pps, interval.upper_valid, interval.upper_index) == (10_000_000.0, True, 0)
        assert (interval.lower_load_pps, interval.lower_valid, interval.final) == (10_000_000.0, False, False)


def test_bounds_of_shorter_trials_stand_in_until_longer_ones_have_their_own() -> None:
    search = create(search_plan(intermediate_phases=1))
    sut = loss_ratio_of(Buffer(1e6, 1000))
    count = 0
    while (trial := search.ask()) is not None and trial.duration_s < 2.0:
        search.tell(Outcome(index=count, loss_ratio=sut(trial)))
        count += 1
    before = search.intervals()[0]
    assert trial is not None
    search.tell(Outcome(index=count, loss_ratio=1.0))
    after = search.intervals()[0]
    assert before.lower_valid
    assert before.upper_valid
    assert (after.upper_index, after.upper_valid) == (count, True)
    assert (after.lower_index, after.lower_valid, after.final) == (before.lower_index, True, False)


def test_a_lowest_load_that_fails_one_goal_keeps_what_is_known_of_the_others() -> None:
    plan = search_plan()
    search = create(plan)
    drive(search, loss_ratio_of(LossFloor(900_000.0, 0.001)))
    ndr, pdr = search.intervals()
    assert (ndr.lower_load_pps, ndr.lower_valid) == (plan.min_load_pps, False)
    assert (ndr.upper_load_pps, ndr.upper_valid) == (plan.min_load_pps, True)
    assert pdr.lower_valid
    assert pdr.upper_valid
    assert pdr.upper_load_pps is not None
    assert pdr.upper_load_pps > 900_000.0
    assert not pdr.final
    assert [flag.code for flag in ndr.flags] == ["invalid-lower-bound", "degenerate"]
    assert [(flag.code, format_message(flag)) for flag in pdr.flags] == [
        (
            "goal-lost",
            "The 2 s trials for loss ratio 0.005 were broken off because the lowest load allowed, 10 kpps, already "
            "loses too much for NDR, which ends the phase for all goals.",
        )
    ]


def test_a_goal_is_not_called_lost_when_it_wanted_nothing_more() -> None:
    search = create(search_plan())
    drive(search, lambda _trial: 1.0)
    assert all("goal-lost" not in {flag.code for flag in interval.flags} for interval in search.intervals())


def test_valid_bounds_carry_no_flags() -> None:
    search = create(search_plan())
    drive(search, loss_ratio_of(Step(1e6)))
    assert [interval.flags for interval in search.intervals()] == [(), ()]


def test_a_goal_met_at_the_highest_load_has_no_valid_upper_bound() -> None:
    search = create(search_plan())
    drive(search, lambda _trial: 0.0)
    for interval in search.intervals():
        assert (interval.lower_load_pps, interval.lower_valid) == (10_000_000.0, True)
        assert (interval.upper_load_pps, interval.upper_valid) == (10_000_000.0, False)
        assert [flag.code for flag in interval.flags] == ["invalid-upper-bound", "degenerate"]


def test_a_load_above_a_lossy_one_is_no_lower_bound_however_lucky_it_was() -> None:
    low, lossy, lucky = (Measured(load, 1.0, loss, 0) for load, loss in ((1e6, 0.0), (2e6, 0.1), (3e6, 0.0)))
    table = LossTable(1.0, [lucky, low, lossy])
    assert table.sides(0.0) == ((low,), (lossy, lucky))
    assert table.sides(0.1) == ((low, lossy, lucky), ())


def test_intervals_come_in_the_order_of_the_goals_and_equal_ratios_share_their_bounds() -> None:
    by_rising_ratio = search_plan(loss_ratios=(0.0, 0.005))
    goals = (
        Goal(label="PDR", loss_ratio=0.005),
        Goal(label="strict", loss_ratio=0.0),
        Goal(label="NDR", loss_ratio=0.0),
    )
    mixed = SearchPlan(**{**dict(by_rising_ratio), "goals": goals})
    answer: Answer = loss_ratio_of(SmoothCurve(2e6))
    mixed_search, plain_search = create(mixed), create(by_rising_ratio)

    mixed_loads, plain_loads = ([t.intended_load_pps for t in drive(s, answer)] for s in (mixed_search, plain_search))
    assert mixed_loads == plain_loads
    pdr, strict, ndr = mixed_search.intervals()
    assert [i.goal for i in (pdr, strict, ndr)] == list(goals)
    assert (strict.lower_index, strict.upper_index) == (ndr.lower_index, ndr.upper_index)
    assert pdr.lower_load_pps != ndr.lower_load_pps


def test_ask_repeats_itself_until_told() -> None:
    search = create(search_plan())
    assert search.ask() == search.ask()
    first = search.ask()
    search.tell(Outcome(index=0, loss_ratio=0.5))
    assert search.ask() != first


def test_a_search_that_is_over_asks_no_more_and_refuses_to_be_told() -> None:
    search = create(search_plan())
    drive(search, loss_ratio_of(Step(1e6)))
    assert search.ask() is None
    with pytest.raises(RuntimeError, match="the search is over"):
        search.tell(Outcome(index=99, loss_ratio=0.0))


def test_one_allowed_load_is_measured_once_per_duration() -> None:
    search = create(search_plan(min_load_pps=1e6, max_load_pps=1e6))
    trials = drive(search, lambda _trial: 0.0)
    assert [(t.intended_load_pps, t.duration_s) for t in trials] == [
        (1e6, 0.1),
        (1e6, pytest.approx(0.2**0.5)),
        (1e6, 2.0),
    ]


def test_a_step_too_wide_for_floating_point_goes_to_the_highest_load() -> None:
    plan = search_plan(min_load_pps=1e3, max_load_pps=1e9, expansion_coefficient=6.0)
    trials = drive(create(plan), lambda trial: 1.0 if trial.stop is None and trial.intended_load_pps == 1e9 else 0.0)
    assert (trials[-1].intended_load_pps, trials[-1].duration_s) == (1e9, 2.0)


def test_durations_grow_geometrically_to_exactly_the_final_one() -> None:
    trials = drive(create(search_plan(initial_s=1.0, final_s=30.0)), loss_ratio_of(Step(1e6)))
    assert sorted({t.duration_s for t in trials}) == [1.0, 5.477225575051661, 30.0]


def test_a_total_loss_at_every_load_ends_at_the_lowest() -> None:
    plan = search_plan()
    search = create(plan)
    trials = drive(search, lambda _trial: 1.0)
    assert trials[-1].intended_load_pps == plan.min_load_pps
    assert trials[-1].duration_s == plan.final_trial_duration_s
    assert not any(interval.lower_valid for interval in search.intervals())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"min_load_pps": 2e6, "max_load_pps": 1e6}, "is not above search.min_load"),
        ({"initial_s": 3.0, "final_s": 2.0}, "make final_trial_duration at least as long"),
    ],
)
def test_plans_that_leave_nothing_to_search_are_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        create(search_plan(**wrong))  # type: ignore[arg-type]
