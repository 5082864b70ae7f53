"""What every simulated SUT offers: trials along a virtual clock, and the truth."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SLACK_COUNT = 1e-6
"""What rounding in sums of real numbers may take from a whole frame."""


@dataclass(frozen=True)
class Course:
    """One trial from its first to its last frame: sent evenly, lost along straight lines between points."""

    offered_pps: float
    """What the tester really sends."""
    at_s: Sequence[float]
    """Points in time since the trial began, the first of them 0."""
    lost_count: Sequence[float]
    """Frames lost by then, not yet whole."""

    def counts(self, elapsed_s: Sequence[float]) -> tuple[list[int], list[int]]:
        """Whole frames offered and lost by each of the times, which ascend."""
        offered_pps = self.offered_pps
        offered = [round(offered_pps * at_s) for at_s in elapsed_s]
        if not self.lost_count[-1]:
            return offered, [0] * len(offered)
        lost = [int(count + SLACK_COUNT) for count in between(self.at_s, self.lost_count, elapsed_s)]
        return offered, list(map(min, lost, offered))


def between(at_s: Sequence[float], values: Sequence[float], wanted_s: Sequence[float]) -> Iterator[float]:
    """Values at other times, on the straight lines between the points; both times ascend, and none is beyond the last.

    Of two points at the same time the later one counts.
    """
    position, last = 0, len(at_s) - 2
    for time_s in wanted_s:
        while position < last and at_s[position + 1] <= time_s:
            position += 1
        length_s = at_s[position + 1] - at_s[position]
        share = min(1.0, (time_s - at_s[position]) / length_s) if length_s else 1.0
        yield values[position] + share * (values[position + 1] - values[position])


class Sut(ABC):
    """A SUT together with the tester in front of it. The same seed and the same trials give the same courses."""

    @abstractmethod
    def offer(self, load_pps: float, duration_s: float, start_s: float) -> Course:
        """The course of a whole trial.

        Args:
            load_pps: intended load.
            duration_s: time asked for.
            start_s: when the trial begins, in seconds since the simulation did; never before the previous one's end.
        """

    def stop(self, elapsed_s: float) -> None:  # noqa: B027
        """The trial just offered was broken off; whatever the SUT remembers of it is as it was then."""

    @abstractmethod
    def truth_pps(self, loss_ratio: float, duration_s: float, at_s: float = math.inf) -> float:
        """The highest load at which a trial on its own is as likely as not, or likelier, to meet the loss ratio.

        Args:
            loss_ratio: the share of frames that may be lost.
            duration_s: of the trial.
            at_s: when the trial is made; without it, in the long run.

        Returns: 0 where no load meets it, infinity where every load does.
        """
