"""Integrals of positive functions given by their logarithms, with nodes where the mass is.

The interval whose mass may be largest is halved repeatedly. The logarithm is linear between nodes, so that steep edges
and exponential tails need few nodes. Without randomness or a clock, the same function always gets the same nodes.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple


class Node(NamedTuple):
    """A position at which the function was evaluated, and its share of the integral."""

    at: float
    share: float


class Integral(NamedTuple):
    """The logarithm of an integral, and its composition."""

    log_total: float
    nodes: tuple[Node, ...]
    """In ascending order of position; the shares add up to 1."""


def integrate(log_function: Callable[[float], float], starts: Sequence[float], node_count: int) -> Integral:
    """Return the integral of exp(log_function) from the first to the last of the starting nodes.

    Args:
        log_function: finite in between.
        starts: initial nodes in ascending order, at least two.
        node_count: final number of nodes.
    """
    values = {at: log_function(at) for at in starts}
    intervals = [(_make_priority(values, left, right), left, right) for left, right in pairwise(starts)]
    heapq.heapify(intervals)
    while len(values) < node_count:
        _, left, right = heapq.heappop(intervals)
        middle = (left + right) / 2
        if not left < middle < right:
            break
        values[middle] = log_function(middle)
        heapq.heappush(intervals, (_make_priority(values, left, middle), left, middle))
        heapq.heappush(intervals, (_make_priority(values, middle, right), middle, right))
    return _sum_up(sorted(values.items()))


def _make_priority(values: dict[float, float], left: float, right: float) -> float:
    """Return minus the logarithm of the largest mass between two nodes, so that the largest comes first."""
    return -(max(values[left], values[right]) + math.log(right - left))


def _sum_up(points: Sequence[tuple[float, float]]) -> Integral:
    highest = max(value for _, value in points)
    parts: list[list[float]] = [[] for _ in points]
    for position, ((left, at_left), (right, at_right)) in enumerate(pairwise(points)):
        scale = (right - left) * math.exp(max(at_left, at_right) - highest)
        drop = abs(at_right - at_left)
        to_higher, to_lower = (scale * part for part in _split_exponential(drop))
        higher_is_left = at_left >= at_right
        parts[position].append(to_higher if higher_is_left else to_lower)
        parts[position + 1].append(to_lower if higher_is_left else to_higher)
    masses = [math.fsum(each) for each in parts]
    total = math.fsum(masses)
    nodes = tuple(Node(at, mass / total) for (at, _), mass in zip(points, masses, strict=True))
    return Integral(highest + math.log(total), nodes)


def _split_exponential(drop: float) -> tuple[float, float]:
    """Return the integrals of exp(-drop t), weighted by (1 - t) and by t, over t from 0 to 1."""
    if drop < 1e-3:  # the exact terms cancel
        return 0.5 - drop / 6, 0.5 - drop / 3
    total = -math.expm1(-drop) / drop
    far = (total - math.exp(-drop)) / drop
    return total - far, far
