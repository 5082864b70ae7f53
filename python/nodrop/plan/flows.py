"""Numbers of values of each field that give a stream exactly the configured number of flows. Pure arithmetic.

A varying field passes through its values and keeps each for `every` frames; with a period it restarts after that many
frames even if its pass is incomplete.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

FLOWS_MAX = 2**22
"""Largest number of flows of a stream, so that a pass of all fields takes less than 2**23 frames."""


class FieldShare(NamedTuple):
    """The contribution of one field."""

    value_count: int
    """Number of its values; 1: it does not vary."""
    every: int
    """Frames that keep each value."""


class FlowFit(NamedTuple):
    """Fields that together make exactly the configured flows."""

    parts: tuple[FieldShare, ...]
    """In the order of the sizes."""
    period: int | None
    """Frames after which all fields restart; None: their pass ends then anyway."""


def split_evenly(count: int, share_count: int) -> tuple[int, ...]:
    """Split `count` into parts as equal as possible, smaller ones first."""
    least, larger = divmod(count, share_count)
    return (least,) * (share_count - larger) + (least + 1,) * larger


def count_values(span: int, step: int) -> int:
    """Return the number of values in a span if every `step`-th is used, including the first."""
    return -(-span // step)


def fit_parallel(flow_count: int, sizes: Sequence[int]) -> FlowFit:
    """Return a fit in which all fields vary with every frame, each over as many values as the flows allow; nested if
    combinations would repeat too early.

    Args:
        flow_count: combinations to make; at most the product of the sizes.
        sizes: available values of each field.
    """
    if max(sizes) >= flow_count:
        return FlowFit(tuple(FieldShare(find_largest_divisor(flow_count, size), 1) for size in sizes), None)
    if math.lcm(*sizes) >= flow_count:
        return FlowFit(tuple(FieldShare(size, 1) for size in sizes), _compute_period(flow_count, math.lcm(*sizes)))
    return fit_nested(flow_count, sizes)


def fit_nested(flow_count: int, sizes: Sequence[int]) -> FlowFit:
    """Return a fit in which each field varies once per pass of the previous ones; arguments as in `fit_parallel`."""
    left, exact = flow_count, []
    for size in sizes:
        exact.append(find_largest_divisor(left, size))
        left //= exact[-1]
    if left > 1:
        left, exact = flow_count, []
        for size in sizes:
            exact.append(min(size, left))
            left = -(-left // exact[-1])
    every = [math.prod(exact[:place]) for place in range(len(exact))]
    parts = tuple(FieldShare(count, stay if count > 1 else 1) for count, stay in zip(exact, every, strict=True))
    return FlowFit(parts, _compute_period(flow_count, math.prod(exact)))


@functools.lru_cache(maxsize=1024)
def find_largest_divisor(number: int, most: int) -> int:
    """Return the largest divisor of `number` that is at most `most`."""
    small = [divisor for divisor in range(1, math.isqrt(number) + 1) if number % divisor == 0]
    return max(divisor for low in small for divisor in (low, number // low) if divisor <= most)


def _compute_period(flow_count: int, through: int) -> int | None:
    return flow_count if through != flow_count else None
