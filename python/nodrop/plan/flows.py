"""How many values each field of a frame takes for a stream to have exactly so many flows. Pure arithmetic.

A field that changes goes through its values and stays at each for `every` frames; with a period it begins again after
so many frames even if it has not gone through.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

FLOWS_MAX = 2**22
"""Flows of a stream at most, so that the frames until all fields have gone through stay below 2**23."""


class FieldShare(NamedTuple):
    """What one field contributes."""

    value_count: int
    """Values it takes; 1: it does not change."""
    every: int
    """Frames that each value stays for."""


class FlowFit(NamedTuple):
    """Fields that together make exactly the flows asked for."""

    parts: tuple[FieldShare, ...]
    """In the order of the sizes."""
    period: int | None
    """Frames after which all of them begin again; None: they have gone through by then."""


def split_evenly(count: int, share_count: int) -> tuple[int, ...]:
    """`count` in parts as equal as can be, smaller ones first."""
    least, larger = divmod(count, share_count)
    return (least,) * (share_count - larger) + (least + 1,) * larger


def count_values(span: int, step: int) -> int:
    """Values in a span of so many when only every `step`-th is taken, the first one included."""
    return -(-span // step)


def fit_parallel(flow_count: int, sizes: Sequence[int]) -> FlowFit:
    """All fields change with every frame, each over as many of its values as the flows allow; one after the other where
    they would repeat a combination too early.

    Args:
        flow_count: combinations to make; at most the product of the sizes.
        sizes: values that each field has to offer.
    """
    if max(sizes) >= flow_count:
        return FlowFit(tuple(FieldShare(find_largest_divisor(flow_count, size), 1) for size in sizes), None)
    if math.lcm(*sizes) >= flow_count:
        return FlowFit(tuple(FieldShare(size, 1) for size in sizes), _period(flow_count, math.lcm(*sizes)))
    return fit_nested(flow_count, sizes)


def fit_nested(flow_count: int, sizes: Sequence[int]) -> FlowFit:
    """Each field changes when those before it have gone through; arguments as of `abreast`."""
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
    return FlowFit(parts, _period(flow_count, math.prod(exact)))


@functools.lru_cache(maxsize=1024)
def find_largest_divisor(number: int, most: int) -> int:
    """The largest divisor of `number` that is not above `most`."""
    small = [divisor for divisor in range(1, math.isqrt(number) + 1) if number % divisor == 0]
    return max(divisor for low in small for divisor in (low, number // low) if divisor <= most)


def _period(flow_count: int, through: int) -> int | None:
    return flow_count if through != flow_count else None
