"""What is known of a run, gathered from the lines of its journal: the state that its page shows."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from nodrop.charts.live import thinned
from nodrop.formatting import asked_text, found_text, goal_text, traffic_text
from nodrop.model.event import (
    Event,
    PathChecked,
    RunStarted,
    StageProgress,
    StageUp,
    TrialDone,
    TrialProgress,
    TrialStarted,
)
from nodrop.model.facts import Facts
from nodrop.model.goal import GoalResult
from nodrop.model.plan import Plan
from nodrop.model.result import GoalState, RunResult, SearchStep, Status
from nodrop.model.trial import TrialResult
from nodrop.report.line_progress import trial_line
from nodrop.report.progress import Progress
from nodrop.report.stage_progress import Staging
from nodrop.server.rest.event_codec import NOTE, RUN_DONE, STATE, decode
from nodrop.server.rest.schemas import RunView, State

SEARCH = "search"
LOG_MAX = 400
"""Lines that are kept; those in the middle of a long run are of no use to who watches."""


class Said(NamedTuple):
    """A line of the log."""

    after_s: float | None
    """Since the run began; None before."""
    text: str
    grave: bool = False


class Part(NamedTuple):
    """One of several runs, for a run of several frame sizes or repeats."""

    number: int
    what: str
    found: str
    status: str


class Watched:
    """A run as its journal tells it so far. Hears every event once, in order."""

    def __init__(self, view: RunView) -> None:
        self.view = view
        self.log: list[Said] = []
        self.parts: list[Part] = []
        self.note = ""
        self._now_s: float | None = None
        """When the last trial ended: events do not say when they happen, and little else takes time."""
        self._begin(None)

    def _begin(self, event: RunStarted | None) -> None:
        """Nothing is known of a run yet but its plan."""
        self.begun = event
        self.facts: Facts | None = None
        self._staging = Staging()
        self.checked = False
        self.started: TrialStarted | None = None
        self.progress: list[TrialProgress] = []
        self.trials: list[TrialResult] = []
        self.goals: tuple[GoalResult, ...] = ()
        self.steps: list[SearchStep] = []
        self.way = Progress()

    @property
    def plan(self) -> Plan | None:
        """What is done now; None before that is known."""
        return self.begun.plan if self.begun else None

    @property
    def measures(self) -> bool:
        """Whether a trial runs."""
        return self.started is not None and self.view.state is State.RUNNING

    def hear(self, name: str, content: Mapping[str, Any]) -> None:
        """Take in an event of the journal."""
        if name == STATE:
            self._hear_state(RunView.model_validate(content))
        elif name == NOTE:
            self.note = content["text"]
            self._say(self.note)
        elif name == RUN_DONE:
            self._hear_done(content)
        elif (event := decode(name, content)) is not None:
            self.way.hear(event)
            self._hear(event)

    def _hear(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._begin(event)
                self.way.hear(event)
                self.note = ""
                self._say(f"{event.plan.lab.sut_text}: {traffic_text(event.plan.traffic)}, {asked_text(event.plan)}")
                for warning in event.plan.warnings:
                    self._say(warning, grave=True)
            case StageProgress():
                if line := self._staging.line(event):
                    self._say(f"cloud: {line}")
            case StageUp():
                self.facts = event.facts
                self._say(f"lab is up, as {event.facts.stage.privilege}")
            case PathChecked():
                self.checked = True
                self._say("path checked, frames come through")
            case TrialStarted():
                self.started, self.progress = event, []
            case TrialProgress():
                self.progress = thinned([*self.progress, event])
            case TrialDone():
                self._hear_trial(event)

    def _hear_trial(self, event: TrialDone) -> None:
        result = event.result
        if result.phase == SEARCH:
            self.steps.append(self._step(result, event.goals))
        self.trials.append(result)
        self.goals, self.started = event.goals, None
        self._now_s = seconds_between(self.view.started_at or result.started_at, result.started_at) + result.duration_s
        self._say(trial_line(result))

    def _step(self, result: TrialResult, goals: tuple[GoalResult, ...]) -> SearchStep:
        begun = [trial.started_at for trial in (*self.trials, result) if trial.phase == SEARCH]
        outlook = self.started.outlook.model_dump() if self.started else {}
        before = self.steps[-1].after if self.steps else ()
        return SearchStep(
            trial_index=result.index,
            started_s=seconds_between(begun[0], begun[-1]),
            before=before,
            after=tuple(_goal_state(found) for found in goals) or before,
            **outlook,
        )

    def _hear_state(self, view: RunView) -> None:
        self.view = view
        if view.state is not State.QUEUED:
            self._say(f"run {view.state}{': ' + view.error if view.error else ''}", grave=view.state is State.FAILED)
        if view.state.is_over:
            self.started = None

    def _hear_done(self, content: Mapping[str, Any]) -> None:
        """One of its results is stored."""
        self._say(f"result {content['run_id']} is stored, {str(content['status']).replace('_', ' ')}")
        if self.begun and self.begun.place:
            found = ", ".join(f"{goal_text(each.goal)} {found_text(each)}" for each in self.goals)
            self.parts.append(Part(self.begun.place.number, self.which(), found, str(content["status"])))

    def _say(self, text: str, grave: bool = False) -> None:
        self.log.append(Said(self._now_s, text, grave))
        if len(self.log) > LOG_MAX:
            del self.log[LOG_MAX // 4 : LOG_MAX // 2]

    def result(self) -> RunResult | None:
        """What the run would leave behind if it ended now; None before it began."""
        if self.begun is None:
            return None
        return RunResult(
            run_id=self.begun.run_id,
            started_at=self.view.started_at or self.view.created_at,
            wall_s=0.0,
            status=Status.INTERRUPTED,
            plan=self.begun.plan,
            facts=self.facts,
            trials=tuple(self.trials),
            goals=self.goals,
            steps=tuple(self.steps),
        )

    def which(self) -> str:
        """Which of several runs goes on: `frame size 64, repeat 2 of 5`; empty for one by itself."""
        if not self.begun or not self.begun.place:
            return ""
        place = self.begun.place
        variant = f"{place.variant}, " if place.variant else ""
        repeat = f", repeat {place.repeat} of {place.repeat_count}" if place.repeat_count > 1 else ""
        return f"{variant}frame size {self.begun.plan.frame_size}{repeat}"

    def left_s(self) -> float | None:
        """How long this run still takes, as far as that can be told."""
        left_s = self.way.left_s() if self.measures else None
        return None if left_s is None or not math.isfinite(left_s) else left_s


def seconds_between(earlier: str, later: str) -> float:
    """Between two moments as events tell them."""
    return max(0.0, (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds())


def _goal_state(found: GoalResult) -> GoalState:
    return GoalState(
        label=found.goal.label,
        lower_pps=found.lower.load_pps if found.lower else None,
        upper_pps=found.upper.load_pps if found.upper else None,
    )
