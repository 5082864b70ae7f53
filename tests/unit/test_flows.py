"""The number of flows: counted one by one, independent of the arithmetic."""

import math
import random
import time
from collections.abc import Iterator

import pytest

from nodrop.plan.flows import (
    FLOWS_MAX,
    FlowFit,
    count_values,
    find_largest_divisor,
    fit_nested,
    fit_parallel,
    split_evenly,
)


def combinations(fit: FlowFit, frames: int) -> Iterator[tuple[int, ...]]:
    """Return the engine's result: the step of every field's value, frame by frame."""
    for sequence in range(frames):
        frame = sequence % fit.period if fit.period else sequence
        yield tuple(frame // part.every % part.value_count for part in fit.parts)


def random_cases() -> Iterator[tuple[int, list[int]]]:
    """Yield sizes of one to four fields, with flow counts from one to all combinations."""
    draw = random.Random(5)
    for _ in range(400):
        sizes = [draw.choice((1, 2, 3, 5, 6, 8, 16, 17, 60, 255)) for _ in range(draw.randint(1, 4))]
        yield draw.randint(1, min(math.prod(sizes), 3000)), sizes


@pytest.mark.parametrize("how", [fit_parallel, fit_nested])
def test_exactly_as_many_combinations_as_asked_are_made_again_and_again(how: object) -> None:
    assert callable(how)
    for flows, sizes in random_cases():
        fit = how(flows, sizes)
        created = list(combinations(fit, 2 * flows))
        assert len(set(created)) == len(set(created[:flows])) == flows, (flows, sizes, fit)
        assert created[:flows] == created[flows:], (flows, sizes, fit)
        assert all(1 <= part.value_count <= size for part, size in zip(fit.parts, sizes, strict=True))
        assert all(part.value_count * part.every <= 2 * flows for part in fit.parts)


def test_a_field_that_is_large_enough_alone_needs_no_period_and_others_go_along_with_a_divisor() -> None:
    assert fit_parallel(100, [2**23, 6, 1]) == FlowFit(((100, 1), (5, 1), (1, 1)), None)


def test_ranges_without_a_common_divisor_are_gone_through_side_by_side() -> None:
    """Source: NFVbench's manual, multiflow example 4: 5 and 6 ports make up to 30 flows, each range fully used."""
    assert fit_parallel(30, [1, 5, 6]) == FlowFit(((1, 1), (5, 1), (6, 1)), None)
    assert fit_parallel(17, [1, 5, 6]) == FlowFit(((1, 1), (5, 1), (6, 1)), 17)


def test_what_can_be_divided_is_and_what_cannot_begins_again_early() -> None:
    assert fit_nested(1_000_000, [16384, 500]) == FlowFit(((15625, 1), (64, 15625)), None)
    assert fit_nested(1_000_003, [16384, 500]) == FlowFit(((16384, 1), (62, 16384)), 1_000_003)


def test_a_million_flows_are_worked_out_at_once() -> None:
    """NFVbench takes seconds for these; nodrop milliseconds. The limit is generous, for a busy machine."""
    start_s = time.process_time()
    for flows in range(FLOWS_MAX - 50, FLOWS_MAX):
        fit = fit_parallel(flows, [5000, 4096, 1021, 7])
        assert max(part.value_count * part.every for part in fit.parts) <= 2**23
    assert time.process_time() - start_s < 1


@pytest.mark.parametrize(("count", "shares", "parts"), [(11, 3, (3, 4, 4)), (50, 3, (16, 17, 17)), (6, 3, (2, 2, 2))])
def test_flows_are_spread_evenly_smaller_parts_first(count: int, shares: int, parts: tuple[int, ...]) -> None:
    """Source: NFVbench's manual: 11 flows over 3 chains are 3, 4 and 4."""
    assert split_evenly(count, shares) == parts


def test_shares_differ_by_one_at_most_and_add_up() -> None:
    draw = random.Random(6)
    for _ in range(200):
        shares = draw.randint(1, 256)
        count = draw.randint(shares, 10**6)
        parts = split_evenly(count, shares)
        assert sum(parts) == count and len(parts) == shares and 0 <= max(parts) - min(parts) <= 1


def test_divisors_and_values_at_a_step() -> None:
    assert [find_largest_divisor(60, most) for most in (1, 7, 59, 60, 100)] == [1, 6, 30, 60, 60]
    assert [count_values(span, step) for span, step in ((8, 1), (8, 3), (1, 5), (16, 5))] == [8, 3, 1, 4]
