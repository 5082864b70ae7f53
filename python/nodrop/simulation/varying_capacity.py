"""SUTs whose capacity differs between trials, falls within each trial, or changes gradually over time."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from nodrop.simulation.fluid_queue import CapacityPeriod
from nodrop.simulation.forwarder import SimulatedForwarder, approximate_by_steps, find_highest_load


@dataclass(kw_only=True)
class NoisyCapacity(SimulatedForwarder):
    """Draws its capacity for each trial, around 9.1 Mpps with a standard deviation of 0.75 %.

    Truth: that of the median capacity.
    """

    sd_ratio: float = 0.0075

    def _capacities(self, duration_s: float, start_s: float) -> Iterable[CapacityPeriod]:  # noqa: ARG002
        return (CapacityPeriod(duration_s, self.capacity_pps * max(0.0, self._draws.gauss(1.0, self.sd_ratio))),)

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        return self._steady_truth_pps(self.capacity_pps, loss_ratio, duration_s)


@dataclass(kw_only=True)
class TwoModesTrial(SimulatedForwarder):
    """Forwards 9.1 Mpps in seven out of ten trials and 8.3 Mpps in the others.

    Truth: that of the more frequent mode.
    """

    slow_pps: float = 8.3e6
    slow_ratio: float = 0.3

    def _capacities(self, duration_s: float, start_s: float) -> Iterable[CapacityPeriod]:  # noqa: ARG002
        is_slow = self._draws.random() < self.slow_ratio
        return (CapacityPeriod(duration_s, self.slow_pps if is_slow else self.capacity_pps),)

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        capacity_pps = self.slow_pps if self.slow_ratio > 0.5 else self.capacity_pps
        return self._steady_truth_pps(capacity_pps, loss_ratio, duration_s)


@dataclass(kw_only=True)
class Degrading(SimulatedForwarder):
    """Loses 4 % of its capacity within the first 20 s of each trial, and recovers before the next.

    Truth: the load whose excess over the falling capacity equals the allowed loss.
    """

    fall_ratio: float = 0.04
    fall_s: float = 20.0

    def _capacities(self, duration_s: float, start_s: float) -> Iterable[CapacityPeriod]:  # noqa: ARG002
        return approximate_by_steps(self._capacity_pps, duration_s)

    def _capacity_pps(self, elapsed_s: float) -> float:
        return self.capacity_pps * (1 - self.fall_ratio * min(1.0, elapsed_s / self.fall_s))

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        capacities_pps = [self._capacity_pps((step + 0.5) / 1000 * duration_s) for step in range(1000)]
        queued_pps = self.buffer_count / duration_s

        def is_met(load_pps: float) -> bool:
            lost_pps = fmean(max(0.0, load_pps - capacity_pps) for capacity_pps in capacities_pps)
            return lost_pps <= loss_ratio * load_pps + queued_pps

        return find_highest_load(is_met)


@dataclass(kw_only=True)
class WarmUp(SimulatedForwarder):
    """Starts 8 % below its capacity and approaches it with a time constant of 20 s, with or without traffic.

    Truth: that of the current capacity; in the long term that of the capacity it approaches.
    """

    cold_ratio: float = 0.08
    warm_up_s: float = 20.0

    def _capacities(self, duration_s: float, start_s: float) -> Iterable[CapacityPeriod]:
        return approximate_by_steps(lambda elapsed_s: self._capacity_pps(start_s + elapsed_s), duration_s)

    def _capacity_pps(self, now_s: float) -> float:
        return self.capacity_pps * (1 - self.cold_ratio * math.exp(-now_s / self.warm_up_s))

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:
        return self._steady_truth_pps(self._capacity_pps(at_s), loss_ratio, duration_s)


@dataclass(kw_only=True)
class Drift(SimulatedForwarder):
    """Loses 3 % of its capacity over 300 s, with or without traffic, and stays there.

    Truth: that of the current capacity; in the long term that of the final capacity.
    """

    fall_ratio: float = 0.03
    fall_s: float = 300.0

    def _capacities(self, duration_s: float, start_s: float) -> Iterable[CapacityPeriod]:
        return approximate_by_steps(lambda elapsed_s: self._capacity_pps(start_s + elapsed_s), duration_s)

    def _capacity_pps(self, now_s: float) -> float:
        return self.capacity_pps * (1 - self.fall_ratio * min(1.0, now_s / self.fall_s))

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:
        return self._steady_truth_pps(self._capacity_pps(at_s + duration_s), loss_ratio, duration_s)
