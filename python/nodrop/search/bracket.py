"""The two loads between which one goal is searched, without any older ones."""

from dataclasses import dataclass

from nodrop.model.goal import Goal
from nodrop.search import width
from nodrop.search.loss_table import Measured


@dataclass(frozen=True, slots=True)
class Bracket:
    """Two measured loads; a bound is valid if the goal is met at the lower one, or not met at the upper one.

    Source: draft-vpolak-mkonstan-bmwg-mlrsearch-03, section "Non-Initial Phases" item 1.6, as MLRsearch 0.3.0 does it.
    """

    goal: Goal
    low: Measured
    high: Measured

    @property
    def low_valid(self) -> bool:
        """Whether the goal is met at the lower load."""
        return self.low.loss_ratio <= self.goal.loss_ratio

    @property
    def high_valid(self) -> bool:
        """Whether the goal is missed at the upper load."""
        return self.high.loss_ratio > self.goal.loss_ratio

    @property
    def width_ratio(self) -> float:
        """Width of the bracket, (upper - lower) / upper."""
        return width.compute_between(self.low.load_pps, self.high.load_pps)

    def update(self, measured: Measured) -> "Bracket":
        """Return the bracket after another trial, for any goal."""
        if measured.load_pps in (self.low.load_pps, self.high.load_pps):
            return self._remeasured(measured)
        if not self.low_valid:
            # Only a step down helps; the failed load becomes the upper bound.
            return self._with(measured, self.low) if measured.load_pps < self.low.load_pps else self
        fails = measured.loss_ratio > self.goal.loss_ratio
        if measured.load_pps < self.low.load_pps:
            # Failing below makes the lower bound doubtful; the upper one stays, as the old lower one would be invalid.
            return self._with(measured, self.high) if fails else self
        if measured.load_pps > self.high.load_pps:
            return self if self.high_valid else self._with(self.high, measured)
        return self._with(self.low, measured) if fails else self._with(measured, self.high)

    def _remeasured(self, measured: Measured) -> "Bracket":
        """Replace a bound, or both if they are the same load: else the search would request the other one forever."""
        return self._with(
            measured if measured.load_pps == self.low.load_pps else self.low,
            measured if measured.load_pps == self.high.load_pps else self.high,
        )

    def _with(self, low: Measured, high: Measured) -> "Bracket":
        return Bracket(self.goal, low, high)
