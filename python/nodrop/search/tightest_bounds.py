"""The tightest bounds of a goal, for searches that never reconsider a decision about a load."""

from dataclasses import dataclass

from nodrop.model.goal import Flag, Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.search import width
from nodrop.search.base import DialogueSearch, Interval
from nodrop.search.evidence import interval_between
from nodrop.search.loss_table import Measured


@dataclass(slots=True)
class TightestBounds:
    """The highest load that met a goal and the lowest that did not; every trial narrows the interval."""

    goal: Goal
    lower: Measured | None = None
    upper: Measured | None = None
    contrary: Measured | None = None
    """The last trial that contradicts a bound: at or beyond it, and on the wrong side of the goal."""

    def meets(self, measured: Measured) -> bool:
        """Return whether a trial lost no more than the goal allows."""
        return measured.loss_ratio <= self.goal.loss_ratio

    def update(self, measured: Measured) -> None:
        """Move the bound that a trial tightens; a trial outside the bounds moves none."""
        below = self.lower is not None and measured.load_pps <= self.lower.load_pps
        above = self.upper is not None and measured.load_pps >= self.upper.load_pps
        if below or above:
            if self.meets(measured) == above:
                self.contrary = measured
        elif self.meets(measured):
            self.lower = measured
        else:
            self.upper = measured

    def interval(self, final_duration_s: float, width_goal: float) -> Interval:
        """Return the bounds; a missing one is at the other's load and invalid.

        Args:
            final_duration_s: duration at which bounds are final.
            width_goal: relative width above which bounds are flagged as too far apart.
        """
        interval = interval_between(self.goal, self.lower or self.upper, self.upper or self.lower, final_duration_s)
        return interval.replace(flags=(*interval.flags, *self._flags(width_goal)))

    def _flags(self, width_goal: float) -> list[Flag]:
        flags = []
        if self.lower and self.upper:
            apart = width.compute_between(self.lower.load_pps, self.upper.load_pps)
            if apart > width_goal:
                flags.append(Flag.of("wide-interval", width_ratio=apart, goal_width_ratio=width_goal))
        if self.contrary:
            name = "met_pps" if self.meets(self.contrary) else "missed_pps"
            flags.append(Flag.of("loss-inversion", goal=self.goal.label, **{name: self.contrary.load_pps}))
        return flags


class TightestBoundsSearch(DialogueSearch):
    """A search that keeps the tightest bounds of each goal and measures every trial at the final duration."""

    def __init__(self, plan: SearchPlan) -> None:
        plan.check(single_load=True)
        self._bounds = [TightestBounds(goal) for goal in plan.goals]
        super().__init__(plan)

    def intervals(self) -> tuple[Interval, ...]:
        """Return the tightest bounds of each goal, in the goals' order."""
        plan = self._plan
        return tuple(bounds.interval(plan.final_trial_duration_s, plan.width_ratio) for bounds in self._bounds)
