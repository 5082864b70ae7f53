"""Loss that comes as single events: how often, how that depends on the load, and where it stops.

Two kinds are told apart by the size of an event. Single frames going astray follow a rate that rises with the load,
slowly (a bit error) or steeply (a queue near its limit). A stall loses what a buffer cannot hold, so its size falls
with the load and ends at a load that can be worked out from two of them.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nodrop.search.probe_search.trial_trace import Trace

STALL_FRAMES = 20.0
"""Events that lose more frames than this on average are stalls."""
EVENTS_MAX = 30.0
"""More events in a trial say no more than this many: real loss is burstier than a Poisson process."""
STEEPNESSES = tuple(2.0 ** (power / 2.0) for power in range(25))
"""Powers of the load that the rate of events may rise with."""
FLOOR_PRIOR = 8.0
"""How much more likely a loss that is a fixed share at any load is than each other steepness."""
LOG_RATES = tuple(-9.0 + 0.25 * step for step in range(73))
"""Natural logarithms of events per second, at the reference load."""


def is_stall(trace: Trace) -> bool:
    """Whether what this trial lost, it lost in large events that had come to an end."""
    events = trace.bursts
    ended = bool(events) and not trace.windows[-1].lost_count
    short = sum(window.lost_count > 0 for window in trace.windows) <= 2 * len(events)
    return ended and short and not trace.fluctuating and trace.lost_count / len(events) >= STALL_FRAMES


class StallLine(NamedTuple):
    """A stall of so many seconds behind a buffer loses nothing up to a load, and in proportion to the excess above."""

    seconds: float
    free_pps: float


def stall_line(traces: Sequence[Trace]) -> StallLine | None:
    """The stall behind the losses; None when all of them were seen at about the same load.

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
    """What trials say of the rate of events at every load: a posterior over rate and steepness.

    Rate at load L: exp(a) x (L / reference) ** b, with a flat prior on a and on the logarithm of b, except that b = 1,
    a fixed share of the frames going astray at any load, is more likely than any other.
    """

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._reference_pps = traces[-1].load_pps
        exposures = [_exposure(trace) for trace in traces]
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
        """How likely a trial without any event is."""
        return math.fsum(
            weight * math.exp(-min(700.0, rate * self._factor(load_pps, steepness) * duration_s))
            for rate, steepness, weight in self._cells
        )

    def _factor(self, load_pps: float, steepness: float) -> float:
        """How much more often events come than at the reference load."""
        return math.exp(max(-500.0, min(500.0, steepness * math.log(load_pps / self._reference_pps))))

    def load_pps(self, probability: float, duration_s: float, low_pps: float, high_pps: float) -> float:
        """The load at which a trial without any event has this probability."""
        for _ in range(30):
            middle = math.sqrt(low_pps * high_pps)
            if self.pass_probability(middle, duration_s) >= probability:
                low_pps = middle
            else:
                high_pps = middle
        return low_pps


def _exposure(trace: Trace) -> tuple[float, float]:
    """Events and the time they took, many events cut down to what they are worth."""
    count = float(len(trace.bursts)) if is_stall(trace) else trace.lost_count
    worth = min(count, EVENTS_MAX)
    return worth, trace.elapsed_s * (worth / count if count else 1.0)
