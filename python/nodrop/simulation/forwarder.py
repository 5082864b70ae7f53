"""The common base of the simulated SUTs: a tester limit, random loss, a buffer, a capacity that may change."""

import math
import random
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from operator import add

from nodrop.simulation.fluid_queue import CapacityPeriod, CapacityTimeline, QueueTrace, overlay_periods, trace_queue
from nodrop.simulation.sut import LossTimeline, Sut, interpolate

LOAD_MAX_PPS = 1e12
"""Upper limit of searches for the truth."""
GRID_S = 0.05
"""Random losses are drawn per interval of this length."""
POISSON_MAX = 30.0
"""From this expected number of lost frames on, the normal distribution replaces Poisson's."""
STEP_S = 0.1
"""Continuous changes of capacity are approximated by steps of this length."""


@dataclass(kw_only=True)
class SimulatedForwarder(Sut):
    """Forwards up to its capacity, queues up to its buffer, loses the rest, and loses some frames at random."""

    seed: int = 0
    capacity_pps: float = 9.1e6
    buffer_count: float = 0.0
    """Size of the buffer in frames."""
    tester_pps: float = math.inf
    """The highest load the tester can send."""
    _draws: random.Random = field(init=False, repr=False)
    _trace: QueueTrace = field(init=False, repr=False)
    _start_s: float = field(init=False, repr=False, default=0.0)
    _end_s: float = field(init=False, repr=False, default=0.0)
    _queued_count: float = field(init=False, repr=False, default=0.0)
    _pauses: CapacityTimeline | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        self._draws = random.Random(self.seed)

    def offer(self, load_pps: float, duration_s: float, start_s: float) -> LossTimeline:
        """See `Sut`. The queue has drained since the end of the last trial."""
        offered_pps = min(load_pps, self.tester_pps)
        loss_ratio = self._random_loss_ratio(offered_pps)
        queued_count = max(0.0, self._queued_count - (start_s - self._end_s) * self.capacity_pps)
        periods = self._capacities(duration_s, start_s)
        if self._pauses:
            periods = overlay_periods(periods, self._pauses.between(start_s, start_s + duration_s))
        self._trace = trace_queue(offered_pps * (1 - loss_ratio), periods, queued_count, self.buffer_count)
        self._start_s, self._end_s = start_s, start_s + duration_s
        self._queued_count = self._trace.queued_count[-1]
        if not loss_ratio:
            return LossTimeline(offered_pps, self._trace.at_s, self._trace.lost_count)
        grid_s = _make_grid_s(duration_s)
        at_random = list(self._lost_at_random(offered_pps, loss_ratio, grid_s))
        # Losses in a pause must not spread over its interval of the grid.
        at_s = sorted({*grid_s, *self._trace.at_s}) if self._pauses else grid_s
        lost = interpolate(grid_s, at_random, at_s), interpolate(self._trace.at_s, self._trace.lost_count, at_s)
        return LossTimeline(offered_pps, at_s, list(map(add, *lost)))

    def pause_at(self, pauses: CapacityTimeline) -> None:
        """Multiply the capacity by that of these periods, 0 or 1, from now on."""
        self._pauses = pauses

    def stop(self, elapsed_s: float) -> None:
        """See `Sut`. The frames not sent are not queued either."""
        self._end_s = self._start_s + elapsed_s
        self._queued_count = next(interpolate(self._trace.at_s, self._trace.queued_count, (elapsed_s,)))

    def _capacities(self, duration_s: float, start_s: float) -> Iterable[CapacityPeriod]:  # noqa: ARG002
        """Return the capacity during a trial."""
        return (CapacityPeriod(duration_s, self.capacity_pps),)

    def _random_loss_ratio(self, load_pps: float) -> float:  # noqa: ARG002
        """Return the share of the frames lost regardless of the queue."""
        return 0.0

    def _lost_at_random(self, offered_pps: float, loss_ratio: float, at_s: list[float]) -> Iterator[int]:
        sent = [round(offered_pps * time_s) for time_s in at_s]
        return accumulate(
            (draw_lost(self._draws, after - before, loss_ratio) for before, after in pairwise(sent)), initial=0
        )

    def truth_pps(self, loss_ratio: float, duration_s: float, at_s: float = math.inf) -> float:
        """See `Sut`. Limited by the tester, as unsent frames count as lost."""
        truth_pps = self._sut_truth_pps(loss_ratio, duration_s, at_s)
        return min(truth_pps, self.tester_pps / (1 - loss_ratio))

    @abstractmethod
    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:
        """Return the truth for a tester without a limit."""

    def _steady_truth_pps(self, capacity_pps: float, loss_ratio: float, duration_s: float) -> float:
        """Return the truth for a constant capacity: forwarded and queued frames, over the share that must arrive."""
        return (capacity_pps + self.buffer_count / duration_s) / (1 - loss_ratio)


def approximate_by_steps(capacity_pps: Callable[[float], float], duration_s: float) -> Iterable[CapacityPeriod]:
    """Approximate a capacity that changes with the time since the start of the trial by steps."""
    count = max(1, math.ceil(duration_s / STEP_S - 1e-9))
    length_s = duration_s / count
    return (CapacityPeriod(length_s, capacity_pps((step + 0.5) * length_s)) for step in range(count))


def find_highest_load(is_met: Callable[[float], bool]) -> float:
    """Return the load at which the predicate turns from true to false, by bisection."""
    low_pps, high_pps = 0.0, LOAD_MAX_PPS
    while high_pps - low_pps > 1e-9 * high_pps:
        middle_pps = (low_pps + high_pps) / 2
        low_pps, high_pps = (middle_pps, high_pps) if is_met(middle_pps) else (low_pps, middle_pps)
    return low_pps


def draw_lost(draws: random.Random, frame_count: int, loss_ratio: float) -> int:
    """Draw the number of independently lost frames: from Poisson's distribution for few, the normal one for many."""
    expected = frame_count * loss_ratio
    if expected > POISSON_MAX:
        return min(max(round(draws.gauss(expected, math.sqrt(expected * (1 - loss_ratio)))), 0), frame_count)
    lost_count, product, floor = 0, draws.random(), math.exp(-expected)
    while product > floor:
        lost_count += 1
        product *= draws.random()
    return min(lost_count, frame_count)


def _make_grid_s(duration_s: float) -> list[float]:
    count = max(1, math.ceil(duration_s / GRID_S - 1e-9))
    return [GRID_S * position for position in range(count)] + [duration_s]
