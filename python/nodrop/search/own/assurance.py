"""How sure a bound is: the chance that it is on the wrong side, and how much loss a trial without any leaves open.

The chance that a load is misclassified is the chance that most trials of the goal's duration at this load would come
out the other way. It follows from where the model puts the threshold and how widely trials scatter around it. It is
never given as less than `MODEL_ERROR`, as the model itself may be wrong.
"""

import math
from statistics import fmean, stdev

from nodrop.search.own.astray import EventRate
from nodrop.search.own.sut_model import Estimate
from nodrop.search.own.trace import Trace

MODEL_ERROR = 0.005
LEAST_SD_RATIO = 3e-4
"""No threshold is known better than this, relative to the load."""
CONFIDENCE = 0.95


def above_probability(estimate: Estimate, load_pps: float) -> float:
    """The chance that a threshold is above a load, by Student's distribution with few degrees of freedom."""
    scatter = math.hypot(estimate.sd_ratio / math.sqrt(estimate.trial_count), LEAST_SD_RATIO)
    distance = (estimate.load_pps - load_pps) / (estimate.load_pps * scatter)
    return _bounded(_student3(distance))


def lossless_probability(rate: EventRate, load_pps: float, duration_s: float) -> float:
    """The chance that most trials at a load would lose no frame, from how often frames get lost one by one."""
    return _bounded(rate.mostly_passes_probability(load_pps, duration_s))


def loss_ratio_limit(trace: Trace) -> float:
    """The upper 95 % confidence limit of the loss ratio in a trial.

    Without loss in n frames it is 1 - 0.05 ** (1 / n), about 3 / n, which takes frames to be lost independently of one
    another. With loss it comes from the scatter between windows, which does not.
    """
    count = trace.load_pps * trace.elapsed_s
    if trace.lost_count == 0:
        return -math.expm1(math.log(1.0 - CONFIDENCE) / count)
    ratios = [window.lost_count / (trace.load_pps * window.duration_s) for window in trace.windows]
    poisson_sd = math.sqrt(trace.lost_count) / count
    windows_sd = stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) > 1 else 0.0
    return min(1.0, fmean(ratios) + 1.645 * max(poisson_sd, windows_sd))


def _bounded(probability: float) -> float:
    return min(1.0 - MODEL_ERROR, max(MODEL_ERROR, probability))


def _student3(t: float) -> float:
    """Distribution function of Student's t with three degrees of freedom."""
    x = t / math.sqrt(3.0)
    return 0.5 + (x / (1.0 + x * x) + math.atan(x)) / math.pi
