"""SUTs that are no more than a function of load and duration:

def forwards_at_most_a_million(intended_load_pps: float, duration_s: float) -> SutCounts:
    asked = round(intended_load_pps * duration_s)
    return SutCounts(intended_count=asked, offered_count=asked, received_count=min(asked, round(1e6 * duration_s)))
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from nodrop.simulation.sut import Course, Sut


class SutCounts(NamedTuple):
    """What came of a simulated trial, over all streams."""

    intended_count: int
    offered_count: int
    received_count: int


SutModel = Callable[[float, float], SutCounts]
"""(intended load in frames per second, duration in seconds) -> counts of the whole trial."""


class ModelledSut(Sut):
    """Spreads the counts of a function evenly over each trial. It knows no truth."""

    def __init__(self, model: SutModel) -> None:
        self._model = model

    def offer(self, load_pps: float, duration_s: float, start_s: float) -> Course:  # noqa: ARG002
        """As the function says."""
        counts = self._model(load_pps, duration_s)
        lost_count = float(counts.offered_count - counts.received_count)
        return Course(counts.offered_count / duration_s, (0.0, duration_s), (0.0, lost_count))

    def truth_pps(self, loss_ratio: float, duration_s: float, at_s: float = math.inf) -> float:  # noqa: ARG002
        """Not known."""
        return math.nan
