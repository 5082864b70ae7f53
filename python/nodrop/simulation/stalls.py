"""SUTs that stop for a short time now and then."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from nodrop.simulation.fluid_queue import CapacityPeriod
from nodrop.simulation.time_varying_capacity import TimeVaryingSut


@dataclass(kw_only=True)
class StallingSut(TimeVaryingSut):
    """Stops for 1 ms now and then; up to 4096 frames are queued meanwhile.

    Truth without loss: the load at which half of the trials have no stall, or only as much of one as the buffer
    bridges. With loss: the frames forwarded and queued next to the median number of stalls.
    """

    buffer_count: float = 4096.0
    stall_s: float = 0.001
    interval_s: float = 2.0

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        stalled_s = self._median_count(duration_s) * self.stall_s
        full_pps = self._steady_truth_pps(self.capacity_pps * (1 - stalled_s / duration_s), loss_ratio, duration_s)
        if loss_ratio == 0:
            return min(full_pps, self._lossless_pps(duration_s))
        lossy_s = stalled_s - loss_ratio * duration_s
        bridged_pps = self._median_count(duration_s) * self.buffer_count / lossy_s if lossy_s > 0 else math.inf
        return min(full_pps, bridged_pps)

    def _lossless_pps(self, duration_s: float) -> float:
        """Return the load at which at most half of the trials have more of a stall than the buffer bridges."""
        to_bridge_s = (duration_s + self.stall_s - self._median_wait_s()) / 2
        if to_bridge_s <= 0:
            return math.inf
        return self.buffer_count / min(self.stall_s, to_bridge_s)

    @abstractmethod
    def _median_wait_s(self) -> float:
        """Return the time within which a stall begins with probability 1/2."""

    @abstractmethod
    def _median_count(self, duration_s: float) -> int:
        """Return the median number of stalls that begin within a duration."""


@dataclass(kw_only=True)
class StallPeriodic(StallingSut):
    """Stops for 1 ms every 2 s; up to 4096 frames are queued meanwhile."""

    def _periods(self) -> Iterator[CapacityPeriod]:
        yield CapacityPeriod(self._draws.uniform(0.0, self.interval_s), self.capacity_pps)
        while True:
            yield CapacityPeriod(self.stall_s, 0.0)
            yield CapacityPeriod(self.interval_s - self.stall_s, self.capacity_pps)

    def _median_wait_s(self) -> float:
        return self.interval_s / 2

    def _median_count(self, duration_s: float) -> int:
        return math.ceil(duration_s / self.interval_s - 0.5)


@dataclass(kw_only=True)
class StallRandom(StallingSut):
    """Stops for 1 ms at random times, every 10 s on average; up to 4096 frames are queued meanwhile."""

    interval_s: float = 10.0

    def _periods(self) -> Iterator[CapacityPeriod]:
        while True:
            yield CapacityPeriod(self._draws.expovariate(1 / self.interval_s), self.capacity_pps)
            yield CapacityPeriod(self.stall_s, 0.0)

    def _median_wait_s(self) -> float:
        return self.interval_s * math.log(2)

    def _median_count(self, duration_s: float) -> int:
        expected = duration_s / self.interval_s
        count, probability, within = 0, math.exp(-expected), math.exp(-expected)
        while within < 0.5:
            count += 1
            probability *= expected / count
            within += probability
        return count
