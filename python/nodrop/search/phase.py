"""One phase of MLRsearch: all trials of one duration, until every goal's interval is narrow enough for it."""

from dataclasses import dataclass
from typing import NamedTuple

from nodrop.model.goal import Goal
from nodrop.model.message import Message
from nodrop.search import width
from nodrop.search.loss_table import LossTable, Measured
from nodrop.search.single_trial import Choice


class Bounds(NamedTuple):
    """Bounds of one goal: the two tightest of this phase on either side, and the tightest of the previous phase."""

    lower: Measured | None
    upper: Measured | None
    second_lower: Measured | None
    second_upper: Measured | None
    old_lower: Measured | None
    old_upper: Measured | None


@dataclass(frozen=True, slots=True)
class Phase:
    """Chooses the loads of one phase.

    Source: draft-ietf-bmwg-mlrsearch-01 section 4.3 item 2; on the logarithmic axis as in section 5.1 item 1.
    """

    width_goal: float
    """Relative width of an interval that is narrow enough for this phase."""
    min_load_pps: float
    max_load_pps: float
    expansion_coefficient: float
    current: LossTable
    """Trials of this phase's duration."""
    previous: LossTable | None
    """Trials of the previous, shorter duration."""

    def choose(self, goal: Goal) -> Choice | None:
        """Return the next load to measure for this goal, or None.

        None without a lower bound means that the lowest load already loses too much.
        """
        bounds = self._bounds(goal)
        choice = self._from_previous(goal, bounds)
        if choice is not None:
            return choice
        if bounds.lower is not None and bounds.upper is not None:
            return self._narrow(goal, bounds, bounds.lower, bounds.upper)
        if bounds.upper is not None:
            return self._extend_down(goal, bounds, bounds.upper)
        if bounds.lower is not None:
            return self._extend_up(goal, bounds, bounds.lower)
        return None

    def _bounds(self, goal: Goal) -> Bounds:
        lowers, uppers = self.current.sides(goal.loss_ratio)
        old_lowers, old_uppers = self.previous.sides(goal.loss_ratio) if self.previous else ((), ())
        return Bounds(
            lower=lowers[-1] if lowers else None,
            upper=uppers[0] if uppers else None,
            second_lower=lowers[-2] if len(lowers) > 1 else None,
            second_upper=uppers[1] if len(uppers) > 1 else None,
            old_lower=old_lowers[-1] if old_lowers else None,
            old_upper=old_uppers[0] if old_uppers else None,
        )

    def _from_previous(self, goal: Goal, bounds: Bounds) -> Choice | None:
        """Choose the middle of the previous phase's interval, else one of its bounds, if tighter (items 1 and 2)."""
        low = bounds.old_lower if _is_inside(bounds.old_lower, bounds.lower, bounds.upper) else None
        high = bounds.old_upper if _is_inside(bounds.old_upper, bounds.lower, bounds.upper) else None
        old_s = self.previous.duration_s if self.previous else 0.0
        if low and high and (middle := self._middle(low, high)) is not None:
            return Choice(
                middle,
                self._split("split-of-shorter", goal, low, high, old_s),
                "split",
                goal.label,
            )
        for bound, side in ((low, "lower"), (high, "upper")):
            if bound:
                return Choice(
                    bound.load_pps,
                    Message.of(
                        "remeasure",
                        goal=goal.label,
                        bound=f"{side} bound",
                        load_pps=bound.load_pps,
                        old_s=old_s,
                        new_s=self.current.duration_s,
                    ),
                    "remeasure",
                    goal.label,
                )
        return None

    def _narrow(self, goal: Goal, bounds: Bounds, lower: Measured, upper: Measured) -> Choice | None:
        """Split the interval, or step down from the upper bound if that is higher (item 5).

        The lower bound may have been measured for a goal with a smaller loss ratio and lie far too low for this one.
        """
        middle = self._middle(lower, upper)
        reference = self._reference_above(bounds, upper)
        if middle is None:
            return None
        if reference is not None:
            down = self._step_down(upper, reference)
            if down is not None and down > middle:
                reason = Message.of(
                    "far-below",
                    goal=goal.label,
                    low_pps=lower.load_pps,
                    high_pps=upper.load_pps,
                    load_pps=None if down == self.min_load_pps else down,
                )
                return Choice(down, reason, "step-down", goal.label)
        return Choice(middle, self._split("split-phase", goal, lower, upper), "split", goal.label)

    def _extend_down(self, goal: Goal, bounds: Bounds, upper: Measured) -> Choice | None:
        """Step down further if no load meets the goal yet; None at the lowest load (item 3)."""
        step = self._step_down(upper, self._reference_above(bounds, upper))
        if step is None:
            return None
        reason = Message.of(
            "external-down",
            goal=goal.label,
            duration_s=self.current.duration_s,
            high_pps=upper.load_pps,
            load_pps=None if step == self.min_load_pps else step,
        )
        return Choice(step, reason, "external-down", goal.label)

    def _extend_up(self, goal: Goal, bounds: Bounds, lower: Measured) -> Choice | None:
        """Step up further if all loads meet the goal so far; None at the highest load (item 4)."""
        reference = bounds.second_lower
        if _is_inside(bounds.old_lower, bounds.second_lower, lower):
            reference = bounds.old_lower
        wide = self._extended(lower, reference)
        load_pps = min(width.step_above(lower.load_pps, wide), self.max_load_pps)
        if load_pps <= lower.load_pps:
            return None
        reason = Message.of(
            "external-up",
            goal=goal.label,
            duration_s=self.current.duration_s,
            low_pps=lower.load_pps,
            load_pps=None if load_pps == self.max_load_pps else load_pps,
        )
        return Choice(load_pps, reason, "external-up", goal.label)

    def _split(self, code: str, goal: Goal, low: Measured, high: Measured, old_s: float | None = None) -> Message:
        return Message.of(
            code,
            goal=goal.label,
            low_pps=low.load_pps,
            high_pps=high.load_pps,
            width_ratio=width.compute_between(low.load_pps, high.load_pps),
            goal_width_ratio=self.width_goal,
            old_s=old_s,
        )

    def _reference_above(self, bounds: Bounds, upper: Measured) -> Measured | None:
        """Return the next upper bound above the tightest one; a step down starts from the width between the two."""
        if _is_inside(bounds.old_upper, upper, bounds.second_upper):
            return bounds.old_upper
        return bounds.second_upper

    def _step_down(self, upper: Measured, reference: Measured | None) -> float | None:
        wide = self._extended(upper, reference)
        load_pps = max(width.step_below(upper.load_pps, wide), self.min_load_pps)
        return None if load_pps >= upper.load_pps else load_pps

    def _extended(self, bound: Measured, reference: Measured | None) -> float:
        """Return the last width on this side, at least the goal's, times the expansion coefficient."""
        last = width.compute_between(bound.load_pps, reference.load_pps) if reference else self.width_goal
        return width.scale(max(last, self.width_goal), self.expansion_coefficient)

    def _middle(self, lower: Measured, upper: Measured) -> float | None:
        """Return the load that splits the interval; None if it is narrow enough."""
        wide = width.compute_between(lower.load_pps, upper.load_pps)
        if wide <= self.width_goal:
            return None
        return width.step_above(lower.load_pps, width.compute_lower_part(wide, self.width_goal))


def _is_inside(candidate: Measured | None, lower: Measured | None, upper: Measured | None) -> bool:
    """Return whether the candidate exists and is strictly between those bounds that exist."""
    return (
        candidate is not None
        and (lower is None or candidate.load_pps > lower.load_pps)
        and (upper is None or candidate.load_pps < upper.load_pps)
    )
