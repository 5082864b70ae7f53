"""How far a run is and how much of it is left, gathered from its events."""

from nodrop.model.event import (
    Event,
    RunStarted,
    StageProgress,
    StageUp,
    SuitePlace,
    TrialDone,
    TrialProgress,
    TrialStarted,
)
from nodrop.model.goal import GoalResult
from nodrop.model.plan import Plan

PAUSE_S = 0.2
"""What a latency trial takes beside its sending: waiting for the last frames, asking and answering."""


class Progress:
    """The state of a run as its events tell it."""

    def __init__(self) -> None:
        self._begin(None, None)

    def _begin(self, plan: Plan | None, place: SuitePlace | None) -> None:
        """Nothing is known of a run yet but its plan."""
        self.plan = plan
        self.place = place
        self.staging: StageProgress | None = None
        """How far the stage is; None where it does not say, or is up."""
        self.started: TrialStarted | None = None
        self.now: TrialProgress | None = None
        self.goals: tuple[GoalResult, ...] = ()
        self._search_s: float | None = None
        """What the search is expected to take from the start of the running trial."""
        self._trial_s = 0.0
        """What the trial before took."""
        self._latency_phases: set[str] = set()

    def hear(self, event: Event) -> None:
        """Take in what happened."""
        match event:
            case RunStarted():
                self._begin(event.plan, event.place)
            case StageProgress():
                self.staging = event
            case StageUp():
                self.staging = None
            case TrialStarted():
                self.started, self.now = event, None
                self._start(event)
            case TrialProgress():
                self.now = event
            case TrialDone():
                self.goals = event.goals
                self._trial_s = event.result.duration_s

    def left_s(self) -> float | None:
        """Seconds the run is expected to take from here; None before there is anything to go by."""
        if not self.plan or not self.started:
            return None
        running_s = self.started.trial.duration_s if self._latency_phases else self._search_s
        if running_s is None:
            return None
        elapsed_s = self.now.elapsed_s if self.now else 0.0
        latency = self.plan.latency
        to_come = max(0, len(latency.points) - len(self._latency_phases))
        return max(0.0, running_s - elapsed_s) + to_come * (latency.duration_s + PAUSE_S)

    def _start(self, event: TrialStarted) -> None:
        """Take over what the search expects; without that, go on from what it expected before."""
        if event.phase != "search":
            self._latency_phases.add(event.phase)
        elif event.outlook.left_s is not None:
            self._search_s = event.outlook.left_s
        elif self._search_s is not None:
            self._search_s -= self._trial_s
