"""Confidence of bounds: the probability that one is wrong, and the upper limit of the loss ratio.

A load is misclassified if most trials of the goal's duration at this load would have the other outcome. Each trial has
its own threshold, scattered around that of the SUT: above the load for a trial that met the goal, below it for one that
did not. Bayes' rule weighs the threshold of the SUT by the trials at all loads and by the model's estimate. Scatter and
share of exceptions are unknown, so all plausible values count. No probability is below `MODEL_ERROR`, as the model may
be wrong; `benchmarks.search.coverage` counts how often bounds of simulated SUTs are wrong at each stated probability.
"""

import itertools
import math
from collections.abc import Sequence
from statistics import stdev
from typing import NamedTuple

from nodrop.search.probe_search.sut_model import Estimate
from nodrop.search.probe_search.trial_trace import Trace

MODEL_ERROR = 0.015
"""Share of wrong bounds of simulated SUTs despite unanimous evidence, mostly due to an unseen mode."""
MIN_SD_RATIO = 3e-4
"""Least uncertainty of a threshold, relative to the load."""
CONFIDENCE = 0.95
PART_COUNT = 10
"""Parts of a trial that show the scatter of its loss, longer than correlations between windows."""
MODEL_DOUBT = 0.05
"""Probability that the model is wrong and the threshold may be anywhere."""
SCATTERS = tuple(10.0 ** (0.5 * power) for power in range(-8, 1))
"""Possible scatter of the trials' thresholds, relative to the load; all equally likely."""
EXCEPTIONS = (0.02, 0.2)
"""Possible shares of trials with a random outcome at any load; equally likely."""
DISTANCES = tuple(1e-4 * 10.0 ** (0.25 * step) for step in range(17))
"""Distances of possible thresholds from a load, on the logarithmic axis."""
EDGE_SDS = (-3.0, -1.0, -0.3, 0.3, 1.0, 3.0)
"""Distances from the estimate, in standard deviations."""
NEIGHBOR_COUNT = 4
"""Nearest loads on either side that count."""


class LoadEvidence(NamedTuple):
    """Trials at a load that met the goal, and that did not."""

    load_pps: float
    met_count: float
    missed_count: float


class _LogLoadEvidence(NamedTuple):
    """The same, with the load as a distance on the logarithmic axis."""

    at: float
    met_count: float
    missed_count: float


def compute_above_probability(load_pps: float, evidence: Sequence[LoadEvidence], estimate: Estimate | None) -> float:
    """Return the probability that most trials at a load meet the goal: that the SUT's threshold is above it.

    Args:
        load_pps: the load.
        evidence: outcomes of trials of the goal's duration, by load.
        estimate: the model's threshold; None without one.
    """
    nearby = _select_nearest(load_pps, evidence)
    prior = _Prior(load_pps, estimate)
    around = [sign * distance for sign in (-1.0, 1.0) for distance in DISTANCES]
    edges = sorted({0.0, *around, *prior.edges, *(place.at for place in nearby)})
    chances = {-1.0: 0.0, 1.0: 0.0}
    for low, high in itertools.pairwise(edges):
        middle = (low + high) / 2.0
        chances[math.copysign(1.0, middle)] += prior.chance(low, high) * _compute_likelihood(middle, nearby)
    probability = chances[1.0] / (chances[1.0] + chances[-1.0])
    return min(1.0 - MODEL_ERROR, max(MODEL_ERROR, probability))


def compute_loss_ratio_limit(traces: Sequence[Trace], event_count: float = 1.0) -> float:
    """Return the upper 95 % confidence limit of the loss ratio at a load, from the trials there.

    Without loss in n frames it is 1 - 0.05 ** (1 / n), about 3 / n, for independent losses; if `event_count` frames are
    lost at a time, it is that many times as large. With loss it follows from the scatter between trials, or parts of
    them, without assumptions.
    """
    count = sum(trace.load_pps * trace.elapsed_s for trace in traces)
    lost_count = sum(trace.lost_count for trace in traces)
    if lost_count == 0:
        return min(1.0, -math.expm1(math.log(1.0 - CONFIDENCE) / count) * max(1.0, event_count))
    poisson_sd = math.sqrt(lost_count) / count
    scatters = [poisson_sd, *(_compute_standard_error(trace.ratios(PART_COUNT)) for trace in traces)]
    if len(traces) > 1:
        scatters.append(_compute_standard_error([trace.loss_ratio for trace in traces]))
    return min(1.0, lost_count / count + 1.83 * max(scatters))


def _compute_standard_error(ratios: Sequence[float]) -> float:
    return stdev(ratios) / math.sqrt(len(ratios))


class _Prior:
    """Prior distribution of the threshold, as a distance from a load on the logarithmic axis."""

    def __init__(self, load_pps: float, estimate: Estimate | None) -> None:
        self._doubt = MODEL_DOUBT if estimate else 1.0
        self._middle, self._sd = 0.0, 1.0
        self.edges: list[float] = []
        if estimate:
            self._middle = math.log(estimate.load_pps / load_pps)
            self._sd = math.hypot(estimate.sd_ratio / math.sqrt(estimate.trial_count), MIN_SD_RATIO)
            self.edges = [self._middle + deviations * self._sd for deviations in EDGE_SDS]

    def chance(self, low: float, high: float) -> float:
        """Return the probability of a distance between the two."""
        anywhere = _compute_prior(high) - _compute_prior(low)
        near_model = _compute_student3((high - self._middle) / self._sd) - _compute_student3(
            (low - self._middle) / self._sd
        )
        return (1.0 - self._doubt) * near_model + self._doubt * anywhere


def _select_nearest(load_pps: float, evidence: Sequence[LoadEvidence]) -> list[_LogLoadEvidence]:
    """Return the evidence at and around a load, in ascending order."""
    nearby = sorted(
        _LogLoadEvidence(math.log(each.load_pps / load_pps), each.met_count, each.missed_count) for each in evidence
    )
    at = sum(place.at < 0.0 for place in nearby)
    return nearby[max(0, at - NEIGHBOR_COUNT) : at + 1 + NEIGHBOR_COUNT]


def _compute_likelihood(threshold: float, nearby: Sequence[_LogLoadEvidence]) -> float:
    """Return the likelihood of the trials, up to a factor, with the SUT's threshold at this distance."""
    total = 0.0
    for scatter in SCATTERS:
        meets = [1.0 / (1.0 + math.exp(min(50.0, (place.at - threshold) / scatter))) for place in nearby]
        for exception in EXCEPTIONS:
            logarithm = 0.0
            for meet, place in zip(meets, nearby, strict=True):
                chance = exception / 2.0 + (1.0 - exception) * meet
                if place.met_count:
                    logarithm += place.met_count * math.log(chance)
                if place.missed_count:
                    logarithm += place.missed_count * math.log(1.0 - chance)
            total += math.exp(logarithm)
    return total


def _compute_prior(distance: float) -> float:
    """Return the distribution function of a threshold at a distance of unknown magnitude."""
    nearest, farthest = DISTANCES[0], DISTANCES[-1]
    share = math.log1p(min(abs(distance), farthest) / nearest) / math.log1p(farthest / nearest)
    return 0.5 + math.copysign(0.5 * share, distance)


def _compute_student3(t: float) -> float:
    """Return the distribution function of Student's t with three degrees of freedom."""
    x = t / math.sqrt(3.0)
    return 0.5 + (x / (1.0 + x * x) + math.atan(x)) / math.pi
