"""Intervals, tests and numbers of repeats, compared with SciPy, R and brute force."""

import math
from itertools import combinations
from random import Random

import pytest
from scipy import stats

from nodrop.analysis.statistics import (
    EffectEstimate,
    RunPair,
    RunSample,
    adjust_p_values,
    count_assignments,
    estimate_drift,
    estimate_effect,
    find_repeats_needed,
)

A = (10.01, 9.97, 10.04, 10.00, 9.92)
B = (9.81, 9.93, 9.79, 9.96, 9.78, 9.70)


def values(at: tuple[float, ...], width: float = 0.0) -> RunSample:
    return RunSample(at, (width,) * len(at))


def estimate(at_a: tuple[float, ...] = A, at_b: tuple[float, ...] = B, width: float = 0.0) -> EffectEstimate:
    return estimate_effect(values(at_a, width), values(at_b, width), floor=1e-9, assumed=0.02)


def make_pairs(count: int) -> list[RunPair]:
    return [RunPair(index, index, 1) for index in range(count)]


def test_sides_with_repeats_are_compared_as_scipy_does_by_welch() -> None:
    reference = stats.ttest_ind(B, A, equal_var=False)
    actual = estimate()
    assert actual.method == "welch"
    assert actual.p == pytest.approx(reference.pvalue)
    assert actual.freedom == pytest.approx(reference.df)
    interval = reference.confidence_interval(0.95)
    assert actual.interval(0.95) == pytest.approx((interval.low, interval.high))


def test_two_one_sided_tests_are_scipys_with_shifted_sides() -> None:
    margin = 0.25
    above = stats.ttest_ind([each + margin for each in B], A, equal_var=False, alternative="greater").pvalue
    below = stats.ttest_ind([each - margin for each in B], A, equal_var=False, alternative="less").pvalue
    assert estimate().p_equivalent(margin) == pytest.approx(max(above, below))


def test_a_side_with_one_run_is_compared_by_the_scatter_of_the_other() -> None:
    actual = estimate(at_a=(10.0,))
    reference = stats.ttest_ind(B, (10.0,), equal_var=True)
    assert actual.method == "pooled"
    assert actual.p == pytest.approx(reference.pvalue)
    assert estimate(B, (10.0,)).p == pytest.approx(reference.pvalue)


def test_one_run_each_has_an_interval_from_an_assumption() -> None:
    own = estimate((10.0,), (10.1,))
    assert own.method == "assumed"
    half = stats.norm.ppf(0.975) * 0.02 * math.sqrt(2)
    assert own.interval(0.95) == pytest.approx((0.1 - half, 0.1 + half))


def test_pairs_in_balanced_turn_are_compared_as_scipy_does_paired() -> None:
    at_a, at_b = (*A, 9.90), B
    pairs = [RunPair(index, index, lead) for index, lead in enumerate((1, -1, -1, 1, -1, 1))]
    actual = estimate_effect(values(at_a), values(at_b), 1e-9, 0.02, pairs)
    reference = stats.ttest_rel(at_b, at_a)
    assert actual.method == "paired"
    assert actual.p == pytest.approx(reference.pvalue)


def test_a_steady_drift_leaves_no_trace_when_sides_are_measured_in_turn() -> None:
    places = range(12)
    at = [5.0 - 0.003 * place + 1e-6 * (place % 3) for place in places]
    own = estimate_effect(values(tuple(at[::2])), values(tuple(at[1::2])), 1e-9, 0.02, make_pairs(6))
    assert own.effect == pytest.approx(0.0, abs=2e-6)
    assert estimate_effect(values(tuple(at[::2])), values(tuple(at[1::2])), 1e-9, 0.02).effect == pytest.approx(
        -0.003, 1e-2
    )


def test_few_pairs_are_compared_as_if_they_were_none() -> None:
    assert estimate_effect(values(A[:4]), values(B[:4]), 1e-9, 0.02, make_pairs(4)).method == "welch"


def test_identical_figures_are_not_infinitely_sure() -> None:
    own = estimate_effect(values((1.0,) * 5), values((1.001,) * 5), floor=0.001, assumed=0.02)
    assert own.error == pytest.approx(0.001 * math.sqrt(2 / 5))


def test_bounds_that_always_fall_on_the_same_loads_leave_their_width_open_however_many_repeats() -> None:
    width = 0.01
    few, many = (
        estimate_effect(values((1.0,) * count, width), values((1.01,) * count, width), floor=1e-6, assumed=0.02)
        for count in (3, 300)
    )
    of_two_even_distributions = width * math.sqrt(2 / 12)
    assert few.error == pytest.approx(of_two_even_distributions, rel=1e-3)
    assert many.error == pytest.approx(of_two_even_distributions, rel=1e-3)


def test_scatter_wider_than_the_bounds_averages_their_width_out() -> None:
    assert estimate(width=0.02).error == pytest.approx(estimate().error, rel=1e-6)


def test_what_is_left_of_a_quantized_mean_is_at_least_what_simulation_finds_and_at_most_twice_that() -> None:
    """Return means of noise on a grid of loads, over truths anywhere between two loads."""
    width, sd, rng = 1.0, 0.2, Random(1)
    misses = []
    for _ in range(1500):
        truth = rng.random()
        mean = sum(math.floor(truth + rng.gauss(0.0, sd)) + 0.5 for _ in range(400)) / 400
        misses.append(mean - truth)
    left = sum(miss**2 for miss in misses) / len(misses) - sd**2 / 400
    scattered = tuple(rng.gauss(0.0, sd) for _ in range(4000))
    own = estimate_effect(values(scattered, width), values(scattered, width), 1e-9, 0.02)
    assert left < own.hidden / 2 < 2 * left


def test_chances_are_adjusted_as_in_the_example_of_r() -> None:
    """`p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")`"""
    assert adjust_p_values((0.01, 0.04, 0.03, 0.005), (1.0,) * 4) == pytest.approx((0.03, 0.06, 0.06, 0.02))


def test_weighted_chances_are_those_of_all_intersections() -> None:
    """A step-down is a shortcut for weighted Bonferroni tests of every set of measures (Marcus, Peritz, Gabriel)."""
    rng = Random(5)
    for _ in range(50):
        chances = [rng.random() ** 3 for _ in range(5)]
        weights = [0.4, 0.4, 0.1, 0.05, 0.05]
        by_force = [0.0] * 5
        for size in range(1, 6):
            for some in combinations(range(5), size):
                share = sum(weights[index] for index in some)
                of_all = min(1.0, *(chances[index] * share / weights[index] for index in some))
                for index in some:
                    by_force[index] = max(by_force[index], of_all)
        assert adjust_p_values(chances, weights) == pytest.approx(by_force)


def test_the_number_of_repeats_is_that_of_r() -> None:
    """`power.t.test(delta = 1, sd = 1, power = 0.8)` says 16.7, `delta = 2` 5.1."""
    for effect, expected in ((1.0, 17), (2.0, 6)):
        seen = EffectEstimate(effect, 1.0, 8, scatter=1.0, hidden=0.0, method="welch")
        assert find_repeats_needed(seen, margin=1e-9, alpha=0.05, alpha_equivalent=0.025, at_least=3) == expected


def test_no_number_of_repeats_shows_what_the_bounds_hide() -> None:
    seen = EffectEstimate(0.002, 0.01, 8, scatter=0.001, hidden=0.01**2, method="welch")
    assert find_repeats_needed(seen, margin=0.01, alpha=0.05, alpha_equivalent=0.025, at_least=3) is None


def test_a_common_slope_is_scipys_of_centered_sides() -> None:
    at_a, at_b = (1.0, 0.9, 0.85, 0.7, 0.66), (1.3, 1.32, 1.1, 1.05, 1.0)
    seen = estimate_drift(values(at_a), values(at_b))
    assert seen
    # analysis of covariance by least squares: a mean for each side, one slope
    rows = [(0.0, index, at) for index, at in enumerate(at_a)] + [(1.0, index, at) for index, at in enumerate(at_b)]
    centered = [(index - 2.0, at - (sum(at_a) / 5 if side == 0.0 else sum(at_b) / 5)) for side, index, at in rows]
    line = stats.linregress([x for x, _ in centered], [y for _, y in centered])
    t = line.slope / (line.stderr * math.sqrt((10 - 2) / (10 - 3)))  # The second mean uses a degree of freedom.
    assert seen.slope == pytest.approx(line.slope)
    assert seen.p == pytest.approx(2 * stats.t.sf(abs(t), 7))


def test_there_are_twenty_ways_to_deal_out_three_and_three_runs() -> None:
    assert count_assignments(3, 3) == 20
    assert count_assignments(2, 2) == 6
