"""The state of a run, folded from its events: one value for the terminal, the pages and the metrics."""

from dataclasses import dataclass, replace
from typing import Self

from nodrop.model.event import (
    Event,
    PathChecked,
    RunDone,
    RunStarted,
    StageProgress,
    StageUp,
    SuitePosition,
    TrialDone,
    TrialProgress,
    TrialStarted,
)
from nodrop.model.facts import Facts
from nodrop.model.goal import GoalResult
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult
from nodrop.model.trial import SEARCH, TrialResult

LATENCY_OVERHEAD_S = 0.2
"""Time of a latency trial besides sending: waiting for the last frames, request and reply."""


@dataclass(frozen=True)
class RunState:
    """What the events so far say of a run; `RunState()` before the first event."""

    run_id: str = ""
    plan: Plan | None = None
    position: SuitePosition | None = None
    """Position in a suite; None for a single run."""
    stage_progress: StageProgress | None = None
    """Last report of the stage; None once the stage is up, or if it reports nothing."""
    facts: Facts | None = None
    """None until the stage is up."""
    path_checked: bool = False
    trial: TrialStarted | None = None
    """The trial started last."""
    window: TrialProgress | None = None
    """Latest counts of that trial."""
    trials: tuple[TrialResult, ...] = ()
    """Completed trials."""
    goals: tuple[GoalResult, ...] = ()
    result: RunResult | None = None
    """None until the run is over."""
    search_remaining_s: float | None = None
    """Expected duration of the rest of the search, from the start of `trial`."""
    latency_phase: str = ""
    """Phase of the latest trial after the search; empty during the search."""
    expected_end_s: float | None = None
    """Earliest end of the run that was expected, in measured time: see `measured_s`."""

    @property
    def running_trial(self) -> TrialStarted | None:
        """The trial being offered; None between two trials."""
        if self.trial and self.trials and self.trials[-1].index == self.trial.index:
            return None
        return self.trial

    def apply(self, event: Event) -> Self:
        """Return the state after an event."""
        match event:
            case RunStarted():
                state = type(self)(run_id=event.run_id, plan=event.plan, position=event.place)
            case StageProgress():
                state = replace(self, stage_progress=event)
            case StageUp():
                state = replace(self, facts=event.facts, stage_progress=None)
            case PathChecked():
                state = replace(self, path_checked=True)
            case TrialStarted():
                state = self._start_trial(event)
            case TrialProgress():
                state = replace(self, window=event)
            case TrialDone():
                state = replace(self, trials=(*self.trials, event.result), goals=event.goals)
            case RunDone():
                state = replace(self, result=event.result)
            case _:
                state = self
        return state

    def remaining_s(self) -> float | None:
        """Return the expected time to the end of the run.

        It only falls: each trial of a search that repeats trials looks as if the end were near. None before there is an
        estimate, and once the run takes longer than expected.
        """
        estimate_s = self._estimate_remaining_s()
        if estimate_s is None or self.expected_end_s is None or self.is_overdue:
            return None
        return max(0.0, min(estimate_s, self.expected_end_s - self.measured_s))

    @property
    def is_overdue(self) -> bool:
        """Whether the search takes longer than was expected at some time."""
        is_over = self.expected_end_s is not None and self.measured_s >= self.expected_end_s
        return is_over and not self.latency_phase

    @property
    def measured_s(self) -> float:
        """Duration of the trials so far and of the time between them."""
        overhead_s = self.plan.search.overhead_s if self.plan else 0.0
        running_s = self.window.elapsed_s if self.window and self.running_trial else 0.0
        return sum(trial.duration_s + overhead_s for trial in self.trials) + running_s

    def _estimate_remaining_s(self) -> float | None:
        if not self.plan or not self.trial:
            return None
        current_s = self.trial.trial.duration_s if self.latency_phase else self.search_remaining_s
        if current_s is None:
            return None
        elapsed_s = self.window.elapsed_s if self.window else 0.0
        pending_s = self._count_pending_latency_trials() * (self.plan.latency.duration_s + LATENCY_OVERHEAD_S)
        return max(0.0, current_s - elapsed_s) + pending_s

    def _count_pending_latency_trials(self) -> int:
        """Return the number of latency trials to expect; those at a bound usually are trials of the search."""
        points = self.plan.latency.points if self.plan else ()
        phases = [point.phase for point in points]
        begin = phases.index(self.latency_phase) + 1 if self.latency_phase in phases else 0
        return sum(not point.is_at_bound for point in points[begin:])

    def _start_trial(self, event: TrialStarted) -> Self:
        """Take the estimate of the search; without one, continue from the previous estimate."""
        latency_phase, remaining_s = self.latency_phase, self.search_remaining_s
        if event.phase != SEARCH:
            latency_phase = event.phase
        elif event.outlook.left_s is not None:
            remaining_s = event.outlook.left_s
        elif remaining_s is not None and self.trials:
            remaining_s -= self.trials[-1].duration_s
        state = replace(self, trial=event, window=None, search_remaining_s=remaining_s, latency_phase=latency_phase)
        return replace(state, expected_end_s=state._expect_end(is_search=event.phase == SEARCH))

    def _expect_end(self, *, is_search: bool) -> float | None:
        """Return the earliest expected end; that of latency trials is certain."""
        estimate_s = self._estimate_remaining_s()
        if estimate_s is None:
            return self.expected_end_s
        end_s = self.measured_s + estimate_s
        return min(end_s, self.expected_end_s or end_s) if is_search else end_s
