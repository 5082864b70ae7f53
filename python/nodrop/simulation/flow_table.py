"""A SUT that looks up flows in a table, and is slow for the first frame of each flow."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from nodrop.simulation.fluid_queue import CapacityPeriod
from nodrop.simulation.forwarder import SimulatedForwarder


@dataclass(kw_only=True)
class FlowTable(SimulatedForwarder):
    """Takes 1 ms for the first frame of each of 512 flows, during which other frames wait or are lost.

    It forgets flows after 10 s without traffic, as Open vSwitch does. Truth: that of a table that has all flows.
    """

    flow_count: int = 512
    miss_s: float = 1e-3
    """Time that a frame of an unknown flow takes."""
    idle_s: float = 10.0
    """Time without traffic after which the flows are forgotten."""
    _known_count: float = field(init=False, repr=False, default=0.0)

    def _capacities(self, duration_s: float, start_s: float) -> Iterable[CapacityPeriod]:
        last_trial_s = self._end_s - self._start_s  # it may have been stopped
        self._known_count += last_trial_s / self.miss_s
        if start_s - self._end_s > self.idle_s:
            self._known_count = 0.0
        self._known_count = min(self._known_count, self.flow_count)
        learning_s = min((self.flow_count - self._known_count) * self.miss_s, duration_s)
        if learning_s:
            yield CapacityPeriod(learning_s, 1 / self.miss_s)
        if learning_s < duration_s:
            yield CapacityPeriod(duration_s - learning_s, self.capacity_pps)

    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:  # noqa: ARG002
        return self._steady_truth_pps(self.capacity_pps, loss_ratio, duration_s)
