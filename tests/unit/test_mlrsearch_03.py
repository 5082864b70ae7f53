"""Guarantees of the mlrsearch-03 search: enclosing bounds, safe stop rules, honest intervals, termination."""

import random

import pytest
from tests.searching import drive, loss_ratio_of, search_plan
from tests.suts import Step
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
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Outcome


def plan_03(**changes: float | tuple[float, ...]) -> SearchPlan:
    return search_plan(algorithm="mlrsearch-03", **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SUTS)
@pytest.mark.parametrize("doublings", [1, 2])
def test_valid_final_bounds_enclose_the_truth(name: str, doublings: int) -> None:
    plan = plan_03(doublings=doublings)
    search = create(plan)
    drive(search, RecordingMeasurer(reset_sut(name)))
    for interval in search.intervals():
        truth = reset_sut(name).throughput(interval.goal.loss_ratio, plan.final_trial_duration_s)
        assert_encloses(interval, truth)
        if interval.lower_valid and interval.upper_valid:
            assert interval.final
            assert 1 - interval.lower_load_pps / interval.upper_load_pps <= plan.width_ratio
        if not interval.lower_valid:
            assert interval.lower_load_pps == plan.min_load_pps
            assert truth.low_pps <= plan.min_load_pps


@pytest.mark.parametrize("loss_ratios", [(0.0,), (0.0, 0.005), (0.0, 0.5)])
@pytest.mark.parametrize("name", SUTS)
def test_a_stopped_trial_leads_to_the_same_loads_as_the_whole_one(name: str, loss_ratios: tuple[float, ...]) -> None:
    assert_stopping_changes_no_load(plan_03(loss_ratios=loss_ratios), name)


@pytest.mark.parametrize("name", SUTS)
def test_intervals_can_be_asked_at_any_time_and_never_contradict_themselves(name: str) -> None:
    search = create(plan_03())
    measurer = RecordingMeasurer(reset_sut(name))
    assert all(i.lower_load_pps is None and i.upper_load_pps is None and not i.final for i in search.intervals())
    while (trial := search.ask()) is not None:
        search.tell(Outcome(index=len(measurer.results), loss_ratio=measurer(trial)))
        for interval in search.intervals():
            assert_consistent(interval, measurer.results)
            codes = {flag.code for flag in interval.flags}
            assert ("invalid-lower-bound" in codes) == (not interval.lower_valid)
            assert ("invalid-upper-bound" in codes) == (not interval.upper_valid)


@pytest.mark.parametrize("name", SUTS)
def test_every_trial_says_why_for_which_goal_and_by_which_rule(name: str) -> None:
    plan = plan_03()
    for trial in drive(create(plan), RecordingMeasurer(reset_sut(name))):
        assert len(format_message(trial.reason)) > 20
        assert trial.rule in {"initial", "external-down", "external-up", "bisect", "remeasure"}
        assert trial.goal in {"NDR", "PDR 0.005"} or trial.rule == "initial"
        assert plan.min_load_pps <= trial.intended_load_pps <= plan.max_load_pps


def test_a_bound_that_fails_when_measured_for_longer_gives_way_to_the_one_before_it() -> None:
    search = create(plan_03(loss_ratios=(0.0,), intermediate_phases=0))
    sut = loss_ratio_of(Step(1e6))
    report: list[tuple[Trial, float]] = []
    while (trial := search.ask()) is not None and trial.duration_s < 2.0:
        report.append((trial, sut(trial)))
        search.tell(Outcome(index=len(report) - 1, loss_ratio=report[-1][1]))
    assert trial is not None
    assert trial.rule in {"bisect", "remeasure"}
    search.tell(Outcome(index=len(report), loss_ratio=1.0))

    (interval,) = search.intervals()
    assert interval.lower_index is not None
    assert interval.lower_valid
    assert interval.upper_valid
    assert not interval.final
    assert report[interval.lower_index][0].duration_s < 2.0
    assert interval.upper_load_pps == trial.intended_load_pps


def test_a_goal_that_fails_at_the_lowest_load_does_not_keep_the_other_from_its_end() -> None:
    """The published search would measure above NDR's upper bound, which met the goal, until its time is up."""
    draw = random.Random(8)
    for _ in range(300):
        search = create(plan_03())
        drive(search, lambda _trial: draw.choice((0.0, 0.0, 0.001, 0.9)))
        assert search.ask() is None


def test_a_total_loss_at_every_load_ends_at_the_lowest() -> None:
    plan = plan_03()
    search = create(plan)
    trials = drive(search, lambda _trial: 1.0)
    assert (trials[-1].intended_load_pps, trials[-1].duration_s) == (plan.min_load_pps, plan.final_trial_duration_s)
    assert all("invalid-lower-bound" in {flag.code for flag in i.flags} for i in search.intervals())


def test_a_goal_met_at_the_highest_load_has_no_valid_upper_bound() -> None:
    search = create(plan_03())
    trials = drive(search, lambda _trial: 0.0)
    assert trials[-1].duration_s == 2.0
    for interval in search.intervals():
        assert (interval.upper_load_pps, interval.upper_valid) == (10_000_000.0, False)
        assert interval.lower_valid
        assert [flag.code for flag in interval.flags] == ["invalid-upper-bound"]


@pytest.mark.parametrize("loss_ratio", [0.0, 0.5])
def test_one_allowed_load_ends_with_a_degenerate_interval(loss_ratio: float) -> None:
    search = create(plan_03(min_load_pps=1e6, max_load_pps=1e6))
    trials = drive(search, lambda _trial: loss_ratio)
    assert [t.duration_s for t in trials] == [0.1, 0.1, pytest.approx(0.2**0.5), 2.0]
    for interval in search.intervals():
        assert interval.lower_valid == (not interval.upper_valid) == (loss_ratio == 0.0)
        assert interval.flags[-1].code == "degenerate"


@pytest.mark.parametrize("loss_ratios", [(0.005,), (0.001, 0.005), (0.0, 0.001, 0.005)])
def test_other_goals_than_ndr_and_one_pdr_are_refused_with_another_search(loss_ratios: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match=r"are not 0 and at most one other, .* mlrsearch-01"):
        create(plan_03(loss_ratios=loss_ratios))
