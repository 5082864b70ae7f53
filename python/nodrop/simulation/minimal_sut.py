"""The simplest system under test that agrees with what a search knows so far, to think the search further with."""

import math
from collections.abc import Sequence

from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search.base import Interval, Outcome, Sample

WINDOW_S = 0.05
"""Supposed trials are counted this often."""
CLEARLY = 0.01
"""Loss of a supposed overload at least, so that it is one for every goal."""


class SupposedSut:
    """A hard limit: whatever is more than its capacity is lost, as far as the bounds of the goals allow for that."""

    def __init__(self, plan: SearchPlan, intervals: Sequence[Interval], forwarded_pps: float | None) -> None:
        """Suppose as little as possible.

        Args:
            plan: the range of loads.
            intervals: what is known of each goal.
            forwarded_pps: what came through when last too much was offered; None when that never happened.
        """
        by_ratio = sorted(intervals, key=lambda interval: interval.goal.loss_ratio)
        capacity_pps = forwarded_pps or math.sqrt(math.prod(_between_pps(plan, by_ratio[0])))
        limits_pps: dict[float, float] = {}
        for interval in by_ratio:
            ratio = interval.goal.loss_ratio
            limits_pps[ratio] = min(_limit_pps(plan, interval, capacity_pps), limits_pps.get(ratio, math.inf))
        highest_pps = 0.0
        for ratio, limit_pps in limits_pps.items():  # who may lose more meets the goal at least as far up
            limits_pps[ratio] = highest_pps = max(highest_pps, limit_pps)
        self._limits_pps = limits_pps

    def loss_ratio(self, load_pps: float) -> float:
        """The loss at a load: none up to the first goal's limit, from there on what a hard limit would lose."""
        exceeded = [ratio for ratio, limit_pps in self._limits_pps.items() if load_pps > limit_pps]
        met = [ratio for ratio, limit_pps in self._limits_pps.items() if load_pps <= limit_pps]
        if not exceeded:
            return 0.0
        if not met:
            return self.overload_ratio(load_pps)
        lost_ratio = 1 - self._limits_pps[exceeded[-1]] * (1 - exceeded[-1]) / load_pps
        return lost_ratio if lost_ratio <= met[0] else (exceeded[-1] + met[0]) / 2

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


def _limit_pps(plan: SearchPlan, interval: Interval, capacity_pps: float) -> float:
    """The load up to which a goal may be met: an estimate or the capacity if within the bounds, else their middle."""
    lower_pps, upper_pps = _valid_pps(interval)
    if lower_pps is None and upper_pps is not None and upper_pps <= plan.min_load_pps:
        return 0.0
    if lower_pps is not None and lower_pps >= plan.max_load_pps:
        return lower_pps
    low_pps, high_pps = _between_pps(plan, interval)
    for guess_pps in (interval.estimate_pps, capacity_pps / (1 - interval.goal.loss_ratio)):
        if guess_pps is not None and low_pps <= guess_pps < high_pps:
            return guess_pps
    return math.sqrt(low_pps * high_pps)


def _between_pps(plan: SearchPlan, interval: Interval) -> tuple[float, float]:
    lower_pps, upper_pps = _valid_pps(interval)
    return lower_pps or plan.min_load_pps, upper_pps or plan.max_load_pps


def _valid_pps(interval: Interval) -> tuple[float | None, float | None]:
    return (
        interval.lower_load_pps if interval.lower_valid else None,
        interval.upper_load_pps if interval.upper_valid else None,
    )
