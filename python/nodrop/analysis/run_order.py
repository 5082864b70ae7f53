"""The order in which runs were made, and its effect on a comparison."""

from collections.abc import Sequence
from typing import Protocol

from nodrop.analysis.statistics import RunPair


class TimedRun(Protocol):
    """A run with a start time."""

    @property
    def run_id(self) -> str:
        """The id of the run."""
        ...

    @property
    def started_at(self) -> str:
        """The start time, UTC, ISO 8601."""
        ...


def pair_alternating_runs(a: Sequence[TimedRun], b: Sequence[TimedRun]) -> tuple[RunPair, ...]:
    """Return pairs of consecutive runs of A and B; none unless all runs alternated."""
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
        pairs.append(RunPair(by_side[0], by_side[1], 1 if began[start][1] == 0 else -1))
    return tuple(pairs)


def is_b_later(a: Sequence[TimedRun], b: Sequence[TimedRun]) -> bool | None:
    """Return whether all runs of B came after all runs of A; None where the sides overlap in time."""
    times_a, times_b = ([run.started_at for run in runs] for runs in (a, b))
    if max(times_a) < min(times_b):
        return True
    return False if max(times_b) < min(times_a) else None
