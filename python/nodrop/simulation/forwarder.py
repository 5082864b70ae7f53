"""The common body of the simulated SUTs: a tester, frames lost at random, a buffer, a capacity that may change."""

import math
import random
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from operator import add

from nodrop.simulation.fluid_queue import Flow, Piece, flow
from nodrop.simulation.sut import Course, Sut, between

LOAD_MAX_PPS = 1e12
"""Truths are looked for up to here."""
GRID_S = 0.05
"""Frames lost at random are drawn for each such time."""
POISSON_MAX = 30.0
"""Expected lost frames from which on their number is drawn from the normal distribution."""
STEP_S = 0.1
"""Capacities that glide are taken as steps of this length."""


@dataclass(kw_only=True)
class Forwarder(Sut):
    """Forwards what its capacity allows; keeps what its buffer holds; loses the rest, and some at random."""

    seed: int = 0
    capacity_pps: float = 9.1e6
    buffer_count: float = 0.0
    """Frames that can wait."""
    tester_pps: float = math.inf
    """What the tester can send."""
    _draws: random.Random = field(init=False, repr=False)
    _flow: Flow = field(init=False, repr=False)
    _start_s: float = field(init=False, repr=False, default=0.0)
    _end_s: float = field(init=False, repr=False, default=0.0)
    _held_count: float = field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        self._draws = random.Random(self.seed)

    def offer(self, load_pps: float, duration_s: float, start_s: float) -> Course:
        """The course of a whole trial; see `Sut`. What the buffer held has been worked off since the last trial."""
        offered_pps = min(load_pps, self.tester_pps)
        loss_ratio = self._random_loss_ratio(offered_pps)
        held_count = max(0.0, self._held_count - (start_s - self._end_s) * self.capacity_pps)
        pieces = self._capacities(duration_s, start_s)
        self._flow = flow(offered_pps * (1 - loss_ratio), pieces, held_count, self.buffer_count)
        self._start_s, self._end_s = start_s, start_s + duration_s
        self._held_count = self._flow.held_count[-1]
        if not loss_ratio:
            return Course(offered_pps, self._flow.at_s, self._flow.lost_count)
        at_s = _grid_s(duration_s)
        at_random = self._lost_at_random(offered_pps, loss_ratio, at_s)
        queued = between(self._flow.at_s, self._flow.lost_count, at_s)
        return Course(offered_pps, at_s, list(map(add, at_random, queued)))

    def stop(self, elapsed_s: float) -> None:
        """The trial just offered was broken off: its last frames were never sent and do not wait in the buffer."""
        self._end_s = self._start_s + elapsed_s
        self._held_count = next(between(self._flow.at_s, self._flow.held_count, (elapsed_s,)))

    def _capacities(self, duration_s: float, start_s: float) -> Iterable[Piece]:  # noqa: ARG002
        """The capacity during a trial."""
        return (Piece(duration_s, self.capacity_pps),)

    def _random_loss_ratio(self, load_pps: float) -> float:  # noqa: ARG002
        """Share of the frames that is lost whatever the queue."""
        return 0.0

    def _lost_at_random(self, offered_pps: float, loss_ratio: float, at_s: list[float]) -> Iterator[int]:
        sent = [round(offered_pps * time_s) for time_s in at_s]
        return accumulate(
            (draw_lost(self._draws, after - before, loss_ratio) for before, after in pairwise(sent)), initial=0
        )

    def truth_pps(self, loss_ratio: float, duration_s: float, at_s: float = math.inf) -> float:
        """See `Sut`; never more than the tester can send, as what it does not send counts as lost."""
        truth_pps = self._sut_truth_pps(loss_ratio, duration_s, at_s)
        return min(truth_pps, self.tester_pps / (1 - loss_ratio))

    @abstractmethod
    def _sut_truth_pps(self, loss_ratio: float, duration_s: float, at_s: float) -> float:
        """The truth with a tester that can send whatever is asked."""

    def _held_back_pps(self, capacity_pps: float, loss_ratio: float, duration_s: float) -> float:
        """The truth of a steady capacity: it forwards, the buffer keeps, and the ratio may be lost."""
        return (capacity_pps + self.buffer_count / duration_s) / (1 - loss_ratio)


def glide(capacity_pps: Callable[[float], float], duration_s: float) -> Iterable[Piece]:
    """A capacity that changes smoothly with the time since the trial began, in steps around their middle."""
    count = max(1, math.ceil(duration_s / STEP_S - 1e-9))
    length_s = duration_s / count
    return (Piece(length_s, capacity_pps((step + 0.5) * length_s)) for step in range(count))


def highest_load(is_met: Callable[[float], bool]) -> float:
    """Where the answer turns from yes to no: between two loads it is looked for by halves."""
    low_pps, high_pps = 0.0, LOAD_MAX_PPS
    while high_pps - low_pps > 1e-9 * high_pps:
        middle_pps = (low_pps + high_pps) / 2
        low_pps, high_pps = (middle_pps, high_pps) if is_met(middle_pps) else (low_pps, middle_pps)
    return low_pps


def draw_lost(draws: random.Random, frame_count: int, loss_ratio: float) -> int:
    """How many of so many frames are lost, each on its own: Poisson for few, normal for many, which is near enough."""
    expected = frame_count * loss_ratio
    if expected > POISSON_MAX:
        return min(max(round(draws.gauss(expected, math.sqrt(expected * (1 - loss_ratio)))), 0), frame_count)
    lost_count, product, floor = 0, draws.random(), math.exp(-expected)
    while product > floor:
        lost_count += 1
        product *= draws.random()
    return min(lost_count, frame_count)


def _grid_s(duration_s: float) -> list[float]:
    count = max(1, math.ceil(duration_s / GRID_S - 1e-9))
    return [GRID_S * position for position in range(count)] + [duration_s]
