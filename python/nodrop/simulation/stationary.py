"""SUTs that do not change over time: their losses depend only on load, duration and chance."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from nodrop.simulation.fluid_queue import CapacityPeriod
from nodrop.simulation.forwarder import SimulatedForwarder, find_highest_load

LN2 = math.log(2)


@dataclass(kw_only=True)
class HardLimit(SimulatedForwarder):
    """Forwards exactly its capacity.

    Truth: the frames forwarded and queued, divided by the share that must arrive.
    """

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        return self._steady_truth_pps(self.capacity_pps, loss_ratio, duration_s)


@dataclass(kw_only=True)
class DeepBuffer(HardLimit):
    """A hard limit whose deep buffer absorbs overload in short trials."""

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
    """A SUT of 25 Mpps behind a tester that sends at most 20 Mpps: the tester is the limit."""

    capacity_pps: float = 25e6
    tester_pps: float = 20e6


@dataclass(kw_only=True)
class TesterOverloadAbove(TesterOverload):
    """A SUT of 9.1 Mpps behind the same tester, which limits only irrelevant loads."""

    capacity_pps: float = 9.1e6


@dataclass(kw_only=True)
class DurationDependent(HardLimit):
    """Forwards less in short trials than in long ones: 8.1 Mpps in trials of 1 s, 9.0 in those of 30 s.

    Truth: that of the capacity for this duration.
    """

    capacity_pps: float = 9.0e6
    short_pps: float = 8.1e6
    short_s: float = 1.0
    long_s: float = 30.0

    def _capacities(self, duration_s: float, start_s: float) -> Iterable[CapacityPeriod]:  # noqa: ARG002
        return (CapacityPeriod(duration_s, self._capacity_pps(duration_s)),)

    def _capacity_pps(self, duration_s: float) -> float:
        """Return a capacity that grows by a constant with every doubling of the duration."""
        share = math.log(duration_s / self.short_s) / math.log(self.long_s / self.short_s)
        return self.short_pps + min(max(share, 0.0), 1.0) * (self.capacity_pps - self.short_pps)

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        return self._steady_truth_pps(self._capacity_pps(duration_s), loss_ratio, duration_s)


@dataclass(kw_only=True)
class LossInversion(HardLimit):
    """Loses 2 % of the frames at loads from 4 to 5 Mpps and none above, up to its capacity.

    Truth: that of a hard limit, as only the highest load counts.
    """

    band_low_pps: float = 4e6
    band_high_pps: float = 5e6
    band_loss_ratio: float = 0.02

    def _random_loss_ratio(self, load_pps: float) -> float:
        return self.band_loss_ratio if self.band_low_pps <= load_pps <= self.band_high_pps else 0.0


@dataclass(kw_only=True)
class RandomLoss(SimulatedForwarder):
    """Loses frames at random below its capacity, with a ratio that depends on the load.

    Truth: the load at which the expected loss exceeds the allowed one by ln 2 frames. Half of all trials then stay
    within the allowed loss: exactly if no frame may be lost (Poisson), otherwise to within a frame.
    """

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        forwarded_pps = self.capacity_pps + self.buffer_count / duration_s

        def is_met(load_pps: float) -> bool:
            random_ratio = self._random_loss_ratio(load_pps)
            lost_pps = max(random_ratio * load_pps, load_pps - forwarded_pps)
            return lost_pps * duration_s <= math.floor(loss_ratio * load_pps * duration_s) + LN2

        return find_highest_load(is_met)


@dataclass(kw_only=True)
class LossFloor(RandomLoss):
    """A hard limit that also loses one frame in a million at every load: few short trials have no loss."""

    floor_ratio: float = 1e-6

    def _random_loss_ratio(self, load_pps: float) -> float:  # noqa: ARG002
        return self.floor_ratio


@dataclass(kw_only=True)
class LossFloorRare(LossFloor):
    """A hard limit that also loses one frame in a hundred million at every load."""

    floor_ratio: float = 1e-8


@dataclass(kw_only=True)
class SmoothKnee(RandomLoss):
    """Loses more as the load rises: 1e-8 of the frames 5 % below 9.1 Mpps, 1e-2 5 % above, then steeply.

    Below the upper of the two loads the logarithm of the loss ratio is linear in the load.
    """

    capacity_pps: float = 9.1e6 * 1.05
    knee_pps: float = 9.1e6 * 0.95
    knee_loss_ratio: float = 1e-8
    limit_loss_ratio: float = 1e-2

    def _random_loss_ratio(self, load_pps: float) -> float:
        share = min(1.0, (load_pps - self.knee_pps) / (self.capacity_pps - self.knee_pps))
        return float(self.knee_loss_ratio * (self.limit_loss_ratio / self.knee_loss_ratio) ** share)
