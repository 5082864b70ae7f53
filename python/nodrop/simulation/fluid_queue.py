"""A fluid model of a queue in front of a server: exact while rates are constant, for any number of frames."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class CapacityPeriod(NamedTuple):
    """A period of constant capacity."""

    length_s: float
    capacity_pps: float


class QueueTrace(NamedTuple):
    """Frames lost since the start and frames queued, at points in time."""

    at_s: list[float]
    lost_count: list[float]
    queued_count: list[float]


def trace_queue(
    arriving_pps: float, periods: Iterable[CapacityPeriod], queued_count: float, buffer_count: float
) -> QueueTrace:
    """Return the losses of a queue with tail drop."""
    at_s, lost, queued = [0.0], [0.0], [queued_count]
    now_s = lost_count = 0.0
    for length_s, capacity_pps in periods:
        growth_pps = arriving_pps - capacity_pps
        limit_count = buffer_count if growth_pps > 0 else 0.0
        turn_s = (limit_count - queued_count) / growth_pps if growth_pps else length_s
        if turn_s < length_s:  # full or empty before the period ends
            at_s.append(now_s + turn_s)
            lost.append(lost_count)
            queued.append(limit_count)
            queued_count = limit_count
            lost_count += max(0.0, growth_pps) * (length_s - turn_s)
        else:
            queued_count += growth_pps * length_s
        now_s += length_s
        at_s.append(now_s)
        lost.append(lost_count)
        queued.append(queued_count)
    return QueueTrace(at_s, lost, queued)


def overlay_periods(periods: Iterable[CapacityPeriod], factors: Iterable[CapacityPeriod]) -> Iterator[CapacityPeriod]:
    """Yield the periods, each cut where a factor changes and multiplied by it; both last equally long."""
    upcoming = iter(factors)
    factor_s, factor = 0.0, 1.0
    for length_s, capacity_pps in periods:
        rest_s = length_s
        while rest_s > 0.0:
            if factor_s <= 0.0:
                factor_s, factor = next(upcoming, (rest_s, factor))
            step_s = min(rest_s, factor_s)
            yield CapacityPeriod(step_s, capacity_pps * factor if factor else 0.0)
            rest_s -= step_s
            factor_s -= step_s


class CapacityTimeline:
    """A capacity that changes over time independently of traffic; drawn lazily."""

    def __init__(self, periods: Iterator[CapacityPeriod]) -> None:
        self._upcoming = periods
        self._periods: list[CapacityPeriod] = []
        self._ends_s: list[float] = []

    def between(self, start_s: float, end_s: float) -> Iterator[CapacityPeriod]:
        """Yield the periods within a time span, the first and the last clipped to it."""
        self._extend_to(end_s)
        position = bisect_right(self._ends_s, start_s)
        while start_s < end_s:
            until_s = min(self._ends_s[position], end_s)
            yield CapacityPeriod(until_s - start_s, self._periods[position].capacity_pps)
            start_s, position = until_s, position + 1

    def _extend_to(self, end_s: float) -> None:
        while not self._ends_s or self._ends_s[-1] < end_s:
            period = next(self._upcoming)
            self._periods.append(period)
            self._ends_s.append((self._ends_s[-1] if self._ends_s else 0.0) + period.length_s)
