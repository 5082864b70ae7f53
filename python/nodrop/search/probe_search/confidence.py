"""How sure a bound is: the chance that it is on the wrong side, and how much loss a trial without any leaves open.

The chance that a load is misclassified is the chance that most trials of the goal's duration at this load would come
out the other way. Each trial is taken to have a threshold of its own, scattered around that of the SUT: a trial that
met the goal had it above its load, one that did not had it below. What the trials at all loads say of the SUT's is
weighed by Bayes' rule, together with where the model sees it. Neither the scatter nor how many trials are exceptions is
known, so all that may be counts. No chance is given as less than `MODEL_ERROR`, as all of this may be wrong; how often
bounds of simulated SUTs were wrong at each chance stated, `benchmarks.search.coverage` counts.
"""

import itertools
import math
from collections.abc import Sequence
from statistics import stdev
from typing import NamedTuple

from nodrop.search.probe_search.sut_model import Estimate
from nodrop.search.probe_search.trial_trace import Trace

MODEL_ERROR = 0.015
"""How often bounds of simulated SUTs are wrong that everything speaks for: most often by a mode that was not seen."""
MIN_SD_RATIO = 3e-4
"""No threshold is known better than this, relative to the load."""
CONFIDENCE = 0.95
PART_COUNT = 10
"""Stretches of a trial that tell how its loss scatters, long enough for what goes on from window to window."""
MODEL_DOUBT = 0.05
"""Chance that the model is mistaken, and the threshold may be anywhere."""
SCATTERS = tuple(10.0 ** (0.5 * power) for power in range(-8, 1))
"""How widely thresholds of trials may scatter, relative to the load; each as likely as the others."""
EXCEPTIONS = (0.02, 0.2)
"""Share of the trials that may come out either way whatever the load; each as likely as the other."""
DISTANCES = tuple(1e-4 * 10.0 ** (0.25 * step) for step in range(17))
"""Where thresholds are looked for: as far from a load, on the logarithmic axis."""
EDGE_SDS = (-3.0, -1.0, -0.3, 0.3, 1.0, 3.0)
"""The same, in standard deviations from the estimate."""
NEIGHBOR_COUNT = 4
"""Loads on either side that say the most about one."""


class LoadEvidence(NamedTuple):
    """Trials at a load: how many met the goal and how many did not."""

    load_pps: float
    met_count: float
    missed_count: float


class _LogLoadEvidence(NamedTuple):
    """The same, with the load as a distance on the logarithmic axis."""

    at: float
    met_count: float
    missed_count: float


def above_probability(load_pps: float, evidence: Sequence[LoadEvidence], estimate: Estimate | None) -> float:
    """The chance that most trials at a load meet the goal: that the SUT's threshold is above it.

    Args:
        load_pps: the load.
        observed: what trials of the goal's duration came to, load by load.
        estimate: where the model sees the threshold; None where it says nothing.
    """
    nearby = _nearest(load_pps, evidence)
    prior = _Prior(load_pps, estimate)
    around = [sign * distance for sign in (-1.0, 1.0) for distance in DISTANCES]
    edges = sorted({0.0, *around, *prior.edges, *(place.at for place in nearby)})
    chances = {-1.0: 0.0, 1.0: 0.0}
    for low, high in itertools.pairwise(edges):
        middle = (low + high) / 2.0
        chances[math.copysign(1.0, middle)] += prior.chance(low, high) * _likelihood(middle, nearby)
    probability = chances[1.0] / (chances[1.0] + chances[-1.0])
    return min(1.0 - MODEL_ERROR, max(MODEL_ERROR, probability))


def loss_ratio_limit(traces: Sequence[Trace], event_count: float = 1.0) -> float:
    """The upper 95 % confidence limit of the loss ratio at a load, from the trials made there.

    Without loss in n frames it is 1 - 0.05 ** (1 / n), about 3 / n, which takes frames to be lost independently of one
    another; where frames get lost many at a time, `event_count` of them, it is as many times that. With loss it comes
    from the scatter between trials, or stretches of them, which takes nothing for granted.
    """
    count = sum(trace.load_pps * trace.elapsed_s for trace in traces)
    lost_count = sum(trace.lost_count for trace in traces)
    if lost_count == 0:
        return min(1.0, -math.expm1(math.log(1.0 - CONFIDENCE) / count) * max(1.0, event_count))
    poisson_sd = math.sqrt(lost_count) / count
    scatters = [poisson_sd, *(_standard_error(trace.ratios(PART_COUNT)) for trace in traces)]
    if len(traces) > 1:
        scatters.append(_standard_error([trace.loss_ratio for trace in traces]))
    return min(1.0, lost_count / count + 1.83 * max(scatters))


def _standard_error(ratios: Sequence[float]) -> float:
    return stdev(ratios) / math.sqrt(len(ratios))


class _Prior:
    """Where the threshold is before any trial's verdict counts, as a distance from a load on the logarithmic axis."""

    def __init__(self, load_pps: float, estimate: Estimate | None) -> None:
        self._doubt = MODEL_DOUBT if estimate else 1.0
        self._middle, self._sd = 0.0, 1.0
        self.edges: list[float] = []
        if estimate:
            self._middle = math.log(estimate.load_pps / load_pps)
            self._sd = math.hypot(estimate.sd_ratio / math.sqrt(estimate.trial_count), MIN_SD_RATIO)
            self.edges = [self._middle + deviations * self._sd for deviations in EDGE_SDS]

    def chance(self, low: float, high: float) -> float:
        """How likely it is between the two."""
        anywhere = _anywhere(high) - _anywhere(low)
        there = _student3((high - self._middle) / self._sd) - _student3((low - self._middle) / self._sd)
        return (1.0 - self._doubt) * there + self._doubt * anywhere


def _nearest(load_pps: float, evidence: Sequence[LoadEvidence]) -> list[_LogLoadEvidence]:
    """What was observed at and around a load, from the lowest on."""
    nearby = sorted(
        _LogLoadEvidence(math.log(each.load_pps / load_pps), each.met_count, each.missed_count) for each in evidence
    )
    at = sum(place.at < 0.0 for place in nearby)
    return nearby[max(0, at - NEIGHBOR_COUNT) : at + 1 + NEIGHBOR_COUNT]


def _likelihood(threshold: float, nearby: Sequence[_LogLoadEvidence]) -> float:
    """How likely the trials came out as they did, but for a factor, with the SUT's threshold at this distance."""
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


def _anywhere(distance: float) -> float:
    """Distribution function of a threshold of which not even the order of its distance is known."""
    nearest, farthest = DISTANCES[0], DISTANCES[-1]
    share = math.log1p(min(abs(distance), farthest) / nearest) / math.log1p(farthest / nearest)
    return 0.5 + math.copysign(0.5 * share, distance)


def _student3(t: float) -> float:
    """Distribution function of Student's t with three degrees of freedom."""
    x = t / math.sqrt(3.0)
    return 0.5 + (x / (1.0 + x * x) + math.atan(x)) / math.pi
