"""The assurance of a bound: from the trials around it, from the model, and from the number of frames sent."""

import math
from functools import partial
from itertools import pairwise

import pytest
from tests import traces

from nodrop.search.probe_search.confidence import (
    MODEL_ERROR,
    LoadEvidence,
    compute_above_probability,
    compute_loss_ratio_limit,
)
from nodrop.search.probe_search.sut_model import Estimate

LOAD = 1e6
trace = partial(traces.trace, window_s=1.0)
NEAR = Estimate(load_pps=1.001e6, sd_ratio=1e-3, near=True)


def met_load(load_pps: float, count: float = 1.0) -> LoadEvidence:
    return LoadEvidence(load_pps, count, 0.0)


def missed_load(load_pps: float, count: float = 1.0) -> LoadEvidence:
    return LoadEvidence(load_pps, 0.0, count)


def test_nothing_known_is_even_chances() -> None:
    assert compute_above_probability(LOAD, [], None) == pytest.approx(0.5)
    assert compute_above_probability(LOAD, [met_load(LOAD), missed_load(LOAD)], None) == pytest.approx(0.5)


def test_what_speaks_against_a_load_mirrors_what_speaks_for_it() -> None:
    above = compute_above_probability(LOAD, [met_load(LOAD, 3), missed_load(LOAD * 1.01)], None)
    below = compute_above_probability(LOAD, [missed_load(LOAD, 3), met_load(LOAD / 1.01)], None)
    assert above == pytest.approx(1.0 - below)


def test_each_trial_that_agrees_makes_a_bound_surer() -> None:
    chances = [compute_above_probability(LOAD, [met_load(LOAD, count)], None) for count in range(6)]
    assert all(more > less for less, more in pairwise(chances))
    doubted = [
        compute_above_probability(LOAD, [met_load(LOAD, 5), missed_load(LOAD, count)], None) for count in range(6)
    ]
    assert all(more < less for less, more in pairwise(doubted))


def test_a_trial_says_the_more_of_a_load_the_nearer_it_was() -> None:
    failures = [
        compute_above_probability(LOAD, [met_load(LOAD), missed_load(LOAD * (1.0 + by))], None)
        for by in (0.001, 0.01, 0.1, 0.5)
    ]
    assert all(farther > nearer for nearer, farther in pairwise(failures))


def test_a_lower_load_is_likelier_to_be_below_the_threshold() -> None:
    evidence = [met_load(0.99e6), missed_load(1.01e6)]
    chances = [
        compute_above_probability(load, evidence, NEAR) for load in (0.98e6, 0.99e6, 0.999e6, 1.001e6, 1.01e6, 1.02e6)
    ]
    assert all(low >= high for low, high in pairwise(chances))
    assert chances[0] > 0.9 and chances[-1] < 0.1


def test_the_model_counts_as_long_as_trials_are_few() -> None:
    assert compute_above_probability(LOAD, [met_load(LOAD)], NEAR) > compute_above_probability(
        LOAD, [met_load(LOAD)], None
    )
    far = Estimate(load_pps=0.9e6, sd_ratio=1e-3, near=True)
    assert (
        compute_above_probability(LOAD, [met_load(LOAD)], far)
        < 0.5
        < compute_above_probability(LOAD, [met_load(LOAD, 6)], far)
    )


def test_the_model_alone_is_followed_as_far_as_students_distribution_says() -> None:
    # Tables of t with three degrees of freedom: 0.95 at 2.353; twenty trials make the middle equally certain.
    sd_ratio = math.sqrt(20 * 0.91e-6)
    estimate = Estimate(LOAD * math.exp(2.353e-3), sd_ratio, near=True, trial_count=20)
    assert compute_above_probability(LOAD, [], estimate) == pytest.approx(0.95 * 0.95 + 0.05 * 0.5, abs=0.01)


def test_no_bound_is_surer_than_the_model_has_shown_to_be() -> None:
    assert compute_above_probability(LOAD, [met_load(LOAD, 100)], NEAR) == 1.0 - MODEL_ERROR
    assert compute_above_probability(LOAD, [missed_load(LOAD, 100)], None) == MODEL_ERROR


def test_many_trials_that_contradict_each_other_still_give_a_chance() -> None:
    loads = [LOAD * (1.0 + 0.001 * step) for step in range(-50, 50)]
    muddle = [LoadEvidence(load, 40.0, 40.0) for load in loads]
    assert MODEL_ERROR <= compute_above_probability(LOAD, muddle, NEAR) <= 1.0 - MODEL_ERROR


@pytest.mark.parametrize("seconds", [1, 30, 300])
def test_no_loss_in_n_frames_leaves_three_nths_open(seconds: int) -> None:
    # The rule of three: the 95 % quantile of the exponential distribution, -ln 0.05, is 2.996.
    assert compute_loss_ratio_limit([trace((0,) * seconds)]) == pytest.approx(2.996 / (LOAD * seconds), rel=1e-3)


def test_loss_in_bursts_leaves_more_open_than_the_same_loss_spread_evenly() -> None:
    even, burst = compute_loss_ratio_limit([trace((100,) * 10)]), compute_loss_ratio_limit([trace((1000, *(0,) * 9))])
    assert 1e-4 < even < burst
    # A sum of 1000 independent losses is known to a standard deviation of the square root of 1000.
    assert even == pytest.approx((1000 + 1.83 * math.sqrt(1000)) / (LOAD * 10), rel=1e-6)


def test_where_frames_get_lost_many_at_a_time_none_lost_leaves_as_much_more_open() -> None:
    assert compute_loss_ratio_limit([trace((0,))], 1000.0) == pytest.approx(
        1000 * compute_loss_ratio_limit([trace((0,))])
    )


def test_trials_without_loss_count_together() -> None:
    assert compute_loss_ratio_limit([trace((0,) * 10)] * 3) == pytest.approx(
        compute_loss_ratio_limit([trace((0,) * 30)])
    )


def test_trials_that_differ_leave_more_open_than_trials_that_agree() -> None:
    differing = [trace((lost,) * 10) for lost in (0, 1000, 2000)]
    assert compute_loss_ratio_limit(differing) > 1.5 * compute_loss_ratio_limit([trace((1000,) * 10)] * 3)


def test_a_limit_is_never_above_all() -> None:
    assert compute_loss_ratio_limit([trace((1_000_000, 1_000_000))]) == 1.0
