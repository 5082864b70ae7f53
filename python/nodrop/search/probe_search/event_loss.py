"""Loss in single events: their rate, how it depends on the load, and the load without them.

The size of an event distinguishes two kinds. The rate of single losses rises with the load, slowly (bit errors) or
steeply (a queue near its limit). A stall loses what a buffer cannot hold, so its size falls with the load; two stalls
yield the load at which it ends.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nodrop.search.probe_search.trial_trace import Trace

STALL_FRAMES = 20.0
"""Events that lose more frames than this on average are stalls."""
EVENTS_MAX = 30.0
"""Events of a trial that count at most: real loss is burstier than a Poisson process."""
STEEPNESSES = tuple(2.0 ** (power / 2.0) for power in range(25))
"""Powers of the load with which the rate of events may rise."""
FLOOR_PRIOR = 8.0
"""Prior weight of a fixed loss share at any load, relative to each other steepness."""
LOG_RATES = tuple(-9.0 + 0.25 * step for step in range(73))
"""Natural logarithms of events per second, at the reference load."""


def is_stall(trace: Trace) -> bool:
    """Return whether this trial lost frames in large events that ended within the trial."""
    events = trace.bursts
    ended = bool(events) and not trace.windows[-1].lost_count
    short = sum(window.lost_count > 0 for window in trace.windows) <= 2 * len(events)
    return ended and short and not trace.fluctuating and trace.lost_count / len(events) >= STALL_FRAMES


class StallLine(NamedTuple):
    """A stall behind a buffer: no loss up to a load, and loss in proportion to the excess above it."""

    seconds: float
    free_pps: float


def fit_stall_line(traces: Sequence[Trace]) -> StallLine | None:
    """Return the stall that explains the losses; None if all occurred at about the same load.

    A stall of s seconds behind a buffer of b frames loses load x s - b: a straight line, fitted through the typical
    event at each load.
    """
    points = [(trace.load_pps, trace.lost_count / len(trace.bursts)) for trace in traces if is_stall(trace)]
    if len(points) < 2:
        return None
    (low_pps, low_count), (high_pps, high_count) = min(points), max(points)
    if high_pps < 1.02 * low_pps or high_count <= low_count:
        return None
    seconds = (high_count - low_count) / (high_pps - low_pps)
    return StallLine(seconds, max(0.0, low_pps - low_count / seconds))


class EventRate:
    """The rate of events at every load: a posterior over rate and steepness.

    Rate at load L: exp(a) x (L / reference) ** b, with a flat prior on a and on the logarithm of b, except that b = 1,
    a fixed share of the frames at any load, is more likely than any other.
    """

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._reference_pps = traces[-1].load_pps
        exposures = [_compute_exposure(trace) for trace in traces]
        weights = {}
        for steepness in STEEPNESSES:
            factors = [self._factor(trace.load_pps, steepness) for trace in traces]
            for log_rate in LOG_RATES:
                rate = math.exp(log_rate)
                prior = FLOOR_PRIOR if steepness == 1.0 else 1.0
                weights[log_rate, steepness] = math.log(prior) + sum(
                    count * math.log(max(rate * factor, 1e-300)) - rate * factor * seconds
                    for (count, seconds), factor in zip(exposures, factors, strict=True)
                )
        highest = max(weights.values())
        likely = {cell: math.exp(weight - highest) for cell, weight in weights.items() if weight > highest - 12.0}
        total = math.fsum(likely.values())
        self._cells = [(math.exp(a), b, weight / total) for (a, b), weight in likely.items()]

    def pass_probability(self, load_pps: float, duration_s: float) -> float:
        """Return the probability of a trial without events."""
        return math.fsum(
            weight * math.exp(-min(700.0, rate * self._factor(load_pps, steepness) * duration_s))
            for rate, steepness, weight in self._cells
        )

    def _factor(self, load_pps: float, steepness: float) -> float:
        """Return the rate of events relative to the reference load."""
        return math.exp(max(-500.0, min(500.0, steepness * math.log(load_pps / self._reference_pps))))

    def load_pps(self, probability: float, duration_s: float, low_pps: float, high_pps: float) -> float:
        """Return the load at which a trial without events has this probability."""
        for _ in range(30):
            middle = math.sqrt(low_pps * high_pps)
            if self.pass_probability(middle, duration_s) >= probability:
                low_pps = middle
            else:
                high_pps = middle
        return low_pps


def _compute_exposure(trace: Trace) -> tuple[float, float]:
    """Return the events and their time, both reduced if there are too many events."""
    count = float(len(trace.bursts)) if is_stall(trace) else trace.lost_count
    counted = min(count, EVENTS_MAX)
    return counted, trace.elapsed_s * (counted / count if count else 1.0)
