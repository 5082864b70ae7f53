"""SUTs defined by a function of load and duration.

def forwards_at_most_a_million(intended_load_pps: float, duration_s: float) -> SutCounts:
    count = round(intended_load_pps * duration_s)
    return SutCounts(intended_count=count, offered_count=count, received_count=min(count, round(1e6 * duration_s)))
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from nodrop.simulation.sut import LossTimeline, Sut


class SutCounts(NamedTuple):
    """Counts of a simulated trial, summed over all streams."""

    intended_count: int
    offered_count: int
    received_count: int


SutFunction = Callable[[float, float], SutCounts]
"""(intended load in frames per second, duration in seconds) -> counts of the entire trial."""


class FunctionSut(Sut):
    """Spreads the counts of a function evenly over each trial. Its truth is unknown."""

    def __init__(self, model: SutFunction) -> None:
        self._model = model

    def offer(self, load_pps: float, duration_s: float, start_s: float) -> LossTimeline:  # noqa: ARG002
        """Return the losses computed by the function."""
        counts = self._model(load_pps, duration_s)
        lost_count = float(counts.offered_count - counts.received_count)
        return LossTimeline(counts.offered_count / duration_s, (0.0, duration_s), (0.0, lost_count))

    def truth_pps(self, loss_ratio: float, duration_s: float, at_s: float = math.inf) -> float:  # noqa: ARG002
        """Return NaN."""
        return math.nan
