"""Binary search as RFC 2544 is commonly read: the highest load first, then halve between the tightest bounds.

Every trial has the final duration, so every bound is final. Loads are halved arithmetically until the bounds are as
close as required, goal after goal in their order. RFC 2544 section 26.1 requires the fastest rate without loss and
specifies no algorithm; section 24 permits "some form of binary search" if full-length trials decide.

`plan.joint`: a trial counts for every goal whose bounds it tightens; without it each goal has its own search. No load
is measured twice and no bound is reconsidered, so one unlucky trial is final. The flag `loss-inversion` marks a bound
that a trial for another goal contradicts.

Rules that choose a load: `highest`, `halve`, and `lowest` if no higher load met the goal.

Source: RFC 2544 sections 24 and 26.1; draft-ietf-bmwg-mlrsearch-15 section 2.1 for the common reading.
"""

from nodrop.model.message import Message
from nodrop.search import width
from nodrop.search.base import Dialogue
from nodrop.search.single_trial import Choice, measure, stop_when_decided
from nodrop.search.tightest_bounds import TightestBounds, TightestBoundsSearch


class BinarySearch(TightestBoundsSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def _search(self) -> Dialogue:
        duration_s = self._plan.final_trial_duration_s
        for bounds in self._bounds:
            served = self._bounds if self._plan.joint else [bounds]
            largest_ratio = max(each.goal.loss_ratio for each in served)
            while (choice := self._next_choice(bounds)) is not None:
                stop = stop_when_decided(choice.load_pps, duration_s, largest_ratio)
                measured = yield from measure(choice, duration_s, stop)
                for each in served:
                    each.update(measured)

    def _next_choice(self, bounds: TightestBounds) -> Choice | None:
        lowest_pps, highest_pps, label = self._plan.min_load_pps, self._plan.max_load_pps, bounds.goal.label
        if bounds.lower is None and bounds.upper is None:
            return Choice(highest_pps, Message.of("highest-first"), "highest", label)
        if bounds.upper is None or bounds.upper.load_pps <= lowest_pps:
            return None
        low_pps, high_pps = bounds.lower.load_pps if bounds.lower else lowest_pps, bounds.upper.load_pps
        middle_pps, apart = (low_pps + high_pps) / 2, width.compute_between(low_pps, high_pps)
        if apart > self._plan.width_ratio and low_pps < middle_pps < high_pps:
            reason = Message.of(
                "halve" if bounds.lower else "halve-from-lowest",
                goal=label,
                low_pps=low_pps,
                high_pps=high_pps,
                width_ratio=apart,
                goal_width_ratio=self._plan.width_ratio,
            )
            return Choice(middle_pps, reason, "halve", label)
        if bounds.lower is None:
            return Choice(lowest_pps, Message.of("lowest-remaining", goal=label), "lowest", label)
        return None
