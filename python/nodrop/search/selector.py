"""What one goal wants measured next, from its coarsest target to its final one.

Source: MLRsearch 1.2.1, selector and expander.
"""

from collections.abc import Mapping, Sequence

from nodrop.search.classification import Evidence, RelevantBounds, relevant_bounds
from nodrop.search.load_grid import LoadGrid
from nodrop.search.strategies import STRATEGIES, Nomination, Situation
from nodrop.search.target import Chain, Target

TrialsAt = Mapping[int, Sequence[Evidence]]
"""All trials so far, by step of the grid."""


class Selector:
    """The search for one goal. It moves to the next target when no strategy wants anything for the present one."""

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
        """What the goal is after at present."""
        return self._targets[0]

    def nominate(self, trials_at: TrialsAt, shared_width: int) -> Nomination | None:
        """The load this goal wants measured next; None when it is found, or lost.

        Args:
            trials_at: what was measured so far, for whichever goal.
            shared_width: steps of this goal are at least as long as the last ones made for another.
        """
        while True:
            bounds = relevant_bounds(trials_at, self.target.goal)
            at = Situation(self.target, self._grid, bounds, self._start, max(self._stride, shared_width))
            for strategy in STRATEGIES:
                if nomination := strategy(at):
                    if nomination.unhoped is None:
                        self._stride = self._longer(max(nomination.width, self.target.width))
                    return nomination
            if len(self._targets) == 1:
                self.lost = bounds.lower is None
                return None
            del self._targets[0]
            self._start = bounds
            self._stride = self._first_stride()

    def conclude(self, nomination: Nomination, trials_at: TrialsAt) -> int:
        """Learn what came of a nomination that was measured; gives the new shared width."""
        bounds = relevant_bounds(trials_at, self.target.goal)
        became = {"lower": bounds.lower, "upper": bounds.upper}
        if nomination.unhoped is None or became[nomination.unhoped] != nomination.step:
            return nomination.width
        self._stride = self._longer(self._stride)
        return self._stride

    def _first_stride(self) -> int:
        """One step longer than the start interval, or than the width wanted."""
        low, high = self._start
        distance = high - low if low is not None and high is not None else 0
        return self._longer(max(self.target.width, distance))

    def _longer(self, width: int) -> int:
        return self._grid.clamp(width * self._expansion)
