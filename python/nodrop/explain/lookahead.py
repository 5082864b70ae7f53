"""The possible effects of the next trial of a search and the remaining time of the search, found by simulation.

A search is deterministic: a new one that receives the outcomes so far is in the state of the real one, and can then
receive hypothetical outcomes. This works for every search without knowing which one it is.
"""

import time
from collections.abc import Sequence

from nodrop.model.result import GoalState, TrialEffect, TrialPreview
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Interval, Outcome, Search
from nodrop.simulation.minimal_sut import MinimalSut, SteadyLossSut
from nodrop.simulation.search_run import simulate_trial, simulate_trials
from nodrop.simulation.sut import Sut

BUDGET_S = 0.05
"""CPU time limit of a preview, which is computed between trials."""
TRIALS_MAX = 200
"""The remaining time of a longer search is not predicted."""


class Lookahead:
    """Follows a search trial by trial and previews each trial."""

    def __init__(self, plan: SearchPlan) -> None:
        self._plan = plan
        self._outcomes: list[Outcome] = []
        self._other_trials: dict[int, Trial] = {}
        """Trials that the search did not request, by the index of their outcome."""
        self._redo_s = 0.0

    def tell(self, outcome: Outcome, cpu_s: float, other_trial: Trial | None = None) -> None:
        """Note an outcome that the search received.

        Args:
            outcome: the outcome.
            cpu_s: the CPU time that the search needed, which a copy needs again.
            other_trial: its trial if the search did not request it.
        """
        self._outcomes.append(outcome)
        self._redo_s += cpu_s
        if other_trial:
            self._other_trials[outcome.index] = other_trial

    def preview(self, intervals: Sequence[Interval], trial: Trial, started_s: float) -> TrialPreview:
        """Return the possible effects of a trial, leaving out those that take too long to compute.

        Args:
            intervals: the interval of each goal in the real search.
            trial: its next trial.
            started_s: time since the start of the search.
        """
        if not intervals:  # bursts bound no load
            return TrialPreview()
        deadline_s = time.process_time() + BUDGET_S
        sut = MinimalSut(self._plan, intervals, _find_forwarding_rate(self._outcomes))
        overload = SteadyLossSut(sut.overload_ratio(trial.intended_load_pps))
        try:
            return TrialPreview(
                if_low_loss=self._consequence(intervals, trial, SteadyLossSut(0.0), started_s, deadline_s),
                if_high_loss=self._consequence(intervals, trial, overload, started_s, deadline_s),
                left_s=self._remaining_s(sut, started_s, deadline_s),
            )
        except Exception:  # a search that fails on hypothetical outcomes must not end the run
            return TrialPreview()

    def _consequence(
        self, intervals: Sequence[Interval], trial: Trial, sut: Sut, started_s: float, deadline_s: float
    ) -> TrialEffect:
        copy = self._replayed_copy(deadline_s)
        if copy is None:
            return TrialEffect()
        copy.tell(simulate_trial(sut, trial, self._next_index(), started_s))
        following = copy.ask()
        return TrialEffect(
            code="trial-effect",
            before=list_goal_states(intervals),
            after=list_goal_states(copy.intervals()),
            next_load_pps=following.intended_load_pps if following else None,
            next_duration_s=following.duration_s if following else None,
        )

    def _remaining_s(self, sut: Sut, started_s: float, deadline_s: float) -> float | None:
        """Return the time until the search ends against this SUT; None if predicting it takes too long."""
        copy = self._replayed_copy(deadline_s)
        if copy is None:
            return None
        end_s = started_s
        steps = simulate_trials(copy, self._plan, sut, start_s=started_s, first_index=self._next_index())
        for count, step in enumerate(steps, start=1):
            if count > TRIALS_MAX or time.process_time() > deadline_s:
                return None
            end_s = step.end_s
        return end_s - started_s

    def _replayed_copy(self, deadline_s: float) -> Search | None:
        """Return a search in the state of the real one; None if there is no time to replay the outcomes."""
        if time.process_time() + self._redo_s > deadline_s:
            return None
        copy = create(self._plan)
        for outcome in self._outcomes:
            other_trial = self._other_trials.get(outcome.index)
            if other_trial:
                copy.add_evidence(other_trial, outcome)
            else:
                copy.tell(outcome)
        return copy

    def _next_index(self) -> int:
        return self._outcomes[-1].index + 1 if self._outcomes else 0


def list_goal_states(intervals: Sequence[Interval]) -> tuple[GoalState, ...]:
    """Return the valid bounds of each goal."""
    return tuple(
        GoalState(
            label=interval.goal.label,
            lower_pps=interval.lower_load_pps if interval.lower_valid else None,
            upper_pps=interval.upper_load_pps if interval.upper_valid else None,
        )
        for interval in intervals
    )


def _find_forwarding_rate(outcomes: Sequence[Outcome]) -> float | None:
    """Return the forwarding rate of the last trial with loss; None if there was none."""
    for outcome in reversed(outcomes):
        if outcome.lost_count and outcome.elapsed_s:
            return (outcome.offered_count - outcome.lost_count) / outcome.elapsed_s
    return None
