"""A queue before a server, as fluids: exact as long as rates are steady, whatever the number of frames."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Piece(NamedTuple):
    """A time of steady capacity."""

    length_s: float
    capacity_pps: float


class Flow(NamedTuple):
    """Frames lost since the start and frames held, at points in time."""

    at_s: list[float]
    lost_count: list[float]
    held_count: list[float]


def flow(arriving_pps: float, pieces: Iterable[Piece], held_count: float, buffer_count: float) -> Flow:
    """What a buffer of a size cannot hold is lost, frame by frame as it arrives."""
    at_s, lost, held = [0.0], [0.0], [held_count]
    now_s = lost_count = 0.0
    for length_s, capacity_pps in pieces:
        growth_pps = arriving_pps - capacity_pps
        brim_count = buffer_count if growth_pps > 0 else 0.0
        turn_s = (brim_count - held_count) / growth_pps if growth_pps else length_s
        if turn_s < length_s:  # full or empty before the piece is over
            at_s.append(now_s + turn_s)
            lost.append(lost_count)
            held.append(brim_count)
            held_count = brim_count
            lost_count += max(0.0, growth_pps) * (length_s - turn_s)
        else:
            held_count += growth_pps * length_s
        now_s += length_s
        at_s.append(now_s)
        lost.append(lost_count)
        held.append(held_count)
    return Flow(at_s, lost, held)


class Timeline:
    """A capacity that changes at certain times whether there is traffic or not; drawn no further than asked for."""

    def __init__(self, pieces: Iterator[Piece]) -> None:
        self._coming = pieces
        self._pieces: list[Piece] = []
        self._ends_s: list[float] = []

    def between(self, start_s: float, end_s: float) -> Iterator[Piece]:
        """The pieces of this time, the first and the last of them cut to fit."""
        self._reach(end_s)
        position = bisect_right(self._ends_s, start_s)
        while start_s < end_s:
            until_s = min(self._ends_s[position], end_s)
            yield Piece(until_s - start_s, self._pieces[position].capacity_pps)
            start_s, position = until_s, position + 1

    def _reach(self, end_s: float) -> None:
        while not self._ends_s or self._ends_s[-1] < end_s:
            piece = next(self._coming)
            self._pieces.append(piece)
            self._ends_s.append((self._ends_s[-1] if self._ends_s else 0.0) + piece.length_s)
