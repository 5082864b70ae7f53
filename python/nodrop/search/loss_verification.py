"""Binary search with loss verification: a load fails only if its loss recurs when the trial is repeated.

The loads form a fixed list from the highest downwards. The highest is measured first; then the load of the list nearest
the middle of the bounds, until the bounds are neighbors. A trial with too much loss is repeated at its load, up to
`plan.verify_trial_count` trials in total (max(r)); the first one that meets the goal decides that the load does. Loss
of `plan.verify_lost_count` frames or more (z) is too much to be a transient and decides at once.

TST 009 leaves the list to the user. Here each load is one width goal below the next, and the lowest one allowed ends
the list, so neighbors are exactly as close as required wherever the search ends; equal steps in frames per second
would be too wide for low loads or needlessly narrow for high ones.

Goals are searched one after the other, and a trial counts for all of them: any trial that meets another goal decides
for that goal, but a load fails it only once the loss is verified for it as well.

Rules that choose a load: `highest`, `halve`, and `verify` for a repeated trial.

Source: ETSI GS NFV-TST 009 clause 12.3.3, which extends clause 12.3.2.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nodrop.model.goal import Goal
from nodrop.model.message import Message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import StopRule
from nodrop.search import width
from nodrop.search.base import Dialogue, Outcome
from nodrop.search.loss_table import Measured
from nodrop.search.single_trial import Choice, make_trial, stop_when_decided
from nodrop.search.tightest_bounds import TightestBounds, TightestBoundsSearch


class _CountedTrial(NamedTuple):
    """A trial and the frames it lost."""

    measured: Measured
    lost_count: int


class LossVerificationSearch(TightestBoundsSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        self._loads = _LoadList(plan)
        self._largest_ratio = max(goal.loss_ratio for goal in plan.goals)
        super().__init__(plan)

    def _search(self) -> Dialogue:
        for bounds in self._bounds:
            while (choice := self._next_choice(bounds)) is not None:
                yield from self._verify(choice, bounds.goal)

    def _next_choice(self, bounds: TightestBounds) -> Choice | None:
        label = bounds.goal.label
        if bounds.lower is None and bounds.upper is None:
            return Choice(self._plan.max_load_pps, Message.of("highest-first"), "highest", label)
        if bounds.upper is None:
            return None
        low_pps = bounds.lower.load_pps if bounds.lower else None
        middle_pps = self._loads.between(low_pps, bounds.upper.load_pps)
        if middle_pps is None:
            return None
        reason = Message.of("list-middle", goal=label, low_pps=low_pps, high_pps=bounds.upper.load_pps)
        return Choice(middle_pps, reason, "halve", label)

    def _verify(self, choice: Choice, goal: Goal) -> Dialogue:
        """Measure a load until it meets the current goal or its loss is verified; then update all bounds."""
        duration_s, trials = self._plan.final_trial_duration_s, list[_CountedTrial]()
        while self._decisive(trials, goal) is None:
            next_choice = (
                _repeat_choice(choice, trials[-1], len(trials), self._plan.verify_trial_count) if trials else choice
            )
            outcome = yield make_trial(next_choice, duration_s, self._stop_rule(choice.load_pps))
            measured = Measured(choice.load_pps, duration_s, outcome.loss_ratio, outcome.index)
            trials.append(_CountedTrial(measured, _derive_lost_count(outcome, choice.load_pps * duration_s)))
        for bounds in self._bounds:
            decisive = self._decisive(trials, bounds.goal)
            if decisive is not None:
                bounds.update(decisive)

    def _decisive(self, trials: Sequence[_CountedTrial], goal: Goal) -> Measured | None:
        """Return the trial that decides a load for a goal: the first that meets it, else the last of enough trials."""
        plan = self._plan
        for measured, _ in trials:
            if measured.loss_ratio <= goal.loss_ratio:
                return measured
        too_many = plan.verify_lost_count is not None and any(
            lost_count >= plan.verify_lost_count for _, lost_count in trials
        )
        return trials[-1].measured if trials and (too_many or len(trials) >= plan.verify_trial_count) else None

    def _stop_rule(self, load_pps: float) -> StopRule:
        """Return a rule that stops once the trial fails every goal and more loss would not matter."""
        fails = stop_when_decided(load_pps, self._plan.final_trial_duration_s, self._largest_ratio)
        assert fails.lost_count is not None
        return StopRule(lost_count=max(fails.lost_count, self._plan.verify_lost_count or 0))


class _LoadList:
    """Loads from the highest downwards, each one width below the previous; the lowest load allowed is the last."""

    def __init__(self, plan: SearchPlan) -> None:
        self._lowest_pps, self._highest_pps = plan.min_load_pps, plan.max_load_pps
        # A slightly smaller width leaves room for rounding.
        self._step = -math.log1p(-width.scale(plan.width_ratio, 1.0))
        self._last = max(0, math.ceil(math.log(self._highest_pps / self._lowest_pps) / self._step - 1e-9))

    def between(self, lower_pps: float | None, upper_pps: float) -> float | None:
        """Return the load of the list nearest the middle of two others; None if these are neighbors.

        Args:
            lower_pps: None for the end of the list.
            upper_pps: higher than that.
        """
        above = self._position(upper_pps)
        below = self._last + 1 if lower_pps is None else self._position(lower_pps)
        if below - above <= 1:
            return None
        middle_pps = ((self._lowest_pps if lower_pps is None else lower_pps) + upper_pps) / 2
        return self._load_pps(min(max(self._position(middle_pps), above + 1), below - 1))

    def _position(self, load_pps: float) -> int:
        if load_pps <= self._lowest_pps:
            return self._last
        return round(math.log(self._highest_pps / load_pps) / self._step)

    def _load_pps(self, position: int) -> float:
        if position >= self._last:
            return self._lowest_pps
        return self._highest_pps * math.exp(-position * self._step)


def _repeat_choice(choice: Choice, last: _CountedTrial, done_count: int, count_max: int) -> Choice:
    """Return the choice of the same load once more."""
    reason = Message.of(
        "verify",
        goal=choice.goal,
        load_pps=choice.load_pps,
        lost_count=last.lost_count,
        number=done_count + 1,
        count=count_max,
    )
    return choice._replace(reason=reason, rule="verify")


def _derive_lost_count(outcome: Outcome, intended_count: float) -> int:
    """Return the frames lost or unsent, derived from the ratio if the measurer has no counts."""
    counted = outcome.offered_count + outcome.unsent_count
    return outcome.lost_count + outcome.unsent_count if counted else round(outcome.loss_ratio * intended_count)
