"""What the next trial of a search may change and how long the search will take, worked out by thinking it further.

A search is deterministic: a fresh one that is told the outcomes so far stands where the real one stands, and can then
be told an outcome that has not happened. So this works for every search, and knows of none.
"""

import time
from collections.abc import Sequence

from nodrop.model.result import GoalState, Outlook
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.report.bound_changes import changes_text
from nodrop.search import create
from nodrop.search.base import Interval, Outcome, Search
from nodrop.simulation.minimal_sut import SupposedSut, supposed_outcome
from nodrop.units import format_pps, format_seconds

BUDGET_S = 0.05
"""CPU time an outlook may take: it is spent between trials, while nothing is measured."""
TRIALS_MAX = 200
"""A search that is longer than this in supposition is not thought to its end."""


class Lookout:
    """Follows a search trial by trial and says where each may lead."""

    def __init__(self, plan: SearchPlan) -> None:
        self._plan = plan
        self._outcomes: list[Outcome] = []
        self._telling_s = 0.0

    def tell(self, outcome: Outcome, cpu_s: float) -> None:
        """Take in what the search was told, and the CPU time it took to take it in: a fork takes it again."""
        self._outcomes.append(outcome)
        self._telling_s += cpu_s

    def outlook(self, known: Sequence[Interval], trial: Trial, started_s: float) -> Outlook:
        """What may come of a trial; without what would take too long to work out.

        Args:
            known: what the real search knows of each goal.
            trial: what it asked for.
            started_s: seconds from the start of the search until now.
        """
        deadline_s = time.process_time() + BUDGET_S
        supposed = SupposedSut(self._plan, known, _forwarded_pps(self._outcomes))
        overload_ratio = supposed.overload_ratio(trial.intended_load_pps)
        try:
            return Outlook(
                if_low_loss=self._consequence(known, trial, 0.0, started_s, deadline_s),
                if_high_loss=self._consequence(known, trial, overload_ratio, started_s, deadline_s),
                left_s=self._left_s(supposed, started_s, deadline_s),
            )
        except Exception:  # an outlook is a courtesy: what a search makes of events that never were must not end a run
            return Outlook()

    def _consequence(
        self, known: Sequence[Interval], trial: Trial, loss_ratio: float, started_s: float, deadline_s: float
    ) -> str:
        fork = self._fork(deadline_s)
        if fork is None:
            return ""
        fork.tell(supposed_outcome(trial, loss_ratio, self._next_index(), started_s))
        changes = changes_text(goal_states(known), goal_states(fork.intervals()))
        return f"{changes}; {_next_text(fork.ask())}"

    def _left_s(self, supposed: SupposedSut, started_s: float, deadline_s: float) -> float | None:
        """Time until the search is over, or until the next trial would end too late, if the SUT is as supposed."""
        fork = self._fork(deadline_s)
        if fork is None:
            return None
        now_s = started_s
        for index in range(self._next_index(), self._next_index() + TRIALS_MAX):
            trial = fork.ask()
            if trial is None or now_s + trial.duration_s > self._plan.search_duration_max_s:
                return now_s - started_s
            if time.process_time() > deadline_s:
                break
            outcome = supposed_outcome(trial, supposed.loss_ratio(trial.intended_load_pps), index, now_s)
            now_s += outcome.elapsed_s + self._plan.overhead_s
            fork.tell(outcome)
        return None

    def _fork(self, deadline_s: float) -> Search | None:
        """A search that stands where the real one stands; None when there is no time for it."""
        if time.process_time() + self._telling_s > deadline_s:
            return None
        fork = create(self._plan)
        for outcome in self._outcomes:
            fork.tell(outcome)
        return fork

    def _next_index(self) -> int:
        return self._outcomes[-1].index + 1 if self._outcomes else 0


def goal_states(intervals: Sequence[Interval]) -> tuple[GoalState, ...]:
    """The valid bounds alone."""
    return tuple(
        GoalState(
            label=interval.goal.label,
            lower_pps=interval.lower_load_pps if interval.lower_valid else None,
            upper_pps=interval.upper_load_pps if interval.upper_valid else None,
        )
        for interval in intervals
    )


def _next_text(trial: Trial | None) -> str:
    if trial is None:
        return "the search ends"
    return f"next {format_pps(trial.intended_load_pps)} for {format_seconds(trial.duration_s)}"


def _forwarded_pps(outcomes: Sequence[Outcome]) -> float | None:
    """What came through when last more was offered than did."""
    for outcome in reversed(outcomes):
        if outcome.lost_count and outcome.elapsed_s:
            return (outcome.sent_count - outcome.lost_count) / outcome.elapsed_s
    return None
