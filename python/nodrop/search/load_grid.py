"""Loads as whole steps of a geometric grid, so that widths can be doubled and halved without rounding.

The grid extends from the lowest to the highest load allowed. Its steps are as coarse as the width goals permit: each
goal is a whole number of steps, at most 1 % narrower than required and never wider.

Source: MLRsearch 1.2.1, discrete loads.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

NARROWEST = 0.99
"""Least share of a width goal that its whole steps make up."""
WIDEST = 0.999999
"""Largest share of a width goal that its whole steps make up; leaves room for rounding."""


class LoadGrid:
    """Loads between two limits, numbered from 0 to `top` in equal steps of their logarithm."""

    def __init__(self, min_load_pps: float, max_load_pps: float, width_ratios: Iterable[float]) -> None:
        self._min_load_pps = min_load_pps
        self._max_load_pps = max_load_pps
        self.top = _find_step_count(min_load_pps, max_load_pps, width_ratios)

    def load_pps(self, step: int) -> float:
        """Return the load of a step between 0 and `top`."""
        if step <= 0:
            return self._min_load_pps
        if step >= self.top:
            return self._max_load_pps
        low, high = _End(0, self._min_load_pps), _End(self.top, self._max_load_pps)
        while (middle := low.middle(high)).step != step:
            low, high = (middle, high) if middle.step < step else (low, middle)
        return middle.load_pps

    def floor(self, load_pps: float) -> int:
        """Return the highest step not above a load; 0 for loads below the grid."""
        if load_pps <= self._min_load_pps:
            return 0
        if load_pps >= self._max_load_pps:
            return self.top
        low, high = _End(0, self._min_load_pps), _End(self.top, self._max_load_pps)
        while high.step - low.step >= 2:
            middle = low.middle(high)
            low, high = (low, middle) if middle.load_pps > load_pps else (middle, high)
        return low.step

    def width(self, width_ratio: float) -> int:
        """Return a relative width in steps, rounded down."""
        return self.floor(self._min_load_pps / (1.0 - width_ratio))

    def clamp(self, step: int) -> int:
        """Return the nearest step of the grid."""
        return max(0, min(step, self.top))


class _End(NamedTuple):
    """One end of a section of the grid. Halving the grid determines loads, so that each has exactly one value."""

    step: int
    load_pps: float

    def middle(self, high: "_End") -> "_End":
        """Return the step halfway to a higher end."""
        step = (self.step + high.step) // 2
        log_ratio = math.log(high.load_pps) - math.log(self.load_pps)
        log_ratio *= (step - self.step) / (high.step - self.step)
        return _End(step, self.load_pps * math.exp(log_ratio))


def _find_step_count(min_load_pps: float, max_load_pps: float, width_ratios: Iterable[float]) -> int:
    """Return the first number of steps that suits all width goals, trying only those that improve at least one."""
    reach = math.log(max_load_pps) - math.log(min_load_pps)
    goals = [-math.log1p(-ratio) for ratio in sorted(set(width_ratios))]
    count = 1
    while True:
        step = reach / count
        better = [_find_better_count(goal / step, count) for goal in goals if not _is_suitable(goal / step)]
        if not better:
            return count
        count = math.ceil(max(count + 1, *better))


def _is_suitable(goal_steps: float) -> bool:
    return NARROWEST <= math.floor(goal_steps) / goal_steps <= WIDEST


def _find_better_count(goal_steps: float, count: int) -> float:
    """Return the steps of the grid at which a goal is one whole step more, with room for rounding."""
    return (math.floor(goal_steps) + 1) / WIDEST / goal_steps * count
