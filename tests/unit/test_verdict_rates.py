"""Error rates and power of verdicts: `scripts/bench verdict` with fewer pairs and fixed seeds."""

from collections.abc import Sequence
from functools import partial
from random import Random

import pytest
from benchmarks.verdict.noise import NOISES, SD, Noise, create_gaussian
from benchmarks.verdict.runs import draw_runs
from benchmarks.verdict.searches import draw_searched_runs, run_search
from benchmarks.verdict.tally import DrawPair, Tally, compute_clopper_pearson, tally_comparisons
from scipy.stats import binom, binomtest, ttest_ind

from nodrop.analysis import ComparisonOutcome
from nodrop.model.summary import Summary

PAIRS = 120
NOMINAL = 0.05
ONE_IN_A_THOUSAND = 0.999
REQUIRED = [noise for noise in NOISES if noise.has_requirement]
BLOCKS = next(noise for noise in NOISES if noise.name == "drift-blocks")


def make_tally(noise: Noise, repeats: int, effect: float, pairs: int = PAIRS) -> Tally:
    def pair(rng: Random) -> tuple[list[Summary], list[Summary]]:
        return draw_runs(noise, rng, repeats, effect)

    return tally_comparisons(pair, noise.name, repeats, effect, range(pairs))


def max_false_alarms(pairs: int = PAIRS) -> int:
    """Return the count of false alarms that is exceeded once in a thousand times, if each has the nominal chance."""
    return int(binom.ppf(ONE_IN_A_THOUSAND, pairs, NOMINAL))


@pytest.mark.parametrize("noise", REQUIRED, ids=lambda noise: noise.name)
def test_where_nothing_differs_hardly_ever_anything_is_called(noise: Noise) -> None:
    assert make_tally(noise, 5, 0.0).called <= max_false_alarms()


def test_that_would_be_noticed_if_drift_were_called_a_difference() -> None:
    assert make_tally(BLOCKS, 5, 0.0).called > max_false_alarms()


def test_and_if_each_of_many_measures_were_judged_as_if_it_were_the_only_one() -> None:
    """Verdicts of SciPy on each measure alone, without a correction for multiple tests."""

    def is_called(pair: tuple[Sequence[Summary], Sequence[Summary]]) -> bool:
        figures = [[[each.value for each in run.measures] for run in side] for side in pair]
        columns = zip(*(list(zip(*side, strict=True)) for side in figures), strict=True)
        return any(ttest_ind(a, b, equal_var=False).pvalue < NOMINAL for a, b in columns)

    called = sum(is_called(draw_runs(NOISES[0], Random(seed), 5, 0.0)) for seed in range(PAIRS))
    assert called > max_false_alarms()


def test_two_percent_at_half_a_percent_of_noise_are_found_by_five_repeats() -> None:
    assert make_tally(NOISES[0], 5, 0.02).ndr_ratio(ComparisonOutcome.WORSE) >= 0.95


def test_that_would_be_noticed_if_the_noise_were_greater() -> None:
    louder = Noise("louder", "", create_gaussian(4 * SD))
    assert make_tally(louder, 5, 0.02).ndr_ratio(ComparisonOutcome.WORSE) < 0.95


@pytest.mark.parametrize("noise", REQUIRED, ids=lambda noise: noise.name)
def test_what_differs_by_the_margin_is_hardly_ever_called_equivalent(noise: Noise) -> None:
    apart = make_tally(noise, 5, 0.01)
    assert apart.ndr.get(ComparisonOutcome.EQUIVALENT.value, 0) <= max_false_alarms()


@pytest.mark.parametrize(("sut", "least_ratio"), [("stall-random", 0.95), ("two-modes-trial", 0.4)])
def test_searches_of_one_simulated_sut_are_not_told_apart_and_of_a_slower_one_they_are(
    sut: str, least_ratio: float
) -> None:
    """One search in twelve ends at the slower of two modes, 9 % lower: five of them often leave 5 % undecided."""
    same = [run_search(sut, seed) for seed in range(40)]
    slower = [run_search(sut, seed, 0.05) for seed in range(40, 80)]
    alike: DrawPair = partial(_dealt, same, same)
    apart: DrawPair = partial(_dealt, same, slower)
    assert tally_comparisons(alike, sut, 5, 0.0, range(60)).called <= max_false_alarms(60)
    tally = tally_comparisons(apart, sut, 5, 0.05, range(60))
    assert tally.ndr_ratio(ComparisonOutcome.WORSE) >= least_ratio
    assert tally.ndr_ratio(ComparisonOutcome.BETTER) == 0.0


def _dealt(of_a: list, of_b: list, rng: Random) -> tuple[list[Summary], list[Summary]]:  # type: ignore[type-arg]
    return draw_searched_runs(of_a, of_b, rng, 5)


def test_the_interval_of_a_share_is_scipys() -> None:
    for count, of in ((0, 40), (3, 40), (37, 40), (40, 40)):
        reference = binomtest(count, of).proportion_ci(0.95, method="exact")
        assert compute_clopper_pearson(count, of) == pytest.approx((reference.low, reference.high))
