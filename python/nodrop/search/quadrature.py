"""Integrals of positive functions that are only known by their logarithms, with nodes where the mass is.

An interval is halved again and again where its larger end promises most. Between nodes the logarithm is taken as
linear, so that walls and exponential tails cost few nodes. No randomness and no clock: the same function always gets
the same nodes.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple


class Node(NamedTuple):
    """Where the function was evaluated, and its part of the whole integral."""

    at: float
    share: float


class Integral(NamedTuple):
    """An integral as its logarithm, and how it is made up."""

    log_whole: float
    nodes: tuple[Node, ...]
    """By rising position; the shares add up to 1."""


def integrate(log_function: Callable[[float], float], starts: Sequence[float], node_count: int) -> Integral:
    """The integral of exp(log_function) from the first to the last of the starting nodes.

    Args:
        log_function: finite everywhere in between.
        starts: nodes to begin with, rising, at least two.
        node_count: nodes to end with.
    """
    values = {at: log_function(at) for at in starts}
    promising = [(_promise(values, left, right), left, right) for left, right in pairwise(starts)]
    heapq.heapify(promising)
    while len(values) < node_count:
        _, left, right = heapq.heappop(promising)
        middle = (left + right) / 2
        if not left < middle < right:
            break
        values[middle] = log_function(middle)
        heapq.heappush(promising, (_promise(values, left, middle), left, middle))
        heapq.heappush(promising, (_promise(values, middle, right), middle, right))
    return _sum_up(sorted(values.items()))


def _promise(values: dict[float, float], left: float, right: float) -> float:
    """The most that may lie between two nodes, as minus its logarithm, so that the largest comes first."""
    return -(max(values[left], values[right]) + math.log(right - left))


def _sum_up(points: Sequence[tuple[float, float]]) -> Integral:
    highest = max(value for _, value in points)
    parts: list[list[float]] = [[] for _ in points]
    for position, ((left, at_left), (right, at_right)) in enumerate(pairwise(points)):
        scale = (right - left) * math.exp(max(at_left, at_right) - highest)
        drop = abs(at_right - at_left)
        to_higher, to_lower = (scale * part for part in _parts(drop))
        higher_is_left = at_left >= at_right
        parts[position].append(to_higher if higher_is_left else to_lower)
        parts[position + 1].append(to_lower if higher_is_left else to_higher)
    masses = [math.fsum(each) for each in parts]
    whole = math.fsum(masses)
    nodes = tuple(Node(at, mass / whole) for (at, _), mass in zip(points, masses, strict=True))
    return Integral(highest + math.log(whole), nodes)


def _parts(drop: float) -> tuple[float, float]:
    """How the integral of exp(-drop t) over t from 0 to 1 falls to the two ends, by (1 - t) and t."""
    if drop < 1e-3:  # the exact terms cancel
        return 0.5 - drop / 6, 0.5 - drop / 3
    whole = -math.expm1(-drop) / drop
    far = (whole - math.exp(-drop)) / drop
    return whole - far, far
