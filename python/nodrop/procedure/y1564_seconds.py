"""A trial second by second: severely errored seconds, unavailable time and minutes of a service.

Source: ITU-T Y.1563 for availability, as used by ITU-T Y.1564.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from nodrop.model.trial import TrialResult, Windows

ERRORED_LOSS_RATIO = 0.5
"""Loss ratio above which a second is severely errored."""
CHANGE_S = 10
"""Consecutive seconds that begin or end unavailable time."""
TIME_TOLERANCE_S = 1e-6
"""Windows end at multiples of their length, up to rounding."""

Direction = tuple[int, int]
"""Sending and receiving port."""


class Second(NamedTuple):
    """The frames of one direction in one second of a trial."""

    offered_count: int
    received_count: int
    """Frames that arrived within it."""
    lost_count: int
    """Frames lost, by the time at which a later one overtook them."""
    latency_count: int = 0
    latency_sum_ns: int = 0
    latency_max_ns: int = 0

    @property
    def is_errored(self) -> bool:
        """Whether it is severely errored."""
        return self.received_count < (1 - ERRORED_LOSS_RATIO) * self.offered_count


def split_seconds(trial: TrialResult) -> dict[Direction, tuple[Second, ...]]:
    """Return the whole seconds of a trial by direction; a last part of a second is left out.

    A frame counts as received in the second in which it arrives: a delay of a second or more shifts it.
    """
    windows = trial.windows
    count = int(trial.duration_s + TIME_TOLERANCE_S)
    last = max(0, math.ceil(trial.duration_s - TIME_TOLERANCE_S) - 1)
    numbers = [min(int(begin_s + TIME_TOLERANCE_S), last) for begin_s in (0.0, *windows.end_s[:-1])]
    ports = [(each.tx_port, each.rx_port) for each in windows.series]
    ports = ports or [(each.tx_port, each.rx_port) for each in trial.streams]
    directions: dict[Direction, list[int]] = {}
    for position, direction in enumerate(ports):
        directions.setdefault(direction, []).append(position)
    return {
        direction: tuple(_sum_second(windows, numbers, number, positions) for number in range(count))
        for direction, positions in directions.items()
    }


def _sum_second(windows: Windows, numbers: Sequence[int], number: int, positions: Sequence[int]) -> Second:
    begin, end = bisect_left(numbers, number), bisect_right(numbers, number)

    def total(counts: Sequence[Sequence[int]]) -> int:
        return sum(sum(counts[position][begin:end]) for position in positions)

    offered_count, received_count = total(windows.offered_count), total(windows.received_count)
    lost_count = total(windows.lost_count) if windows.lost_count else max(0, offered_count - received_count)
    latencies = [windows.latency[position] for position in positions if position < len(windows.latency)]
    return Second(
        offered_count,
        received_count,
        lost_count,
        sum(sum(each.count[begin:end]) for each in latencies),
        sum(sum(each.sum_ns[begin:end]) for each in latencies),
        max((max(each.max_ns[begin:end], default=0) for each in latencies), default=0),
    )


def find_unavailable_seconds(errored: Sequence[bool]) -> frozenset[int]:
    """Return the numbers of the seconds of unavailable time, from 0.

    It begins with the first of 10 consecutive severely errored seconds and ends before the first of 10 consecutive
    others.

    Args:
        errored: whether each second is severely errored.
    """
    unavailable: set[int] = set()
    begin, is_available = 0, True
    for is_errored, group in groupby(errored):
        length = len(list(group))
        changes = length >= CHANGE_S
        if is_errored and changes:
            is_available = False
        elif not is_errored and changes:
            is_available = True
        if not is_available:
            unavailable.update(range(begin, begin + length))
        begin += length
    return frozenset(unavailable)
