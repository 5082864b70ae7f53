"""Maximum receive rate: the forwarding rate at the highest load, over several short trials.

Not a search in the strict sense: `plan.trial_count` trials of the initial duration at the highest load. The result is
the mean of the forwarding rates with the standard deviation of these trials (population form, divided by their number).
Frames that the tester failed to send count as lost.

The highest load is a lower bound of a goal that every trial met. All other goals have no bounds, only the estimate.

The rule that chooses the load: `highest`.

Source: FD.io CSIT methodology, MRR throughput; forwarding rate as in RFC 2285 section 3.6.1.
"""

import math

from nodrop.model.goal import Flag, Goal
from nodrop.model.message import Message
from nodrop.model.search_plan import SearchPlan
from nodrop.search.base import Dialogue, DialogueSearch, Interval, Outcome
from nodrop.search.single_trial import Choice, make_trial


class MrrSearch(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        plan.check(single_load=True)
        self._outcomes: list[Outcome] = []
        super().__init__(plan)

    def intervals(self) -> tuple[Interval, ...]:
        """Return the same estimate for every goal, and whether the highest load met it."""
        return tuple(map(self._interval, self._plan.goals))

    def _search(self) -> Dialogue:
        count = self._plan.trial_count
        for number in range(1, count + 1):
            choice = Choice(self._plan.max_load_pps, Message.of("mrr", number=number, count=count), "highest")
            self._outcomes.append((yield make_trial(choice, self._plan.initial_trial_duration_s)))

    def _interval(self, goal: Goal) -> Interval:
        worst = max(self._outcomes, key=lambda outcome: outcome.loss_ratio, default=None)
        if worst is None:
            return Interval.unknown(goal)
        highest_pps = self._plan.max_load_pps
        mean_pps, sd_pps = _compute_mean_and_sd([highest_pps * (1 - outcome.loss_ratio) for outcome in self._outcomes])
        return Interval(
            goal=goal,
            lower_index=worst.index,
            lower_load_pps=highest_pps,
            lower_valid=worst.loss_ratio <= goal.loss_ratio,
            upper_index=worst.index,
            upper_load_pps=highest_pps,
            upper_valid=False,
            final=len(self._outcomes) == self._plan.trial_count,
            estimate_pps=mean_pps,
            estimate_sd_pps=sd_pps,
            flags=self._flags(),
        )

    def _flags(self) -> tuple[Flag, ...]:
        short_count = sum(outcome.unsent_count > 0 for outcome in self._outcomes)
        if not short_count:
            return ()
        count, highest_pps = len(self._outcomes), self._plan.max_load_pps
        return (Flag.of("tester-limited", short_count=short_count, count=count, highest_pps=highest_pps),)


def _compute_mean_and_sd(values: list[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
