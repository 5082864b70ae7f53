"""The simplest system under test that agrees with what a search knows so far, to think the search further with."""

import math
from collections.abc import Sequence

from nodrop.model.plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search.base import Interval, Outcome, Sample

WINDOW_S = 0.05
"""Supposed trials are counted this often."""
CLEARLY = 0.01
"""Loss of a supposed overload at least, so that it is one for every goal."""


class SupposedSut:
    """Meets each goal up to one load, which lies within the goal's bounds, and never above it."""

    def __init__(self, plan: SearchPlan, intervals: Sequence[Interval], forwarded_pps: float | None) -> None:
        """Suppose as little as possible.

        Args:
            plan: the range of loads.
            intervals: what is known of each goal.
            forwarded_pps: what came through when last too much was offered; None when that never happened.
        """
        limits_pps: dict[float, float] = {}
        for interval in sorted(intervals, key=lambda interval: interval.goal.loss_ratio):
            ratio = interval.goal.loss_ratio
            limit_pps = _limit_pps(plan, interval, forwarded_pps)
            limits_pps[ratio] = min(limit_pps, limits_pps.get(ratio, math.inf))
        highest_pps = 0.0
        for ratio, limit_pps in limits_pps.items():  # who may lose more meets the goal at least as far up
            limits_pps[ratio] = highest_pps = max(highest_pps, limit_pps)
        self._limits_pps = limits_pps

    def loss_ratio(self, load_pps: float) -> float:
        """The loss at a load: none, between two goals', or all that is more than the SUT forwards."""
        exceeded = [ratio for ratio, limit_pps in self._limits_pps.items() if load_pps > limit_pps]
        met = [ratio for ratio, limit_pps in self._limits_pps.items() if load_pps <= limit_pps]
        if not exceeded:
            return 0.0
        return (exceeded[-1] + met[0]) / 2 if met else self.overload_ratio(load_pps)

    def overload_ratio(self, load_pps: float) -> float:
        """The loss at a load that turns out to be more than every goal allows."""
        ratio, limit_pps = max(self._limits_pps.items())
        return max(1 - limit_pps * (1 - ratio) / load_pps, min(1.0, 2 * ratio), CLEARLY)


def supposed_outcome(trial: Trial, loss_ratio: float, index: int, started_s: float) -> Outcome:
    """A trial that loses evenly, stopped where its stop rule says so."""
    samples: list[Sample] = []
    first_loss_s = clause = None
    for elapsed_s in _window_ends_s(trial.duration_s):
        sent_count = round(trial.intended_load_pps * elapsed_s)
        lost_count = min(sent_count, math.ceil(sent_count * loss_ratio))
        samples.append(Sample(elapsed_s, sent_count, lost_count))
        first_loss_s = elapsed_s if first_loss_s is None and lost_count else first_loss_s
        clause = trial.stop and trial.stop.fires(elapsed_s, lost_count, first_loss_s)
        if clause:
            break
    end = samples[-1]
    return Outcome(
        index=index,
        loss_ratio=end.lost_count / end.sent_count if end.sent_count else loss_ratio,
        elapsed_s=end.elapsed_s,
        intended_count=end.sent_count,
        sent_count=end.sent_count,
        lost_count=end.lost_count,
        stopped_early=end.elapsed_s < trial.duration_s,
        samples=tuple(samples),
        started_s=started_s,
    )


def _window_ends_s(duration_s: float) -> list[float]:
    count = math.ceil(duration_s / WINDOW_S - 1e-9)
    return [min(duration_s, WINDOW_S * (position + 1)) for position in range(count)]


def _limit_pps(plan: SearchPlan, interval: Interval, forwarded_pps: float | None) -> float:
    """The load up to which the goal may be met: an estimate within the bounds, else their geometric middle."""
    lower_pps = interval.lower_load_pps if interval.lower_valid else None
    upper_pps = interval.upper_load_pps if interval.upper_valid else None
    if lower_pps is None and upper_pps is not None and upper_pps <= plan.min_load_pps:
        return 0.0
    if lower_pps is not None and lower_pps >= plan.max_load_pps:
        return lower_pps
    low_pps, high_pps = lower_pps or plan.min_load_pps, upper_pps or plan.max_load_pps
    came_through_pps = forwarded_pps / (1 - interval.goal.loss_ratio) if forwarded_pps else None
    for guess_pps in (interval.estimate_pps, came_through_pps):
        if guess_pps is not None and low_pps <= guess_pps < high_pps:
            return guess_pps
    return math.sqrt(low_pps * high_pps)
