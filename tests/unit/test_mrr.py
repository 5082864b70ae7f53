"""Guarantees of the maximum receive rate: trials at the highest load, and plain statistics of the received counts."""

import statistics

import pytest
from tests.searching import Answer, drive, loss_ratio_of, search_plan
from tests.suts import Jitter, Step

from nodrop.formatting.messages import format_message
from nodrop.model.search_plan import SearchPlan
from nodrop.search import create
from nodrop.search.base import Outcome


def make_plan(**changed: object) -> SearchPlan:
    return search_plan().model_copy(update={"algorithm": "mrr", **changed})


def replay_losses(losses: list[float]) -> Answer:
    """Answer trials with these losses in order, at any load."""
    left = iter(losses)
    return lambda _trial: next(left)


def test_as_many_trials_as_asked_all_short_and_at_the_highest_load() -> None:
    plan = make_plan(trial_count=7)
    trials = drive(create(plan), loss_ratio_of(Step(1e6)))
    assert [(trial.intended_load_pps, trial.duration_s) for trial in trials] == [(10e6, 0.1)] * 7
    assert all(
        trial.stop is None and trial.rule == "highest" and len(format_message(trial.reason)) > 20 for trial in trials
    )


def test_the_estimate_is_mean_and_deviation_of_the_forwarding_rates() -> None:
    search = create(make_plan())
    losses = [0.1, 0.2, 0.15, 0.12, 0.5, 0.1, 0.11, 0.13, 0.14, 0.9]
    drive(search, replay_losses(losses))
    rates_pps = [10e6 * (1 - loss) for loss in losses]
    for interval in search.intervals():
        assert interval.estimate_pps == pytest.approx(statistics.fmean(rates_pps))
        assert interval.estimate_sd_pps == pytest.approx(statistics.pstdev(rates_pps))
        assert not interval.lower_valid
        assert not interval.upper_valid
        assert interval.lower_index == interval.upper_index == losses.index(0.9)
        assert interval.final


def test_a_step_gives_its_capacity_and_no_deviation() -> None:
    search = create(make_plan())
    drive(search, loss_ratio_of(Step(1_234_560.0)))
    assert search.intervals()[0].estimate_pps == pytest.approx(1_234_560.0)
    assert search.intervals()[0].estimate_sd_pps == pytest.approx(0.0, abs=1e-3)


def test_the_estimate_of_a_jittering_sut_lies_within_its_jitter() -> None:
    search = create(make_plan(trial_count=50))
    drive(search, loss_ratio_of(Jitter(1.5e6, 0.1, seed=5)))
    [ndr, _] = search.intervals()
    assert ndr.estimate_pps is not None
    assert ndr.estimate_sd_pps is not None
    assert abs(ndr.estimate_pps - 1.5e6) < 0.03 * 1.5e6
    assert ndr.estimate_sd_pps == pytest.approx(0.1 * 1.5e6 / 3**0.5, rel=0.3)  # of a uniform distribution


def test_the_highest_load_is_a_lower_bound_of_the_goals_that_every_trial_met() -> None:
    search = create(make_plan())
    drive(search, replay_losses([0.0] * 9 + [0.002]))
    ndr, pdr = search.intervals()
    assert (ndr.lower_valid, pdr.lower_valid) == (False, True)
    assert pdr.lower_load_pps == 10e6
    assert not pdr.upper_valid


def test_a_tester_that_falls_short_is_named() -> None:
    search = create(make_plan(trial_count=1))
    search.tell(Outcome(index=0, loss_ratio=0.4, offered_count=60, unsent_count=40))
    assert [flag.code for flag in search.intervals()[0].flags] == ["tester-limited"]


def test_intervals_can_be_asked_at_any_time_and_total_loss_is_survived() -> None:
    search = create(make_plan())
    assert all(each.lower_index is None and each.estimate_pps is None for each in search.intervals())
    search.tell(Outcome(index=0, loss_ratio=1.0))
    [ndr, _] = search.intervals()
    assert (ndr.estimate_pps, ndr.estimate_sd_pps, ndr.final) == (0.0, 0.0, False)
