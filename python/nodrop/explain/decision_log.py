"""A search that logs its decisions: the possible and the actual effect of each trial."""

import time

from nodrop.explain.lookahead import Lookahead, list_goal_states
from nodrop.model.goal import Flag
from nodrop.model.result import SearchDecision, TrialPreview
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Interval, Outcome


class LoggedSearch:
    """`nodrop.search.base.Search` whose `tell` returns the decision to record. Raises the errors of `create`."""

    def __init__(self, plan: SearchPlan) -> None:
        self._search = create(plan)
        self._lookahead = Lookahead(plan)
        self._preview = TrialPreview()
        self._intervals = self._search.intervals()

    @property
    def accepts_undecided(self) -> bool:
        """See `Search`."""
        return self._search.accepts_undecided

    def ask(self) -> Trial | None:
        """Return the next trial, the same one until `tell`; None when the search is over."""
        return self._search.ask()

    def preview(self, trial: Trial, started_s: float) -> TrialPreview:
        """Return the possible effects of the trial that is about to start."""
        self._preview = self._lookahead.preview(self._intervals, trial, started_s)
        return self._preview

    def tell(self, outcome: Outcome) -> SearchDecision:
        """Answer the last `ask`."""
        start_s = time.process_time()
        self._search.tell(outcome)
        self._lookahead.tell(outcome, time.process_time() - start_s)
        return self._record(outcome)

    def add_evidence(self, trial: Trial, outcome: Outcome) -> SearchDecision | None:
        """Report a trial that the search did not request, after its end; None if the search ignores it."""
        start_s = time.process_time()
        if not self._search.add_evidence(trial, outcome):
            return None
        self._lookahead.tell(outcome, time.process_time() - start_s, trial)
        return self._record(outcome)

    def _record(self, outcome: Outcome) -> SearchDecision:
        before = list_goal_states(self._intervals)
        self._intervals = self._search.intervals()
        preview, self._preview = self._preview, TrialPreview()
        return SearchDecision(
            trial_index=outcome.index,
            started_s=outcome.started_s,
            before=before,
            after=list_goal_states(self._intervals),
            **preview.model_dump(),
        )

    def intervals(self) -> tuple[Interval, ...]:
        """Return the interval of each goal, in the order of the goals."""
        return self._intervals

    def findings(self) -> tuple[Flag, ...]:
        """Return observations of the search beyond its goals."""
        return self._search.findings()
