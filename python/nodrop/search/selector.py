"""The search for one goal, from its coarsest target to its final one.

Source: MLRsearch 1.2.1, selector and expander.
"""

from collections.abc import Mapping, Sequence

from nodrop.search.classification import Evidence, RelevantBounds, find_relevant_bounds
from nodrop.search.load_grid import LoadGrid
from nodrop.search.strategies import STRATEGIES, Nomination, Situation
from nodrop.search.target import Chain, Target

TrialsAt = Mapping[int, Sequence[Evidence]]
"""All trials so far, by step of the grid."""


class Selector:
    """The search for one goal. It proceeds to the next target if no strategy nominates a load for the current one."""

    def __init__(self, targets: Chain, start: RelevantBounds[int], grid: LoadGrid, expansion: int) -> None:
        self.lost = False
        """Whether the goal is known to fail at the lowest load."""
        self._targets = list(targets)
        self._grid = grid
        self._expansion = expansion
        self._start = start
        self._stride = self._first_stride()

    @property
    def target(self) -> Target:
        """The current target."""
        return self._targets[0]

    def nominate(self, trials_at: TrialsAt, shared_width: int) -> Nomination | None:
        """Return the next load to measure for this goal; None if its bounds are found or it is lost.

        Args:
            trials_at: all trials so far, for any goal.
            shared_width: least step, that of the last trial for another goal.
        """
        while True:
            bounds = find_relevant_bounds(trials_at, self.target.goal)
            at = Situation(self.target, self._grid, bounds, self._start, max(self._stride, shared_width))
            for strategy in STRATEGIES:
                if nomination := strategy(at):
                    if nomination.unwanted_side is None:
                        self._stride = self._lengthen(max(nomination.width, self.target.width))
                    return nomination
            if len(self._targets) == 1:
                self.lost = bounds.lower is None
                return None
            del self._targets[0]
            self._start = bounds
            self._stride = self._first_stride()

    def conclude(self, nomination: Nomination, trials_at: TrialsAt) -> int:
        """Note the outcome of a nomination; return the new shared width."""
        bounds = find_relevant_bounds(trials_at, self.target.goal)
        became = {"lower": bounds.lower, "upper": bounds.upper}
        if nomination.unwanted_side is None or became[nomination.unwanted_side] != nomination.step:
            return nomination.width
        self._stride = self._lengthen(self._stride)
        return self._stride

    def _first_stride(self) -> int:
        """Return a step longer than the start interval and the target's width."""
        low, high = self._start
        distance = high - low if low is not None and high is not None else 0
        return self._lengthen(max(self.target.width, distance))

    def _lengthen(self, width: int) -> int:
        return self._grid.clamp(width * self._expansion)
