"""The load whose mean loss ratio is a target, estimated from trials of any load and duration.

The mean loss rate over the load is one of the two curves of `nodrop.search.loss_curve`, each with a limit m and a
spread a. Bayes' rule weighs pairs of m and a by the trials, and every pair has a critical load, at which its curve
meets the target.

- Prior: with x and y uniform on (-1, 1), m = M (1 / (x + 1) - 1/2) + 1 for the highest load M, and a = m^((y + 1) / 2).
- Likelihood of a trial: geometric in the number of lost frames, with the mean loss that the curve predicts. It is wider
  than the Poisson distribution of the draft's abstract algorithm, and is what the published implementation computes:
  a trial with much loss must not outweigh all those near the critical load.
- Estimate: mean and variance of the critical load's logarithm for each curve; the mean of the two, and the mean
  variance plus the square of half their difference.

The published implementation samples the posterior at random for as long as a trial lasts, so that its estimates depend
on how fast the machine is. Here it is integrated with nodes that depend on the trials alone.

Source: draft-vpolak-bmwg-plrsearch-03, sections "Prior Distributions" and "Integrator".
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from nodrop.search.loss_curve import Curve, Shape, make_erf_curve, make_stretch_curve
from nodrop.search.quadrature import integrate

SPREAD_NODES = 20
LIMIT_NODES = 40
"""Nodes of the posterior: spreads, and limits for each."""
HIGHEST_LIMIT = 1000.0
"""Limits above this multiple of the highest load are practically no limit and have no weight."""
NEGLIGIBLE = 1e-9
"""Share of the posterior that is negligible."""


class LoadObservation(NamedTuple):
    """The contribution of a trial to the estimate of the mean loss."""

    load_pps: float
    intended_count: int
    """Frames due, at least one."""
    lost_count: int
    """Of these, lost or unsent."""


class CurveEstimate(NamedTuple):
    """The logarithm of the critical load for one curve."""

    mean: float
    variance: float


class CriticalLoad(NamedTuple):
    """The critical load for both curves."""

    stretch: CurveEstimate
    erf: CurveEstimate

    @property
    def mean_and_sd_pps(self) -> tuple[float, float]:
        """The estimate: middle and half width of the range of one standard deviation on the logarithmic axis."""
        middle = (self.stretch.mean + self.erf.mean) / 2
        difference = self.stretch.mean - self.erf.mean
        sd = math.sqrt((self.stretch.variance + self.erf.variance) / 2 + difference * difference / 4)
        low_pps, high_pps = math.exp(middle - sd), math.exp(middle + sd)
        return (low_pps + high_pps) / 2, (high_pps - low_pps) / 2

    @property
    def between_curves_pps(self) -> float:
        """The middle of the two curves' estimates, where the next trial is most informative."""
        return (math.exp(self.stretch.mean) + math.exp(self.erf.mean)) / 2

    @property
    def curves_disagree(self) -> bool:
        """Whether the estimates are further apart than one standard deviation of each would explain."""
        sd = math.sqrt(max(self.stretch.variance, self.erf.variance))
        return abs(self.stretch.mean - self.erf.mean) > 2 * sd


@functools.lru_cache(maxsize=1024)
def estimate_critical_load(
    observations: tuple[LoadObservation, ...], target_ratio: float, min_load_pps: float, max_load_pps: float
) -> CriticalLoad:
    """Estimate the critical load, within the loads allowed.

    Args:
        observations: at least one.
        target_ratio: mean loss ratio that defines the critical load, above 0.
        min_load_pps, max_load_pps: the loads allowed.
    """
    problem = _Problem(
        counts=[
            (each.load_pps, math.log(each.intended_count / each.load_pps), each.lost_count) for each in observations
        ],
        landmarks=_find_landmarks(observations, max_load_pps),
        log_target=math.log(target_ratio),
        min_load_pps=min_load_pps,
        max_load_pps=max_load_pps,
    )
    return CriticalLoad(_estimate_posterior(make_stretch_curve, problem), _estimate_posterior(make_erf_curve, problem))


class _Problem(NamedTuple):
    """The input of a posterior."""

    counts: Sequence[tuple[float, float, int]]
    """For each trial the load, the logarithm of frames due per load, and the frames lost."""
    landmarks: Sequence[float]
    """Logarithms of limits near which the posterior may be too narrow for halving to find."""
    log_target: float
    min_load_pps: float
    max_load_pps: float


def _find_landmarks(observations: Sequence[LoadObservation], max_load_pps: float) -> list[float]:
    """Return the lowest load with loss, and the highest one without below it."""
    lossy_pps = min((each.load_pps for each in observations if each.lost_count), default=max_load_pps)
    clean_pps = [each.load_pps for each in observations if not each.lost_count and each.load_pps < lossy_pps]
    return [math.log(load_pps) for load_pps in (*sorted(clean_pps)[-1:], lossy_pps)]


def _estimate_posterior(shape: Shape, problem: _Problem) -> CurveEstimate:
    """Return mean and variance over all spreads and limits."""
    highest = math.log(HIGHEST_LIMIT * problem.max_load_pps)
    moments: dict[float, tuple[float, float]] = {}

    def log_mass(log_spread: float) -> float:
        log_total, moments[log_spread] = _integrate_limits(shape, log_spread, highest, problem)
        return log_total

    starts = [highest * position / 8 for position in range(8)] + [highest - 1e-3]
    nodes = integrate(log_mass, starts, SPREAD_NODES).nodes
    mean = math.fsum(node.share * moments[node.at][0] for node in nodes)
    variance = math.fsum(node.share * (moments[node.at][1] + (moments[node.at][0] - mean) ** 2) for node in nodes)
    return CurveEstimate(mean, variance)


def _integrate_limits(
    shape: Shape, log_spread: float, highest: float, problem: _Problem
) -> tuple[float, tuple[float, float]]:
    """Return the log weight of all limits above a spread; mean and variance of the log critical load."""
    spread_pps = math.exp(log_spread)
    curves: dict[float, Curve] = {}

    def log_weight(log_limit: float) -> float:
        limit_pps = math.exp(log_limit)
        curve = curves[log_limit] = shape(limit_pps, spread_pps)
        log_prior = log_limit - 2 * math.log((limit_pps - 1) / problem.max_load_pps + 0.5) - math.log(log_limit)
        return log_prior + _compute_log_likelihood(curve, problem.counts)

    lowest = max(log_spread, 0.1)
    evenly = {lowest + (highest - lowest) * position / 6 for position in range(7)}
    starts = sorted(evenly | {at for at in problem.landmarks if at > lowest})
    log_total, nodes = integrate(log_weight, starts, LIMIT_NODES)
    values = [(node.share, _log_critical_load(curves[node.at], problem)) for node in nodes if node.share > NEGLIGIBLE]
    mean = math.fsum(share * value for share, value in values)
    return log_total, (mean, math.fsum(share * (value - mean) ** 2 for share, value in values))


def _compute_log_likelihood(curve: Curve, counts: Sequence[tuple[float, float, int]]) -> float:
    """Return the log likelihood of all trials: geometric with the mean loss that the curve predicts."""
    log1p, exp = math.log1p, math.exp
    total = 0.0
    for load_pps, log_intended, lost_count in counts:
        log_mean = curve(load_pps) + log_intended
        if log_mean > 0:
            rest = log1p(exp(-log_mean))
            total -= lost_count * rest + log_mean + rest
        else:
            rest = log1p(exp(log_mean))
            total += lost_count * (log_mean - rest) - rest
    return total


def _log_critical_load(curve: Curve, problem: _Problem) -> float:
    """Return the log load at which the curve's loss ratio, which rises with the load, is the target."""
    low, high = math.log(problem.min_load_pps), math.log(problem.max_load_pps)
    if curve(problem.min_load_pps) - low >= problem.log_target:
        return low
    if curve(problem.max_load_pps) - high <= problem.log_target:
        return high
    while high - low > 1e-9:
        middle = (low + high) / 2
        if curve(math.exp(middle)) - middle < problem.log_target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
