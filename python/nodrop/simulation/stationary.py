"""SUTs that are the same at any time: what they lose depends on load and duration alone, and on chance."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from nodrop.simulation.fluid_queue import Piece
from nodrop.simulation.forwarder import Forwarder, highest_load

LN2 = math.log(2)


@dataclass(kw_only=True)
class HardLimit(Forwarder):
    """Forwards everything up to its capacity and not a frame more.

    Truth: what it forwards and what its buffer keeps, divided by what may not be lost.
    """

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        return self._held_back_pps(self.capacity_pps, loss_ratio, duration_s)


@dataclass(kw_only=True)
class DeepBuffer(HardLimit):
    """A hard limit whose buffer hides overload for as long as it has room, so that short trials flatter it."""

    buffer_count: float = 2e6


@dataclass(kw_only=True)
class PerfectLink(HardLimit):
    """Forwards everything."""

    capacity_pps: float = math.inf


@dataclass(kw_only=True)
class DeadLink(HardLimit):
    """Forwards nothing."""

    capacity_pps: float = 0.0


@dataclass(kw_only=True)
class TesterOverload(HardLimit):
    """A SUT of 25 Mpps behind a tester that cannot send more than 20: the figure is the tester's."""

    capacity_pps: float = 25e6
    tester_pps: float = 20e6


@dataclass(kw_only=True)
class TesterOverloadAbove(TesterOverload):
    """A SUT of 9.1 Mpps behind the same tester, which falls short only of loads that do not matter."""

    capacity_pps: float = 9.1e6


@dataclass(kw_only=True)
class DurationDependent(HardLimit):
    """Forwards less in short trials than in long ones: 8.1 Mpps in trials of 1 s, 9.0 in those of 30 s.

    Truth: that of the capacity in trials of this duration.
    """

    capacity_pps: float = 9.0e6
    short_pps: float = 8.1e6
    short_s: float = 1.0
    long_s: float = 30.0

    def _capacities(self, duration_s: float, start_s: float) -> Iterable[Piece]:  # noqa: ARG002
        return (Piece(duration_s, self._capacity_pps(duration_s)),)

    def _capacity_pps(self, duration_s: float) -> float:
        """As much more with every doubling of the duration."""
        share = math.log(duration_s / self.short_s) / math.log(self.long_s / self.short_s)
        return self.short_pps + min(max(share, 0.0), 1.0) * (self.capacity_pps - self.short_pps)

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        return self._held_back_pps(self._capacity_pps(duration_s), loss_ratio, duration_s)


@dataclass(kw_only=True)
class LossInversion(HardLimit):
    """Loses 2 % of the frames at loads from 4 to 5 Mpps and none above, up to its capacity.

    Truth: that of a hard limit, as the highest load counts, whatever is lost below.
    """

    band_low_pps: float = 4e6
    band_high_pps: float = 5e6
    band_loss_ratio: float = 0.02

    def _random_loss_ratio(self, load_pps: float) -> float:
        return self.band_loss_ratio if self.band_low_pps <= load_pps <= self.band_high_pps else 0.0


@dataclass(kw_only=True)
class RandomLoss(Forwarder):
    """Loses frames at random below its capacity, with a ratio that depends on the load.

    Truth: the load at which ln 2 more lost frames are to be expected than are allowed. Then half of all trials stay
    within what is allowed: exactly so where no frame may be lost (Poisson), else within a frame.
    """

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        forwarded_pps = self.capacity_pps + self.buffer_count / duration_s

        def is_met(load_pps: float) -> bool:
            random_ratio = self._random_loss_ratio(load_pps)
            lost_pps = max(random_ratio * load_pps, load_pps - forwarded_pps)
            return lost_pps * duration_s <= math.floor(loss_ratio * load_pps * duration_s) + LN2

        return highest_load(is_met)


@dataclass(kw_only=True)
class LossFloor(RandomLoss):
    """A hard limit that also loses one frame in a million at every load: only few short trials are without loss."""

    floor_ratio: float = 1e-6

    def _random_loss_ratio(self, load_pps: float) -> float:  # noqa: ARG002
        return self.floor_ratio


@dataclass(kw_only=True)
class LossFloorRare(LossFloor):
    """A hard limit that also loses one frame in a hundred million at every load."""

    floor_ratio: float = 1e-8


@dataclass(kw_only=True)
class SmoothKnee(RandomLoss):
    """Loses ever more with ever more load: 1e-8 of the frames 5 % below 9.1 Mpps, 1e-2 of them 5 % above, then steeply.

    Between the two the logarithm of the loss ratio rises in proportion to the load, and below them it goes on falling
    as it does between them.
    """

    capacity_pps: float = 9.1e6 * 1.05
    knee_pps: float = 9.1e6 * 0.95
    knee_loss_ratio: float = 1e-8
    limit_loss_ratio: float = 1e-2

    def _random_loss_ratio(self, load_pps: float) -> float:
        share = min(1.0, (load_pps - self.knee_pps) / (self.capacity_pps - self.knee_pps))
        return float(self.knee_loss_ratio * (self.limit_loss_ratio / self.knee_loss_ratio) ** share)
