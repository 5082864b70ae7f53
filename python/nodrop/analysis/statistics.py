"""How far two sides are apart, how sure that is, and how many repeats would show it.

Sides are compared on a scale on which a difference is what people mean by it: the logarithm of rates and latencies,
loss ratios as they are. Repeats scatter; Welch's t allows for that, pairs measured in turn are judged by their
differences. Two things the scatter does not show are added: bounds of a search that always fall on the same loads
hide where between them the truth is, and identical figures prove no perfect machine.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from nodrop.analysis.types import Method

POWER = 0.8
"""How likely the repeats that are recommended decide it."""
REPEATS_MAX = 200
"""More than that nobody makes."""
SHIFT_MAX = 30.0
"""Standard errors from which on any test rejects; beyond, the noncentral t is not to be had as a number."""
PAIRS_MIN = 5
"""Fewer pairs lose more by halving the degrees of freedom than they win where the machine drifts."""
UNIFORM_VARIANCE = 1 / 12
DRIFT_FREEDOM_MIN = 4
"""Fewer runs have no slope to speak of."""
ROUNDING = 1e-12


class Values(NamedTuple):
    """One side on the scale of the comparison."""

    at: tuple[float, ...]
    """Where each run sees it."""
    widths: tuple[float, ...]
    """Between the bounds of each run; 0 where there are none."""

    @property
    def runs(self) -> int:
        """How many."""
        return len(self.at)


class Pair(NamedTuple):
    """Two runs that followed each other."""

    a: int
    """Which run of A."""
    b: int
    lead: int
    """1 where A's was the first, -1 where B's was."""


class Precision(NamedTuple):
    """How well the mean of a side is known."""

    variance: float
    """From run to run."""
    hidden: float
    """Variance that all runs have in common, and no repeat makes smaller."""


class Estimate(NamedTuple):
    """B beside A."""

    effect: float
    error: float
    """Standard error of the effect."""
    freedom: float
    """Degrees of freedom of the error; infinite where it is assumed."""
    scatter: float
    """From run to run, of a single run."""
    hidden: float
    """Part of the error's square that no repeat makes smaller."""
    method: Method

    def interval(self, confidence: float) -> tuple[float, float]:
        """What the effect is at least and at most."""
        half = quantile(self.freedom, (1 + confidence) / 2) * self.error
        return self.effect - half, self.effect + half

    @property
    def p(self) -> float:
        """Chance of such a difference, or a greater one, where there is none."""
        return min(1.0, 2 * tail(self.freedom, abs(self.effect) / self.error))

    def p_equivalent(self, margin: float) -> float:
        """The greater of two one-sided tests: that it is not below the margin, that it is not above minus the margin.

        Source: Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987), two one-sided tests.
        """
        return tail(self.freedom, (margin - abs(self.effect)) / self.error)


def estimate(a: Values, b: Values, floor: float, assumed: float, pairs: Sequence[Pair] = ()) -> Estimate:
    """How far B is from A.

    Args:
        a, b: at least one run each.
        floor: standard deviation that runs have at least, however alike they look.
        assumed: the same where no side has a second run to show it.
        pairs: runs that were measured in turn, in the order of time; none: they were not.
    """
    if len(pairs) >= PAIRS_MIN:
        return _paired(a, b, floor, pairs)
    effect = fmean(b.at) - fmean(a.at)
    if min(a.runs, b.runs) == 1:
        return _pooled(a, b, effect, floor, assumed)
    spread_a, spread_b = spread(a, floor), spread(b, floor)
    by_a, by_b = spread_a.variance / a.runs, spread_b.variance / b.runs
    hidden = spread_a.hidden + spread_b.hidden
    welch = (by_a + by_b) ** 2 / (by_a**2 / (a.runs - 1) + by_b**2 / (b.runs - 1))
    scatter = math.sqrt((spread_a.variance + spread_b.variance) / 2)
    return Estimate(effect, math.sqrt(by_a + by_b + hidden), welch, scatter, hidden, "welch")


def _pooled(a: Values, b: Values, effect: float, floor: float, assumed: float) -> Estimate:
    """A single run says nothing of its scatter: that of the other side stands for both, or an assumption."""
    more = a if a.runs > b.runs else b
    known = more.runs > 1
    own = spread(more, floor).variance if known else assumed**2
    hidden = _hidden(own, a) + _hidden(own, b)
    error = math.sqrt(own * (1 / a.runs + 1 / b.runs) + hidden)
    freedom = more.runs - 1 if known else math.inf
    return Estimate(effect, error, freedom, math.sqrt(own), hidden, "pooled" if known else "assumed")


def _paired(a: Values, b: Values, floor: float, pairs: Sequence[Pair]) -> Estimate:
    """What the machine does to both of a pair cancels in their difference.

    Where one side came first more often than the other, a steady drift leaves a trace of one run's step, which the
    pairs tell of as well.
    """
    apart = [b.at[pair.b] - a.at[pair.a] for pair in pairs]
    slope, slope_variance = _slope([(b.at[pair.b] + a.at[pair.a]) / 2 for pair in pairs])
    lead = fmean(pair.lead for pair in pairs) / 2  # a pair takes two steps
    own = max(variance(apart), 2 * floor**2)
    hidden = _hidden(own / 2, a) + _hidden(own / 2, b)
    error = math.sqrt(own / len(apart) + lead**2 * slope_variance + hidden)
    return Estimate(fmean(apart) - lead * slope, error, len(apart) - 1, math.sqrt(own / 2), hidden, "paired")


def _slope(values: Sequence[float]) -> tuple[float, float]:
    """How much values rise from one to the next, by least squares, and the variance of that."""
    middle, mean = (len(values) - 1) / 2, fmean(values)
    along = sum((index - middle) ** 2 for index in range(len(values)))
    slope = sum((index - middle) * (value - mean) for index, value in enumerate(values)) / along
    left = sum((value - mean - slope * (index - middle)) ** 2 for index, value in enumerate(values))
    return slope, left / (len(values) - 2) / along


class Drift(NamedTuple):
    """How the runs of both sides rise in the order of time, each side by itself."""

    slope: float
    """From one run of a side to the next."""
    p: float
    """Chance of so steep a slope where there is none."""


def drift(a: Values, b: Values) -> Drift | None:
    """What both sides have in common of a drift; None where there are too few runs to see one."""
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
        return Drift(together / along, 0.0 if across else 1.0)
    t = abs(together) / math.sqrt(along * unexplained / freedom)
    return Drift(together / along, 2 * tail(freedom, t))


def spread(values: Values, floor: float) -> Precision:
    """How the runs of a side scatter, and what their scatter does not show."""
    own = max(variance(values.at), floor**2)
    return Precision(own, _hidden(own, values))


def _hidden(own: float, values: Values) -> float:
    """What bounds that always fall on the same loads leave open, whatever the number of repeats.

    The truth lies anywhere between them. Scatter of the runs makes them fall on other loads, and averages that out: of
    a quantised mean is left little more than its first harmonic, which falls with exp(-4 pi^2 variance / width^2).
    So much of the whole is at most left.
    Source: Widrow and Kollar, Quantization Noise (2008), chapter 7.
    """
    width = fmean(values.widths)
    if not width:
        return 0.0
    return width**2 * UNIFORM_VARIANCE * math.exp(-4 * math.pi**2 * own / width**2)


def repeats(found: Estimate, margin: float, alpha: float, alpha_equivalent: float, at_least: int) -> int | None:
    """The least number of repeats of each side that likely decides it, if the difference is what it seems.

    Args:
        found: what is known.
        margin: difference that does not matter.
        alpha: of the test for a difference.
        alpha_equivalent: of the test for equivalence.
        at_least: repeats that any verdict takes.

    Returns: None if no number does.
    """
    apart = abs(found.effect)

    def decides(count: int) -> bool:
        freedom = 2 * count - 2
        error = math.sqrt(2 * found.scatter**2 / count + found.hidden)
        if _power(apart / error, freedom, 1 - alpha / 2) >= POWER:
            return True
        near, far = (_power(left / error, freedom, 1 - alpha_equivalent) for left in (margin - apart, margin + apart))
        return near + far - 1 >= POWER

    counts = range(at_least, REPEATS_MAX + 1)
    enough = bisect_left(counts, True, key=decides)
    return counts[enough] if enough < len(counts) else None


def _power(shift: float, freedom: float, level: float) -> float:
    """How likely a test at that level rejects when the truth is `shift` standard errors away."""
    from scipy.special import nctdtr

    return 1 - float(nctdtr(freedom, min(shift, SHIFT_MAX), quantile(freedom, level)))


def quantile(freedom: float, level: float) -> float:
    """Of Student's t; of the normal distribution for infinite degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(level) if math.isinf(freedom) else stdtrit(freedom, level))


def tail(freedom: float, t: float) -> float:
    """Chance of Student's t above `t`."""
    from scipy.special import ndtr, stdtr

    return float(ndtr(-t) if math.isinf(freedom) else stdtr(freedom, -t))


def variance(values: Sequence[float]) -> float:
    """Of a sample of two or more; that of the standard library works in fractions, which takes most of a comparison."""
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def ways(a_count: int, b_count: int) -> int:
    """In how many ways the runs could have been dealt out to the two sides."""
    return math.comb(a_count + b_count, a_count)


def adjusted(chances: Sequence[float], weights: Sequence[float]) -> tuple[float, ...]:
    """Chances corrected for how many were looked at, those of more weight less: a step-down after Holm.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979), with weights in section 4.
    """
    order = sorted(range(len(chances)), key=lambda index: chances[index] / weights[index])
    left, highest = math.fsum(weights), 0.0
    result = [1.0] * len(chances)
    for index in order:
        highest = max(highest, min(1.0, chances[index] * left / weights[index]))
        result[index] = highest
        left -= weights[index]
    return tuple(result)
