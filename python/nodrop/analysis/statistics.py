"""The statistics of a comparison: effect size, confidence interval and number of repeats.

The comparison scale is the logarithm of rates and latencies, and the plain value of loss ratios. Repeats scatter:
Welch's t accounts for the scatter, and alternating runs are compared by the differences of their pairs. Two
uncertainties that the scatter does not show are added: search bounds that always fall on the same loads hide the
position of the true value between them, and identical values do not prove a perfect machine.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from nodrop.analysis.types import ErrorMethod

POWER = 0.8
"""Probability that the suggested number of repeats decides the outcome."""
REPEATS_MAX = 200
"""Largest number of repeats that is suggested."""
SHIFT_MAX = 30.0
"""Shift, in standard errors, at which every test rejects; the noncentral t overflows beyond it."""
PAIRS_MIN = 5
"""Fewest pairs at which the paired test gains more from cancelled drift than it loses in degrees of freedom."""
UNIFORM_VARIANCE = 1 / 12
DRIFT_FREEDOM_MIN = 4
"""Fewest degrees of freedom at which a slope is estimated."""
ROUNDING = 1e-12


class RunSample(NamedTuple):
    """The values of one side on the comparison scale."""

    at: tuple[float, ...]
    """The value of each run."""
    widths: tuple[float, ...]
    """Distance between the bounds of each run; 0 without bounds."""

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.at)


class RunPair(NamedTuple):
    """Two consecutive runs, one of each side."""

    a: int
    """Index of the run of A."""
    b: int
    lead: int
    """1 where the run of A was first, -1 where the run of B was."""


class Precision(NamedTuple):
    """The uncertainty of the mean of a side."""

    variance: float
    """Variance between runs."""
    hidden: float
    """Variance common to all runs, which repeats do not reduce."""


class EffectEstimate(NamedTuple):
    """The estimated difference of B from A."""

    effect: float
    error: float
    """Standard error of the effect."""
    freedom: float
    """Degrees of freedom of the error; infinite for an assumed error."""
    scatter: float
    """Standard deviation of a single run."""
    hidden: float
    """Part of the squared error that repeats do not reduce."""
    method: ErrorMethod

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the confidence interval of the effect."""
        half = compute_t_quantile(self.freedom, (1 + confidence) / 2) * self.error
        return self.effect - half, self.effect + half

    @property
    def p(self) -> float:
        """The two-sided p-value of the effect."""
        return min(1.0, 2 * compute_t_tail(self.freedom, abs(self.effect) / self.error))

    def p_equivalent(self, margin: float) -> float:
        """Return the larger p-value of two one-sided tests against plus and minus the margin.

        Source: Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987), two one-sided tests.
        """
        return compute_t_tail(self.freedom, (margin - abs(self.effect)) / self.error)


def estimate_effect(
    a: RunSample, b: RunSample, floor: float, assumed: float, pairs: Sequence[RunPair] = ()
) -> EffectEstimate:
    """Estimate the difference of B from A.

    Args:
        a, b: at least one run each.
        floor: smallest credible standard deviation between runs.
        assumed: standard deviation assumed where neither side has a second run.
        pairs: pairs of alternating runs in order of time; empty: the runs did not alternate.
    """
    if len(pairs) >= PAIRS_MIN:
        return _estimate_paired(a, b, floor, pairs)
    effect = fmean(b.at) - fmean(a.at)
    if min(a.runs, b.runs) == 1:
        return _estimate_pooled(a, b, effect, floor, assumed)
    spread_a, spread_b = estimate_precision(a, floor), estimate_precision(b, floor)
    by_a, by_b = spread_a.variance / a.runs, spread_b.variance / b.runs
    hidden = spread_a.hidden + spread_b.hidden
    welch = (by_a + by_b) ** 2 / (by_a**2 / (a.runs - 1) + by_b**2 / (b.runs - 1))
    scatter = math.sqrt((spread_a.variance + spread_b.variance) / 2)
    return EffectEstimate(effect, math.sqrt(by_a + by_b + hidden), welch, scatter, hidden, "welch")


def _estimate_pooled(a: RunSample, b: RunSample, effect: float, floor: float, assumed: float) -> EffectEstimate:
    """Estimate with a single run on a side: use the scatter of the other side, or an assumed one, for both."""
    larger = a if a.runs > b.runs else b
    has_scatter = larger.runs > 1
    variance = estimate_precision(larger, floor).variance if has_scatter else assumed**2
    hidden = _bound_hidden_variance(variance, a) + _bound_hidden_variance(variance, b)
    error = math.sqrt(variance * (1 / a.runs + 1 / b.runs) + hidden)
    freedom = larger.runs - 1 if has_scatter else math.inf
    return EffectEstimate(effect, error, freedom, math.sqrt(variance), hidden, "pooled" if has_scatter else "assumed")


def _estimate_paired(a: RunSample, b: RunSample, floor: float, pairs: Sequence[RunPair]) -> EffectEstimate:
    """Estimate from pairs, whose differences cancel the drift of the machine.

    Where one side was first more often than the other, a steady drift leaves a residue of one run's step, which is
    estimated from the pairs as well.
    """
    differences = [b.at[pair.b] - a.at[pair.a] for pair in pairs]
    slope, slope_variance = _fit_slope([(b.at[pair.b] + a.at[pair.a]) / 2 for pair in pairs])
    lead = fmean(pair.lead for pair in pairs) / 2  # a pair takes two steps
    variance = max(compute_sample_variance(differences), 2 * floor**2)
    hidden = _bound_hidden_variance(variance / 2, a) + _bound_hidden_variance(variance / 2, b)
    error = math.sqrt(variance / len(differences) + lead**2 * slope_variance + hidden)
    return EffectEstimate(
        fmean(differences) - lead * slope, error, len(differences) - 1, math.sqrt(variance / 2), hidden, "paired"
    )


def _fit_slope(values: Sequence[float]) -> tuple[float, float]:
    """Return the least-squares slope per step and its variance."""
    middle, mean = (len(values) - 1) / 2, fmean(values)
    along = sum((index - middle) ** 2 for index in range(len(values)))
    slope = sum((index - middle) * (value - mean) for index, value in enumerate(values)) / along
    residual = sum((value - mean - slope * (index - middle)) ** 2 for index, value in enumerate(values))
    return slope, residual / (len(values) - 2) / along


class RunDrift(NamedTuple):
    """The common slope of both sides in order of time."""

    slope: float
    """Slope per run of a side."""
    p: float
    """The two-sided p-value of the slope."""


def estimate_drift(a: RunSample, b: RunSample) -> RunDrift | None:
    """Estimate the drift common to both sides; None with too few runs."""
    freedom = a.runs + b.runs - 3
    if freedom < DRIFT_FREEDOM_MIN:
        return None
    along = across = together = 0.0
    for side in (a, b):
        middle, mean = (side.runs - 1) / 2, fmean(side.at)
        along += sum((index - middle) ** 2 for index in range(side.runs))
        across += sum((value - mean) ** 2 for value in side.at)
        together += sum((index - middle) * (value - mean) for index, value in enumerate(side.at))
    unexplained = across - together**2 / along
    if unexplained <= ROUNDING * across:
        return RunDrift(together / along, 0.0 if across else 1.0)
    t = abs(together) / math.sqrt(along * unexplained / freedom)
    return RunDrift(together / along, 2 * compute_t_tail(freedom, t))


def estimate_precision(values: RunSample, floor: float) -> Precision:
    """Estimate the variance of a side, and the variance that its scatter does not show."""
    variance = max(compute_sample_variance(values.at), floor**2)
    return Precision(variance, _bound_hidden_variance(variance, values))


def _bound_hidden_variance(variance: float, values: RunSample) -> float:
    """Return the variance that bounds on always the same loads leave, whatever the number of repeats.

    The true value lies anywhere between the bounds. Scatter between runs moves the bounds and averages the error out:
    the remainder of a quantized mean is little more than its first harmonic, which falls with
    exp(-4 pi^2 variance / width^2). The result is an upper limit of the remainder.
    Source: Widrow and Kollar, Quantization Noise (2008), chapter 7.
    """
    width = fmean(values.widths)
    if not width:
        return 0.0
    return width**2 * UNIFORM_VARIANCE * math.exp(-4 * math.pi**2 * variance / width**2)


def find_repeats_needed(
    estimate: EffectEstimate, margin: float, alpha: float, alpha_equivalent: float, at_least: int
) -> int | None:
    """Return the smallest number of repeats per side that likely decides the outcome, given the estimated effect.

    Args:
        estimate: the estimated effect.
        margin: equivalence margin.
        alpha: of the test for a difference.
        alpha_equivalent: of the test for equivalence.
        at_least: fewest repeats that any outcome needs.

    Returns: None if no number does.
    """
    distance = abs(estimate.effect)

    def decides(count: int) -> bool:
        freedom = 2 * count - 2
        error = math.sqrt(2 * estimate.scatter**2 / count + estimate.hidden)
        if _compute_power(distance / error, freedom, 1 - alpha / 2) >= POWER:
            return True
        near, far = (
            _compute_power(shift / error, freedom, 1 - alpha_equivalent)
            for shift in (margin - distance, margin + distance)
        )
        return near + far - 1 >= POWER

    counts = range(at_least, REPEATS_MAX + 1)
    enough = bisect_left(counts, True, key=decides)
    return counts[enough] if enough < len(counts) else None


def _compute_power(shift: float, freedom: float, level: float) -> float:
    """Return the power of a test at a level for a true value `shift` standard errors away."""
    from scipy.special import nctdtr

    return 1 - float(nctdtr(freedom, min(shift, SHIFT_MAX), compute_t_quantile(freedom, level)))


def compute_t_quantile(freedom: float, level: float) -> float:
    """Return a quantile of Student's t; of the normal distribution for infinite degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(level) if math.isinf(freedom) else stdtrit(freedom, level))


def compute_t_tail(freedom: float, t: float) -> float:
    """Return the upper tail probability of Student's t."""
    from scipy.special import ndtr, stdtr

    return float(ndtr(-t) if math.isinf(freedom) else stdtr(freedom, -t))


def compute_sample_variance(values: Sequence[float]) -> float:
    """Return the variance of two or more values; the standard library's uses fractions and is too slow here."""
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def count_assignments(a_count: int, b_count: int) -> int:
    """Return the number of possible assignments of the runs to the two sides."""
    return math.comb(a_count + b_count, a_count)


def adjust_p_values(chances: Sequence[float], weights: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values for multiple comparisons with Holm's weighted step-down procedure.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979), with weights in section 4.
    """
    order = sorted(range(len(chances)), key=lambda index: chances[index] / weights[index])
    remaining, highest = math.fsum(weights), 0.0
    result = [1.0] * len(chances)
    for index in order:
        highest = max(highest, min(1.0, chances[index] * remaining / weights[index]))
        result[index] = highest
        remaining -= weights[index]
    return tuple(result)
