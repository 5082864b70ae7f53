"""A search that keeps account of itself: what each trial might have changed, and what it did change."""

import time

from nodrop.explain.lookahead import Lookout, goal_states
from nodrop.model.goal import Flag
from nodrop.model.result import Outlook, SearchStep
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Interval, Outcome


class LoggedSearch:
    """`nodrop.search.base.Search`, whose `tell` gives the step for the record. Raises what `create` raises."""

    def __init__(self, plan: SearchPlan) -> None:
        self._search = create(plan)
        self._lookout = Lookout(plan)
        self._outlook = Outlook()
        self._intervals = self._search.intervals()

    def ask(self) -> Trial | None:
        """The next trial wanted, the same one until it is told about; None when the search is over."""
        return self._search.ask()

    def outlook(self, trial: Trial, started_s: float) -> Outlook:
        """What may come of the trial just asked for, which is about to start."""
        self._outlook = self._lookout.outlook(self._intervals, trial, started_s)
        return self._outlook

    def tell(self, outcome: Outcome) -> SearchStep:
        """Answer the last `ask`."""
        before = goal_states(self._intervals)
        begun_s = time.process_time()
        self._search.tell(outcome)
        self._lookout.tell(outcome, time.process_time() - begun_s)
        self._intervals = self._search.intervals()
        outlook, self._outlook = self._outlook, Outlook()
        return SearchStep(
            trial_index=outcome.index,
            started_s=outcome.started_s,
            before=before,
            after=goal_states(self._intervals),
            **outlook.model_dump(),
        )

    def intervals(self) -> tuple[Interval, ...]:
        """What is known of each goal, in the goals' order."""
        return self._intervals

    def findings(self) -> tuple[Flag, ...]:
        """What the search saw beyond the goals."""
        return self._search.findings()
