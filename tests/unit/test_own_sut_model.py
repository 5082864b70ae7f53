"""The model of a SUT from all trials: capacity, buffer, variation, thresholds of the goals."""

from dataclasses import replace

import pytest
from tests.own import NDR, PDR
from tests.traces import trace

from nodrop.model.goal import Goal
from nodrop.search.probe_search.goal_evidence import GoalEvidence
from nodrop.search.probe_search.sut_model import SutBehavior, SutModel, find_trend, is_collapsed
from nodrop.search.probe_search.trial_trace import Trace

OFFERED_PPS = 9.2e6


def overloaded_trial(
    capacity_pps: float, load_pps: float = OFFERED_PPS, seconds: float = 0.5, index: int = 0, buffered_s: float = 0.0
) -> Trace:
    """Return a trial that lost the load above a capacity, from the time on at which a buffer was full."""
    lost = (load_pps - capacity_pps) * 0.05
    count, late = round(seconds / 0.05), round(buffered_s / 0.05)
    windows = [0.0] * late + [lost] * (count - late)
    return trace(windows, load_pps, window_s=0.05, index=index, intended_s=30.0)


def model(*capacities_pps: float) -> SutModel:
    """Return the model after trials of half a second each that showed these capacities."""
    result = SutModel()
    probes = [overloaded_trial(each, index=index) for index, each in enumerate(capacities_pps)]
    for look in probes:
        result.learn(look)
    result.update_behavior(probes)
    return result


def threshold_pps(result: SutModel, goal: Goal) -> float:
    estimate = result.threshold(GoalEvidence(goal, 0.5))
    assert estimate
    return estimate.load_pps


@pytest.mark.parametrize(
    ("capacities_mpps", "behavior"),
    [
        ((9.1, 9.1, 9.1, 9.1, 9.1), SutBehavior.STABLE),
        ((9.10, 9.13, 9.05, 9.12, 9.07), SutBehavior.SCATTERED),
        ((9.1, 8.3, 9.1, 9.1, 8.3), SutBehavior.MODES),
        ((8.9, 8.95, 8.99, 9.02, 9.04), SutBehavior.RISING),
        ((9.1, 9.08, 9.06, 9.04, 9.02), SutBehavior.FALLING),
    ],
)
def test_looks_in_a_row_show_how_a_sut_behaves(capacities_mpps: tuple[float, ...], behavior: SutBehavior) -> None:
    result = model(*(each * 1e6 for each in capacities_mpps))
    assert result.behavior is behavior
    assert result.surveyed


def test_a_single_look_shows_nothing_of_how_a_sut_varies() -> None:
    result = model(9.1e6)
    assert result.behavior is SutBehavior.STABLE
    assert not result.surveyed


def test_what_a_sut_did_before_it_changed_for_good_is_forgotten() -> None:
    result = model(8.5e6, 8.5e6)
    probes = [overloaded_trial(9.0e6, index=index) for index in range(2, 7)]
    for look in probes:
        result.learn(look)
    result.update_behavior(probes)
    assert result.behavior is SutBehavior.STABLE
    assert [each.index for each in result.current] == [2, 3, 4, 5, 6]
    assert threshold_pps(result, NDR) == pytest.approx(9.0e6, rel=1e-3)


def test_three_values_are_no_trend_and_equal_ones_never_are() -> None:
    assert find_trend([1.0, 2.0, 3.0]) is None
    assert find_trend([5.0] * 10) is None
    assert find_trend([1.0, 2.0, 3.0, 4.0]) is SutBehavior.RISING
    assert find_trend([4.0, 3.0, 2.0, 1.0]) is SutBehavior.FALLING


def test_the_capacity_is_that_of_the_latest_overload() -> None:
    assert SutModel().capacity_pps() is None
    result = model(9.1e6, 9.0e6)
    result.learn(trace([0] * 10, 8e6, index=2))
    assert result.capacity_pps() == pytest.approx(9.0e6)


@pytest.mark.parametrize("goal", [NDR, PDR])
def test_the_threshold_of_a_hard_limit_follows_from_one_look(goal: Goal) -> None:
    assert threshold_pps(model(9.1e6), goal) == pytest.approx(9.1e6 / (1.0 - goal.loss_ratio), rel=1e-4)


def test_nothing_is_said_of_a_threshold_before_anything_was_overloaded() -> None:
    result = SutModel()
    result.learn(trace([0] * 10, 8e6))
    assert result.threshold(GoalEvidence(NDR, 0.5)) is None
    assert result.expected_lost(9e6, 1.0) == 0.0


def test_an_estimate_from_far_above_says_that_it_is_one() -> None:
    far = SutModel()
    far.learn(overloaded_trial(9.1e6, load_pps=37.5e6))
    estimate, near = far.threshold(GoalEvidence(NDR, 0.5)), model(9.1e6).threshold(GoalEvidence(NDR, 0.5))
    assert estimate and near
    assert not estimate.near and near.near
    assert estimate.sd_ratio > near.sd_ratio


def test_of_two_modes_the_more_frequent_one_makes_the_threshold() -> None:
    result = model(9.1e6, 8.3e6, 9.1e6, 9.1e6, 9.1e6)
    assert threshold_pps(result, NDR) == pytest.approx(9.1e6, rel=1e-3)
    assert threshold_pps(model(8.3e6, 9.1e6, 8.3e6, 8.3e6, 8.3e6), NDR) == pytest.approx(8.3e6, rel=1e-3)


def test_a_trial_in_the_rarer_slow_mode_is_an_exception_and_one_in_the_usual_mode_is_not() -> None:
    result = model(9.1e6, 8.3e6, 9.1e6, 9.1e6, 9.1e6)
    assert result.is_slow_exception(overloaded_trial(8.3e6))
    assert not result.is_slow_exception(overloaded_trial(9.1e6))
    usual = model(8.3e6, 9.1e6, 8.3e6, 8.3e6, 8.3e6)
    assert not usual.is_slow_exception(overloaded_trial(8.3e6))


def test_as_long_as_neither_mode_is_clearly_ahead_it_is_open_which_is_usual() -> None:
    assert model(9.1e6, 8.3e6, 9.1e6, 8.3e6).undecided_modes()
    assert not model(9.1e6, 8.3e6, 9.1e6, 9.1e6, 9.1e6).undecided_modes()
    assert not model(9.1e6, 9.1e6).undecided_modes()


def test_a_trial_without_loss_where_slow_ones_lose_was_a_fast_one() -> None:
    result = model(9.1e6, 8.3e6, 9.1e6, 8.3e6)
    for index in range(4, 7):
        result.learn(trace([0] * 10, 9.0e6, index=index))
    split = result.modes()
    assert split and (len(split[0]), len(split[1])) == (2, 5)


def test_the_buffer_is_the_smallest_that_any_trial_showed() -> None:
    result = SutModel()
    result.learn(overloaded_trial(9.1e6, buffered_s=0.2))
    result.learn(overloaded_trial(9.1e6, buffered_s=0.1, index=1))
    assert result.buffer_count == pytest.approx(0.1 * (OFFERED_PPS - 9.1e6), rel=1e-3)
    assert SutModel().buffer_count == 0.0


def test_a_buffer_matters_in_short_trials_and_not_in_long_ones() -> None:
    result = SutModel()
    result.learn(overloaded_trial(9.1e6, buffered_s=0.2))  # 20,000 frames
    assert result.buffer_matters(9e6, 1.0)
    assert not result.buffer_matters(9e6, 30.0)


def test_what_a_load_will_lose_is_what_exceeds_the_capacity_once_the_buffer_is_full() -> None:
    result = SutModel()
    result.learn(overloaded_trial(9.1e6, buffered_s=0.2))
    assert result.expected_lost(9.3e6, 1.0) == pytest.approx(0.8 * 0.2e6 - 20_000, rel=1e-3)
    assert result.expected_lost(9.0e6, 1.0) == 0.0


def test_a_short_overload_is_expected_to_go_on_as_it_ended() -> None:
    result, look = model(9.1e6), overloaded_trial(9.1e6)
    assert result.expected_ratio(look, 30.0) == pytest.approx(1.0 - 9.1 / 9.2, rel=1e-3)
    quiet = trace([0] * 10, 8e6)
    assert result.expected_ratio(quiet, 30.0) == 0.0


def test_a_sut_that_hardly_forwards_is_swamped_and_tells_no_threshold() -> None:
    swamped = overloaded_trial(0.5e6)
    assert is_collapsed(swamped) and not is_collapsed(overloaded_trial(5e6))
    result = SutModel()
    result.learn(swamped)
    assert result.threshold(GoalEvidence(NDR, 0.5)) is None


def test_a_loss_that_rises_smoothly_is_followed_between_two_loads() -> None:
    result = SutModel()
    # A loss ratio that rises with a power of the load, unlike a hard limit's: 0.1 % at 9 Mpps, 1 % at 9.4.
    gentle = [(9.0e6, 0.001), (9.4e6, 0.01)]
    probes = [trace([r * load * 0.05] * 10, load, window_s=0.05, index=i) for i, (load, r) in enumerate(gentle)]
    for look in probes:
        result.learn(look)
    assert not result.is_smooth(0.003)  # No trial has shown yet whether the SUT varies.
    result.surveyed = True
    assert result.is_smooth(0.003)
    found_pps = threshold_pps(result, PDR.model_copy(update={"loss_ratio": 10**-2.5}))
    assert found_pps == pytest.approx((9.0e6 * 9.4e6) ** 0.5, rel=1e-6)  # halfway on both logarithmic axes


def test_a_sut_that_drifts_down_is_expected_to_have_fallen_on_by_the_end_of_the_next_trial() -> None:
    result = SutModel()
    for index, capacity_pps in enumerate((9.1e6, 9.0e6)):
        result.learn(replace(overloaded_trial(capacity_pps, index=index), started_s=100.0 * index))
    assert result.fall_ratio(30.0) == 0.0
    result.behavior = SutBehavior.FALLING
    # 1.1 % in 100 s.
    assert result.fall_ratio(30.0) == pytest.approx((1.0 - 9.0 / 9.1) * 0.3, rel=0.02)


@pytest.mark.parametrize("capacities_mpps", [(9.1, 9.1, 9.1, 9.1, 9.1), (9.1, 8.3, 9.1, 9.1, 8.3)])
def test_a_trial_half_of_which_nothing_passed_has_a_threshold_above_nothing(capacities_mpps: tuple[float, ...]) -> None:
    result = model(*(each * 1e6 for each in capacities_mpps))
    whole = OFFERED_PPS * 0.05
    result.learn(trace([whole] * 20 + [whole / 92] * 20, OFFERED_PPS, window_s=0.05, index=9))
    assert threshold_pps(result, PDR) > 0.0


@pytest.mark.parametrize("goal", [NDR, PDR])
@pytest.mark.parametrize("paused_share", [0.3, 0.6, 0.8])
def test_a_pause_of_the_sut_does_not_make_the_expected_threshold_zero(goal: Goal, paused_share: float) -> None:
    count, per_window = 40, OFFERED_PPS * 0.05
    paused = round(paused_share * count)
    interrupted = [0.2 * per_window] * (count - paused) + [per_window] * paused
    sut_model = SutModel()
    sut_model.learn(trace(interrupted, OFFERED_PPS, window_s=0.05, intended_s=30.0))
    assert threshold_pps(sut_model, goal) >= 0.4 * 0.8 * (1.0 - paused_share) * OFFERED_PPS
