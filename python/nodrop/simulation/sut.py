"""The interface of simulated SUTs: trials on a virtual clock, and the true limit."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SLACK_COUNT = 1e-6
"""Tolerance of a whole frame against rounding errors."""


@dataclass(frozen=True)
class LossTimeline:
    """The losses of one trial: frames are sent evenly and lost linearly between points in time."""

    offered_pps: float
    """The load that the tester sends."""
    at_s: Sequence[float]
    """Points in time since the start of the trial, the first of them 0."""
    lost_count: Sequence[float]
    """Frames lost by each point, not rounded."""

    def counts(self, elapsed_s: Sequence[float]) -> tuple[list[int], list[int]]:
        """Return the whole frames offered and lost by each of the ascending times."""
        offered_pps = self.offered_pps
        offered = [round(offered_pps * at_s) for at_s in elapsed_s]
        if not self.lost_count[-1]:
            return offered, [0] * len(offered)
        lost = [int(count + SLACK_COUNT) for count in interpolate(self.at_s, self.lost_count, elapsed_s)]
        return offered, list(map(min, lost, offered))


def interpolate(at_s: Sequence[float], values: Sequence[float], query_s: Sequence[float]) -> Iterator[float]:
    """Yield linearly interpolated values; both lists of times ascend, and no query is beyond the last point.

    If two points have the same time, the later one counts.
    """
    position, last = 0, len(at_s) - 2
    for time_s in query_s:
        while position < last and at_s[position + 1] <= time_s:
            position += 1
        length_s = at_s[position + 1] - at_s[position]
        share = min(1.0, (time_s - at_s[position]) / length_s) if length_s else 1.0
        yield values[position] + share * (values[position + 1] - values[position])


class Sut(ABC):
    """A SUT and the tester in front of it. The same seed and the same trials produce the same losses."""

    @abstractmethod
    def offer(self, load_pps: float, duration_s: float, start_s: float) -> LossTimeline:
        """Return the losses of an entire trial.

        Args:
            load_pps: intended load.
            duration_s: intended duration.
            start_s: start of the trial since the start of the simulation; never before the end of the previous trial.
        """

    def stop(self, elapsed_s: float) -> None:  # noqa: B027
        """End the last trial early; the SUT keeps its state at that time."""

    @abstractmethod
    def truth_pps(self, loss_ratio: float, duration_s: float, at_s: float = math.inf) -> float:
        """Return the highest load at which a single trial meets the loss ratio with probability 1/2 or more.

        Args:
            loss_ratio: share of frames that may be lost.
            duration_s: duration of the trial.
            at_s: time of the trial; by default the long-term limit.

        Returns: 0 if no load meets the ratio, infinity if every load does.
        """
