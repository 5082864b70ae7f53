"""In which order runs were made, and what that does to a comparison."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from nodrop.model.goal import Flag


class Timed(Protocol):
    """Something that began at a time."""

    @property
    def run_id(self) -> str:
        """Of the run."""
        ...

    @property
    def started_at(self) -> str:
        """UTC, ISO 8601."""
        ...


Run = TypeVar("Run", bound=Timed)


def in_turn(a: Sequence[Run], b: Sequence[Run]) -> tuple[tuple[int, int], ...]:
    """Runs of A and of B that followed each other, as indices; none unless all were made in turn."""
    began = sorted(
        [(run.started_at, 0, index) for index, run in enumerate(a)]
        + [(run.started_at, 1, index) for index, run in enumerate(b)]
    )
    if len(a) != len(b) or len({at for at, *_ in began}) < len(began):
        return ()
    pairs = []
    for start in range(0, len(began), 2):
        by_side = {side: index for _, side, index in began[start : start + 2]}
        if len(by_side) < 2:
            return ()
        pairs.append((by_side[0], by_side[1]))
    return tuple(pairs)


def order_flags(a: Sequence[Timed], b: Sequence[Timed]) -> Iterator[Flag]:
    """That one side was measured after the other, where drift of the machine would look like a difference."""
    times_a, times_b = ([run.started_at for run in runs] for runs in (a, b))
    if min(len(a), len(b)) < 2:
        return
    if max(times_a) < min(times_b) or max(times_b) < min(times_a):
        first, second = ("A", "B") if max(times_a) < min(times_b) else ("B", "A")
        yield Flag(
            code="one_after_the_other",
            text=f"All runs of {first} came before those of {second}: what changed on the machine meanwhile would look "
            "like a difference. Measured in turn it cancels.",
        )
    if {run.run_id for run in a} & {run.run_id for run in b}:
        yield Flag(code="same_runs", text="A run is on both sides, which makes them look alike.")
