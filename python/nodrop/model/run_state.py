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
from nodrop.model.trial import TrialResult

SEARCH = "search"
"""Phase of the trials of a search."""
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
    latency_phases: frozenset[str] = frozenset()
    """Phases started after the search."""

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
        """Return the expected time to the end of the run; None before there is an estimate."""
        if not self.plan or not self.trial:
            return None
        current_s = self.trial.trial.duration_s if self.latency_phases else self.search_remaining_s
        if current_s is None:
            return None
        elapsed_s = self.window.elapsed_s if self.window else 0.0
        latency = self.plan.latency
        pending_count = max(0, len(latency.points) - len(self.latency_phases))
        return max(0.0, current_s - elapsed_s) + pending_count * (latency.duration_s + LATENCY_OVERHEAD_S)

    def _start_trial(self, event: TrialStarted) -> Self:
        """Take the estimate of the search; without one, continue from the previous estimate."""
        phases, remaining_s = self.latency_phases, self.search_remaining_s
        if event.phase != SEARCH:
            phases |= {event.phase}
        elif event.outlook.left_s is not None:
            remaining_s = event.outlook.left_s
        elif remaining_s is not None and self.trials:
            remaining_s -= self.trials[-1].duration_s
        return replace(self, trial=event, window=None, search_remaining_s=remaining_s, latency_phases=phases)
