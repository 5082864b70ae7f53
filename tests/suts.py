"""Simulated systems under test: small models that know their own truth.

Each is a function of load and duration, as `nodrop.simulation.SutFunction` requires, and states with `throughput` the
range of the highest load that meets a loss ratio in trials of a duration. The ends of the range differ if frames
are counted in whole numbers or the model is random; zero means that no load meets the ratio.
"""

import math
import random
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from nodrop.model.trial import UNSENT_TOLERANCE_S
from nodrop.simulation import SutCounts


class Span(NamedTuple):
    """From the highest load that surely meets a loss ratio to the lowest that surely does not."""

    low_pps: float
    high_pps: float


class Sut(Protocol):
    """A model with a truth."""

    def __call__(self, intended_load_pps: float, duration_s: float) -> SutCounts: ...

    def throughput(self, loss_ratio: float, duration_s: float) -> Span: ...


@dataclass(frozen=True)
class Step:
    """Forwards everything up to its capacity and not a frame more."""

    capacity_pps: float

    def __call__(self, intended_load_pps: float, duration_s: float) -> SutCounts:
        return _cap(intended_load_pps, duration_s, self.capacity_pps * duration_s)

    def throughput(self, loss_ratio: float, duration_s: float) -> Span:
        return _within_frames(self.capacity_pps / (1 - loss_ratio), duration_s)


@dataclass(frozen=True)
class Buffer:
    """A step whose buffer hides overload until it is full, so that short trials flatter it."""

    capacity_pps: float
    buffer_count: int

    def __call__(self, intended_load_pps: float, duration_s: float) -> SutCounts:
        return _cap(intended_load_pps, duration_s, self.capacity_pps * duration_s + self.buffer_count)

    def throughput(self, loss_ratio: float, duration_s: float) -> Span:
        forwarded_pps = self.capacity_pps + self.buffer_count / duration_s
        return _within_frames(forwarded_pps / (1 - loss_ratio), duration_s)


@dataclass(frozen=True)
class SmoothCurve:
    """Loses nothing up to a load, and above it a share that grows with the square of the excess."""

    lossless_pps: float
    steepness: float = 1.0

    def __call__(self, intended_load_pps: float, duration_s: float) -> SutCounts:
        excess = max(0.0, intended_load_pps / self.lossless_pps - 1)
        return _lose(intended_load_pps, duration_s, min(1.0, self.steepness * excess * excess))

    def throughput(self, loss_ratio: float, duration_s: float) -> Span:
        one_frame_ratio = 1 / (self.lossless_pps * duration_s)
        return Span(self._load_at(max(0.0, loss_ratio - one_frame_ratio)), self._load_at(loss_ratio + one_frame_ratio))

    def _load_at(self, loss_ratio: float) -> float:
        return self.lossless_pps * (1 + math.sqrt(loss_ratio / self.steepness))


@dataclass(frozen=True)
class LossFloor:
    """A step that also loses a small share, at least one frame, at every load: nothing meets loss ratio 0."""

    capacity_pps: float
    floor_ratio: float

    def __call__(self, intended_load_pps: float, duration_s: float) -> SutCounts:
        over_ratio = max(0.0, 1 - self.capacity_pps / intended_load_pps)
        return _lose(intended_load_pps, duration_s, over_ratio + self.floor_ratio * (1 - over_ratio))

    def throughput(self, loss_ratio: float, duration_s: float) -> Span:
        if loss_ratio < self.floor_ratio:
            return Span(0.0, 0.0)
        return _within_frames(self.capacity_pps * (1 - self.floor_ratio) / (1 - loss_ratio), duration_s)


@dataclass(frozen=True)
class SlowTester:
    """A step behind a tester that cannot send as fast as requested; unsent frames count as lost."""

    capacity_pps: float
    tester_pps: float

    def __call__(self, intended_load_pps: float, duration_s: float) -> SutCounts:
        intended_count = round(intended_load_pps * duration_s)
        offered_count = min(intended_count, math.floor(self.tester_pps * duration_s))
        received_count = min(offered_count, math.floor(self.capacity_pps * duration_s))
        return SutCounts(intended_count, offered_count, received_count)

    def throughput(self, loss_ratio: float, duration_s: float) -> Span:
        limit_pps = min(self.capacity_pps, self.tester_pps) / (1 - loss_ratio)
        tolerated_pps = limit_pps / (1 - UNSENT_TOLERANCE_S / duration_s)
        return Span(
            _within_frames(limit_pps, duration_s).low_pps,
            _within_frames(tolerated_pps, duration_s).high_pps,
        )


@dataclass(frozen=True)
class Jitter:
    """A step whose capacity is drawn again for every trial, within a spread around the stated one."""

    capacity_pps: float
    spread_ratio: float
    seed: int
    draws: random.Random = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "draws", random.Random(self.seed))

    def __call__(self, intended_load_pps: float, duration_s: float) -> SutCounts:
        drawn_pps = self.capacity_pps * (1 + self.draws.uniform(-self.spread_ratio, self.spread_ratio))
        return _cap(intended_load_pps, duration_s, drawn_pps * duration_s)

    def throughput(self, loss_ratio: float, duration_s: float) -> Span:
        low_pps, high_pps = (self.capacity_pps * (1 + sign * self.spread_ratio) for sign in (-1, 1))
        return Span(
            _within_frames(low_pps / (1 - loss_ratio), duration_s).low_pps,
            _within_frames(high_pps / (1 - loss_ratio), duration_s).high_pps,
        )


@dataclass(frozen=True)
class Stalls:
    """A step that stops at random times: short trials often miss a stall, long ones never do.

    Its verdict on a load is random, so it states the widest possible truth.
    """

    capacity_pps: float
    interval_s: float
    stall_s: float
    seed: int
    draws: random.Random = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "draws", random.Random(self.seed))

    def __call__(self, intended_load_pps: float, duration_s: float) -> SutCounts:
        stalled_s = 0.0
        at_s = self.draws.expovariate(1 / self.interval_s)
        while at_s < duration_s:
            stalled_s += self.stall_s
            at_s += self.draws.expovariate(1 / self.interval_s)
        over_ratio = max(0.0, 1 - self.capacity_pps / intended_load_pps)
        up_ratio = max(0.0, 1 - stalled_s / duration_s)
        return _lose(intended_load_pps, duration_s, 1 - (1 - over_ratio) * up_ratio)

    def throughput(self, loss_ratio: float, duration_s: float) -> Span:
        return Span(0.0, _within_frames(self.capacity_pps / (1 - loss_ratio), duration_s).high_pps)


def _cap(intended_load_pps: float, duration_s: float, forwarded_count: float) -> SutCounts:
    intended_count = round(intended_load_pps * duration_s)
    return SutCounts(intended_count, intended_count, min(intended_count, math.floor(forwarded_count)))


def _lose(intended_load_pps: float, duration_s: float, loss_ratio: float) -> SutCounts:
    intended_count = round(intended_load_pps * duration_s)
    return SutCounts(
        intended_count, intended_count, intended_count - min(intended_count, math.ceil(loss_ratio * intended_count))
    )


def _within_frames(load_pps: float, duration_s: float) -> Span:
    """Return the range of a load plus or minus two frames of its trial, which rounding to whole frames can hide."""
    return Span(load_pps - 2 / duration_s, load_pps + 2 / duration_s)
