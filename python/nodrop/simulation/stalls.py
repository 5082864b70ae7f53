"""SUTs that now and then stop altogether for a moment."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from nodrop.simulation.fluid_queue import Piece
from nodrop.simulation.time_varying_capacity import Wandering


@dataclass(kw_only=True)
class Stalling(Wandering):
    """Stops for 1 ms now and then; up to 4096 frames wait meanwhile.

    Truth without loss: the load at which half of the trials have no stall, or only the part of one that the buffer
    bridges. With loss: what is forwarded and kept beside as many stalls as every second trial has at most.
    """

    buffer_count: float = 4096.0
    stall_s: float = 0.001
    interval_s: float = 2.0

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        stalled_s = self._median_count(duration_s) * self.stall_s
        full_pps = self._held_back_pps(self.capacity_pps * (1 - stalled_s / duration_s), loss_ratio, duration_s)
        if loss_ratio == 0:
            return min(full_pps, self._lossless_pps(duration_s))
        lossy_s = stalled_s - loss_ratio * duration_s
        bridged_pps = self._median_count(duration_s) * self.buffer_count / lossy_s if lossy_s > 0 else math.inf
        return min(full_pps, bridged_pps)

    def _lossless_pps(self, duration_s: float) -> float:
        """The load whose buffer bridges so much of a stall that the rest is met by every second trial at most."""
        to_bridge_s = (duration_s + self.stall_s - self._met_half_s()) / 2
        if to_bridge_s <= 0:
            return math.inf
        return self.buffer_count / min(self.stall_s, to_bridge_s)

    @abstractmethod
    def _met_half_s(self) -> float:
        """How long one must wait to meet the beginning of a stall with probability 1/2."""

    @abstractmethod
    def _median_count(self, duration_s: float) -> int:
        """Stalls that begin within such a time, at most, with probability 1/2."""


@dataclass(kw_only=True)
class StallPeriodic(Stalling):
    """Stops for 1 ms every 2 s; up to 4096 frames wait meanwhile."""

    def _pieces(self) -> Iterator[Piece]:
        yield Piece(self._draws.uniform(0.0, self.interval_s), self.capacity_pps)
        while True:
            yield Piece(self.stall_s, 0.0)
            yield Piece(self.interval_s - self.stall_s, self.capacity_pps)

    def _met_half_s(self) -> float:
        return self.interval_s / 2

    def _median_count(self, duration_s: float) -> int:
        return math.ceil(duration_s / self.interval_s - 0.5)


@dataclass(kw_only=True)
class StallRandom(Stalling):
    """Stops for 1 ms at random times, every 10 s on average; up to 4096 frames wait meanwhile."""

    interval_s: float = 10.0

    def _pieces(self) -> Iterator[Piece]:
        while True:
            yield Piece(self._draws.expovariate(1 / self.interval_s), self.capacity_pps)
            yield Piece(self.stall_s, 0.0)

    def _met_half_s(self) -> float:
        return self.interval_s * math.log(2)

    def _median_count(self, duration_s: float) -> int:
        expected = duration_s / self.interval_s
        count, probability, within = 0, math.exp(-expected), math.exp(-expected)
        while within < 0.5:
            count += 1
            probability *= expected / count
            within += probability
        return count
