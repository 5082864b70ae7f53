"""The simplest SUT that agrees with the intervals of a search, for looking ahead."""

import math
from collections.abc import Sequence

from nodrop.model.search_plan import SearchPlan
from nodrop.search.base import Interval
from nodrop.simulation.sut import LossTimeline, Sut

CLEAR_LOSS_RATIO = 0.01
"""The least loss ratio of an overload, so that it fails every goal."""


class MinimalSut(Sut):
    """Loses the excess over its capacity, adjusted to the bounds of the goals; steady within each trial."""

    def __init__(self, plan: SearchPlan, intervals: Sequence[Interval], forwarded_pps: float | None) -> None:
        """Choose a limit for each goal.

        Args:
            plan: the range of loads.
            intervals: the interval of each goal.
            forwarded_pps: forwarding rate during the last overload; None if no trial was one.
        """
        by_ratio = sorted(intervals, key=lambda interval: interval.goal.loss_ratio)
        capacity_pps = forwarded_pps or math.sqrt(math.prod(_find_bounds_pps(plan, by_ratio[0])))
        limits_pps: dict[float, float] = {}
        for interval in by_ratio:
            ratio = interval.goal.loss_ratio
            limits_pps[ratio] = min(_find_limit_pps(plan, interval, capacity_pps), limits_pps.get(ratio, math.inf))
        highest_pps = 0.0
        for ratio, limit_pps in limits_pps.items():  # a goal that allows more loss is met at least as far up
            limits_pps[ratio] = highest_pps = max(highest_pps, limit_pps)
        self._limits_pps = limits_pps

    def offer(self, load_pps: float, duration_s: float, start_s: float) -> LossTimeline:  # noqa: ARG002
        """See `Sut`."""
        return make_steady_loss(load_pps, duration_s, self.loss_ratio(load_pps))

    def truth_pps(self, loss_ratio: float, duration_s: float, at_s: float = math.inf) -> float:  # noqa: ARG002
        """See `Sut`; the limit of the strictest goal that allows as much loss."""
        limits_pps = [limit_pps for ratio, limit_pps in self._limits_pps.items() if ratio <= loss_ratio]
        return max(limits_pps, default=0.0)

    def loss_ratio(self, load_pps: float) -> float:
        """Return the loss ratio at a load: 0 up to the first goal's limit, above it that of a hard limit."""
        exceeded = [ratio for ratio, limit_pps in self._limits_pps.items() if load_pps > limit_pps]
        met = [ratio for ratio, limit_pps in self._limits_pps.items() if load_pps <= limit_pps]
        if not exceeded:
            return 0.0
        if not met:
            return self.overload_ratio(load_pps)
        lost_ratio = 1 - self._limits_pps[exceeded[-1]] * (1 - exceeded[-1]) / load_pps
        return lost_ratio if lost_ratio <= met[0] else (exceeded[-1] + met[0]) / 2

    def overload_ratio(self, load_pps: float) -> float:
        """Return the loss ratio at a load that fails every goal."""
        ratio, limit_pps = max(self._limits_pps.items())
        return max(1 - limit_pps * (1 - ratio) / load_pps, min(1.0, 2 * ratio), CLEAR_LOSS_RATIO)


class SteadyLossSut(Sut):
    """Loses the same share of the frames at every load."""

    def __init__(self, loss_ratio: float) -> None:
        self._loss_ratio = loss_ratio

    def offer(self, load_pps: float, duration_s: float, start_s: float) -> LossTimeline:  # noqa: ARG002
        """See `Sut`."""
        return make_steady_loss(load_pps, duration_s, self._loss_ratio)

    def truth_pps(self, loss_ratio: float, duration_s: float, at_s: float = math.inf) -> float:  # noqa: ARG002
        """See `Sut`."""
        return math.inf if self._loss_ratio <= loss_ratio else 0.0


def make_steady_loss(load_pps: float, duration_s: float, loss_ratio: float) -> LossTimeline:
    """Return a trial that loses a share of the frames, rounded up to whole frames, evenly over its duration."""
    lost_count = math.ceil(round(load_pps * duration_s) * loss_ratio)
    return LossTimeline(load_pps, (0.0, duration_s), (0.0, float(lost_count)))


def _find_limit_pps(plan: SearchPlan, interval: Interval, capacity_pps: float) -> float:
    """Return the limit of a goal: its estimate or the capacity if within its bounds, else their geometric mean."""
    lower_pps, upper_pps = _find_valid_bounds_pps(interval)
    if lower_pps is None and upper_pps is not None and upper_pps <= plan.min_load_pps:
        return 0.0
    if lower_pps is not None and lower_pps >= plan.max_load_pps:
        return lower_pps
    low_pps, high_pps = _find_bounds_pps(plan, interval)
    for guess_pps in (interval.estimate_pps, capacity_pps / (1 - interval.goal.loss_ratio)):
        if guess_pps is not None and low_pps <= guess_pps < high_pps:
            return guess_pps
    return math.sqrt(low_pps * high_pps)


def _find_bounds_pps(plan: SearchPlan, interval: Interval) -> tuple[float, float]:
    lower_pps, upper_pps = _find_valid_bounds_pps(interval)
    return lower_pps or plan.min_load_pps, upper_pps or plan.max_load_pps


def _find_valid_bounds_pps(interval: Interval) -> tuple[float | None, float | None]:
    return (
        interval.lower_load_pps if interval.lower_valid else None,
        interval.upper_load_pps if interval.upper_valid else None,
    )
