"""Other work beside a simulated SUT: it takes the SUT's CPU away, and is left out as the engine leaves it out."""

import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from nodrop.simulation.fluid_queue import CapacityPeriod, CapacityTimeline
from nodrop.simulation.forwarder import SimulatedForwarder
from nodrop.simulation.sut import LossTimeline, Sut, interpolate

SLOT_S = 0.004
"""Interval between the engine's looks at waits and losses."""
TICK_S = 0.01
"""Unit in which the kernel counts steal."""
DRAIN_MAX_S = 1.0
STEADY_S, STEADY_RATIO = 0.064, 0.05
"""Time after which a queue that has become shorter by less than this share is as long as the load makes it."""
EXTENSION_MAX = 4.0
"""Largest extension of a trial, as a multiple of its duration."""


class DisturbanceModel(NamedTuple):
    """Times without a CPU."""

    text: str
    make_periods: Callable[[random.Random], Iterator[CapacityPeriod]]
    """Yields periods of capacity 1, and of 0 while other work runs."""
    is_steal: bool = False
    """Whether the kernel sees it in ticks only."""


def _make_preemptions(draws: random.Random) -> Iterator[CapacityPeriod]:
    while True:
        yield CapacityPeriod(draws.expovariate(1 / 0.1), 1.0)
        yield CapacityPeriod(draws.uniform(0.001, 0.008), 0.0)


def _make_steal(draws: random.Random) -> Iterator[CapacityPeriod]:
    while True:
        yield CapacityPeriod(draws.expovariate(1 / 0.2), 1.0)
        yield CapacityPeriod(TICK_S * draws.randint(1, 4), 0.0)


def _make_bursts(draws: random.Random) -> Iterator[CapacityPeriod]:
    while True:
        yield CapacityPeriod(draws.uniform(0.5, 0.9), 1.0)
        for _ in range(50):  # two processes alternate in slices of 3 ms
            yield CapacityPeriod(0.003, 0.0)
            yield CapacityPeriod(0.003 + draws.uniform(0.0, 0.0001), 1.0)


DISTURBANCES: Mapping[str, DisturbanceModel] = {
    "preemption": DisturbanceModel("other work runs for 1 to 8 ms, every 0.1 s on average", _make_preemptions),
    "steal": DisturbanceModel("the hypervisor takes 10 to 40 ms, every 0.2 s on average", _make_steal, is_steal=True),
    "bursts": DisturbanceModel("other work takes every second slice of 3 ms for 0.3 s, each second", _make_bursts),
}


class DisturbedSut(Sut):
    """A SUT that loses its CPU now and then; trials count its undisturbed time only.

    Its times are those without disturbed time: a trial takes as much longer as was disturbed, as with the engine.
    """

    def __init__(self, sut: SimulatedForwarder, model: DisturbanceModel, seed: int) -> None:
        self._sut = sut
        self._model = model
        self._pauses = CapacityTimeline(model.make_periods(random.Random(f"disturbances {seed}")))
        sut.pause_at(self._pauses)
        self._lag_s = 0.0
        """Disturbed time until the last trial."""
        self._real_s: list[float] = []
        self._counted_s: list[float] = []

    def offer(self, load_pps: float, duration_s: float, start_s: float) -> LossTimeline:
        """See `Sut`."""
        begin_s = start_s + self._lag_s
        marks = self._list_marks(load_pps, begin_s, (1.0 + EXTENSION_MAX) * duration_s)
        self._real_s, self._counted_s = _map_undisturbed_time(marks, duration_s, (1.0 + EXTENSION_MAX) * duration_s)
        timeline = self._sut.offer(load_pps, self._real_s[-1], begin_s)
        self._lag_s += self._real_s[-1] - self._counted_s[-1]
        return _select_undisturbed(timeline, self._real_s, self._counted_s)

    def stop(self, elapsed_s: float) -> None:
        """See `Sut`."""
        real_s = next(interpolate(self._counted_s, self._real_s, (elapsed_s,)))
        self._lag_s -= (self._real_s[-1] - self._counted_s[-1]) - (real_s - elapsed_s)
        self._sut.stop(real_s)

    def truth_pps(self, loss_ratio: float, duration_s: float, at_s: float = float("inf")) -> float:
        """See `Sut`: the truth without disturbances."""
        return self._sut.truth_pps(loss_ratio, duration_s, at_s + self._lag_s)

    def _list_marks(self, load_pps: float, begin_s: float, length_s: float) -> Iterable[tuple[float, float]]:
        """Yield the disturbed times of a trial, from its begin."""
        now_s = 0.0
        for period_s, share in self._pauses.between(begin_s, begin_s + length_s):
            if share == 0.0:
                first_s = max(0.0, now_s - (TICK_S if self._model.is_steal else SLOT_S))
                yield first_s, now_s + period_s + 2 * SLOT_S + self._compute_drain_s(load_pps, period_s)
            now_s += period_s

    def _compute_drain_s(self, load_pps: float, pause_s: float) -> float:
        queued_count = min(self._sut.buffer_count, min(load_pps, self._sut.tester_pps) * pause_s)
        spare_pps = self._sut.capacity_pps - load_pps
        if spare_pps * STEADY_S < STEADY_RATIO * queued_count:
            return STEADY_S
        return min(DRAIN_MAX_S, queued_count / spare_pps) if queued_count else 0.0


def _map_undisturbed_time(
    marks: Iterable[tuple[float, float]], duration_s: float, limit_s: float
) -> tuple[list[float], list[float]]:
    """Return times of a trial, and the undisturbed time until each of them: up to its duration, or the limit."""
    real_s, counted_s = [0.0], [0.0]
    for begin_s, end_s in marks:
        if begin_s > real_s[-1]:
            undisturbed_s = min(begin_s - real_s[-1], duration_s - counted_s[-1])
            real_s.append(real_s[-1] + undisturbed_s)
            counted_s.append(counted_s[-1] + undisturbed_s)
        if counted_s[-1] >= duration_s:
            break
        if end_s > real_s[-1]:
            real_s.append(min(end_s, limit_s))
            counted_s.append(counted_s[-1])
    if counted_s[-1] < duration_s:  # a trial that is disturbed all the time counts as it is
        real_s.append(real_s[-1] + duration_s - counted_s[-1])
        counted_s.append(duration_s)
    return real_s, counted_s


def _select_undisturbed(timeline: LossTimeline, real_s: Sequence[float], counted_s: Sequence[float]) -> LossTimeline:
    """Return the losses in undisturbed time, which passes where `counted_s` increases."""
    lost = list(interpolate(timeline.at_s, timeline.lost_count, real_s))
    at_s, lost_count = [0.0], [0.0]
    for (begin_s, end_s), (from_s, to_s), (lost_before, lost_after) in zip(
        pairwise(real_s), pairwise(counted_s), pairwise(lost), strict=True
    ):
        if to_s == from_s:
            continue
        base_count = lost_count[-1] - lost_before
        for index in range(bisect_right(timeline.at_s, begin_s), bisect_left(timeline.at_s, end_s)):
            at_s.append(from_s + timeline.at_s[index] - begin_s)
            lost_count.append(base_count + timeline.lost_count[index])
        at_s.append(to_s)
        lost_count.append(base_count + lost_after)
    return LossTimeline(timeline.offered_pps, at_s, lost_count)
