"""The frame loss rate at the highest load and at each step below it, until two successive trials lose nothing.

Not a search in the strict sense: loads are `plan.load_step_ratio` of the highest load apart, in integers of 0.1 % so
that rounding errors do not add up, down to the last step above 0. Every trial has the final duration and no stop rule.
A trial without loss between trials with loss does not end the series. After a load that the tester does not reach,
those that it does not reach either are left out.

Goals have no bounds, which would be a step apart: the result is the trials. The finding `loss-rates` sums them up.

Rules that choose a load: `highest`, `step`.

Source: RFC 2544 section 26.3.
"""

from typing import NamedTuple

from nodrop.model.goal import Flag
from nodrop.model.message import Message
from nodrop.model.search_plan import SearchPlan
from nodrop.search.base import Dialogue, DialogueSearch, Interval, Outcome
from nodrop.search.single_trial import Choice, make_trial

PER_MILLE = 1000
CLEAN_TRIAL_COUNT = 2
"""Successive trials without loss that end the series."""


class _Point(NamedTuple):
    load_pps: float
    outcome: Outcome


class FrameLossRateSearch(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        plan.check(single_load=True)
        self._points: list[_Point] = []
        self._clean_count = 0
        super().__init__(plan)

    def intervals(self) -> tuple[Interval, ...]:
        """Return nothing: the series bounds no load."""
        return ()

    def findings(self) -> tuple[Flag, ...]:
        """Return the loss at the highest load, and the load at which loss ends."""
        if not self._points:
            return ()
        first, clean_pps = self._points[0], None
        if self._clean_count == CLEAN_TRIAL_COUNT:
            clean_pps = self._points[-CLEAN_TRIAL_COUNT].load_pps
        offered_count = first.outcome.offered_count
        loss_ratio = first.outcome.lost_count / offered_count if offered_count else first.outcome.loss_ratio
        return (Flag.of("loss-rates", highest_pps=first.load_pps, loss_ratio=loss_ratio, clean_pps=clean_pps),)

    def _search(self) -> Dialogue:
        per_mille: int | None = PER_MILLE
        while per_mille and self._clean_count < CLEAN_TRIAL_COUNT:
            load_pps = self._plan.max_load_pps * per_mille / PER_MILLE
            outcome = yield make_trial(_choose(load_pps, per_mille), self._plan.final_trial_duration_s)
            self._points.append(_Point(load_pps, outcome))
            self._clean_count = 0 if outcome.loss_ratio else self._clean_count + 1
            per_mille = self._find_next(per_mille, outcome)

    def _find_next(self, per_mille: int, outcome: Outcome) -> int | None:
        """Return the next load after a trial, in thousandths of the highest; None after the last."""
        highest_pps, step = self._plan.max_load_pps, round(self._plan.load_step_ratio * PER_MILLE)
        lower = range(per_mille - step, 0, -step)
        if not lower or not outcome.unsent_count or not outcome.elapsed_s:
            return lower[0] if lower else None
        reached_pps = outcome.offered_count / outcome.elapsed_s
        return next((each for each in lower if highest_pps * each / PER_MILLE <= reached_pps), lower[-1])


def _choose(load_pps: float, per_mille: int) -> Choice:
    if per_mille == PER_MILLE:
        return Choice(load_pps, Message.of("highest-first"), "highest")
    return Choice(load_pps, Message.of("loss-step", share_ratio=per_mille / PER_MILLE), "step")
