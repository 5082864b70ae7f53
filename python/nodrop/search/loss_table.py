"""Trials of one duration: which loads meet a loss ratio, and which do not."""

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Measured:
    """A load, the duration it was offered for, and its loss."""

    load_pps: float
    duration_s: float
    loss_ratio: float
    index: int
    """The trial's position in the run."""


class Sides(NamedTuple):
    """All measured loads, in ascending order, split by a loss ratio."""

    lowers: tuple[Measured, ...]
    """Loads that meet the ratio, the tightest lower bound last."""
    uppers: tuple[Measured, ...]
    """Loads that do not, the tightest upper bound first."""


class LossTable:
    """Trials of one duration, in ascending order of load.

    A load counts with its *effective* loss ratio: the highest measured at this or any lower load. A lucky trial above
    an unlucky one therefore proves nothing.
    """

    def __init__(self, duration_s: float, measured: Iterable[Measured] = ()) -> None:
        self.duration_s = duration_s
        self._by_load: list[Measured] = []
        for each in measured:
            self.add(each)

    def add(self, measured: Measured) -> None:
        """Add a trial of this duration."""
        insort(self._by_load, measured, key=lambda m: m.load_pps)

    def sides(self, loss_ratio: float) -> Sides:
        """Split the loads by effective loss ratio, which first exceeds `loss_ratio` where a measured one does."""
        for position, measured in enumerate(self._by_load):
            if measured.loss_ratio > loss_ratio:
                return Sides(tuple(self._by_load[:position]), tuple(self._by_load[position:]))
        return Sides(tuple(self._by_load), ())

    @property
    def by_load(self) -> tuple[Measured, ...]:
        """All trials, in ascending order of load."""
        return tuple(self._by_load)
