"""SUTs whose capacity changes over time, independently of traffic."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import NormalDist

from nodrop.simulation.fluid_queue import CapacityPeriod, CapacityTimeline
from nodrop.simulation.forwarder import SimulatedForwarder, find_highest_load

NORMAL = NormalDist()


@dataclass(kw_only=True)
class TimeVaryingSut(SimulatedForwarder):
    """A capacity that changes over time, with or without traffic."""

    _timeline: CapacityTimeline = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._timeline = CapacityTimeline(self._periods())

    def _capacities(self, duration_s: float, start_s: float) -> Iterable[CapacityPeriod]:
        return self._timeline.between(start_s, start_s + duration_s)

    @abstractmethod
    def _periods(self) -> Iterator[CapacityPeriod]:
        """Yield the capacities from the start of the simulation, without end."""


@dataclass(kw_only=True)
class NoisyWindows(TimeVaryingSut):
    """Draws a new capacity every 0.1 s, around 9.1 Mpps with a standard deviation of 1 %.

    Truth without loss: the median of the smallest draw in a trial. With loss: the load whose expected excess over the
    draws equals the allowed loss.
    """

    sd_ratio: float = 0.01
    hold_s: float = 0.1

    def _periods(self) -> Iterator[CapacityPeriod]:
        while True:
            yield CapacityPeriod(self.hold_s, self.capacity_pps * max(0.0, self._draws.gauss(1.0, self.sd_ratio)))

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        sd_pps = self.sd_ratio * self.capacity_pps
        if loss_ratio == 0:
            draw_count = duration_s / self.hold_s + 1
            return self.capacity_pps + sd_pps * NORMAL.inv_cdf(1 - 0.5 ** (1 / draw_count))

        def is_met(load_pps: float) -> bool:
            above = (load_pps - self.capacity_pps) / sd_pps
            lost_pps = sd_pps * (above * NORMAL.cdf(above) + NORMAL.pdf(above))
            return lost_pps <= loss_ratio * load_pps + self.buffer_count / duration_s

        return find_highest_load(is_met)


@dataclass(kw_only=True)
class TwoModesTime(TimeVaryingSut):
    """Switches between 9.1 and 8.3 Mpps at random times, after 8 s on average.

    Truth without loss: that of the slow mode, as at most half of all trials are free of it. With loss: each mode has a
    median share of half of the time.
    """

    slow_pps: float = 8.3e6
    dwell_s: float = 8.0

    def _periods(self) -> Iterator[CapacityPeriod]:
        is_slow = self._draws.random() < 0.5
        while True:
            yield CapacityPeriod(
                self._draws.expovariate(1 / self.dwell_s), self.slow_pps if is_slow else self.capacity_pps
            )
            is_slow = not is_slow

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        slow_alone_pps = self.slow_pps / (1 - 2 * loss_ratio) if loss_ratio < 0.5 else math.inf
        if slow_alone_pps <= self.capacity_pps:
            return slow_alone_pps
        return (self.slow_pps + self.capacity_pps) / 2 / (1 - loss_ratio)
