"""How far a run is, gathered from its events, and a simple guess at the time that is left."""

from nodrop.model.event import Event, RunStarted, TrialDone, TrialProgress, TrialStarted
from nodrop.model.goal import GoalResult
from nodrop.model.plan import Plan, SearchPlan

INITIAL_TRIALS = 4
"""Trials a search typically makes before its phases begin."""
TRIALS_PER_GOAL = 2
"""Full-length trials a phase typically spends on a goal: one meets it; of the others most are stopped early."""
PAUSE_S = 0.2
"""What a trial takes beside its sending: waiting for the last frames, asking and answering."""


class Progress:
    """The state of a run as its events tell it."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.started: TrialStarted | None = None
        self.now: TrialProgress | None = None
        self.goals: tuple[GoalResult, ...] = ()
        self._done: list[TrialDone] = []

    def hear(self, event: Event) -> None:
        """Take in what happened."""
        match event:
            case RunStarted():
                self.plan = event.plan
            case TrialStarted():
                self.started, self.now = event, None
            case TrialProgress():
                self.now = event
            case TrialDone():
                self.goals = event.goals
                self._done.append(event)

    def left_s(self) -> float | None:
        """Seconds a typical search would still take from here; None before there is anything to go by."""
        if not self.plan or not self.started:
            return None
        running_s = max(0.0, self.started.trial.duration_s - (self.now.elapsed_s if self.now else 0.0))
        if self.started.phase != "search":
            latency_done = sum(done.result.phase != "search" for done in self._done)
            return running_s + self._latency_s(latency_done + 1)
        return running_s + self._search_s(self.plan.search) + self._latency_s(0)

    def _search_s(self, plan: SearchPlan) -> float:
        """What is left of this phase and of the longer ones, beside the running trial."""
        assert self.started
        expected = TRIALS_PER_GOAL * len(plan.goals)
        left_s = 0.0
        for duration_s in phase_durations_s(plan):
            made = sum(done.result.trial.duration_s == duration_s for done in self._done)
            if duration_s == self.started.trial.duration_s:
                initial = INITIAL_TRIALS if duration_s == plan.initial_trial_duration_s else 0
                left_s += max(0, initial + expected - made - 1) * (duration_s + PAUSE_S)
            elif duration_s > self.started.trial.duration_s:
                left_s += expected * (duration_s + PAUSE_S)
        return left_s

    def _latency_s(self, begun: int) -> float:
        assert self.plan
        latency = self.plan.latency
        return max(0, len(latency.points) - begun) * (latency.duration_s + PAUSE_S)


def phase_durations_s(plan: SearchPlan) -> tuple[float, ...]:
    """Trial durations of the search from the initial to the final one, in geometric steps.

    Source: draft-ietf-bmwg-mlrsearch-01 section 4.3 item 1.
    """
    initial_s, final_s, steps = plan.initial_trial_duration_s, plan.final_trial_duration_s, plan.intermediate_phases
    between = (initial_s * (final_s / initial_s) ** (step / steps) for step in range(1, steps))
    return tuple(sorted({initial_s, *between, final_s}))
