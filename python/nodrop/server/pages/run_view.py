"""The view model of a run's page, built from the events of its journal."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from nodrop.charts.live import thin_progress
from nodrop.formatting import describe_run, describe_traffic, format_goal, format_goal_load
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
from nodrop.model.goal import GoalResult
from nodrop.model.plan import Plan
from nodrop.model.result import GoalState, RunResult, SearchDecision, Status
from nodrop.model.run_state import RunState
from nodrop.model.trial import SEARCH, TrialResult
from nodrop.report.line_progress import format_trial_line
from nodrop.report.stage_progress import StageLineFilter
from nodrop.server.rest.event_codec import decode
from nodrop.server.rest.event_names import NOTE, RUN_DONE, STATE, WAIT
from nodrop.server.rest.schemas import LifecycleState, RunView, RunWait

LOG_MAX = 400
"""Log lines kept; of a longer log, lines in the middle are dropped."""


class LogLine(NamedTuple):
    """A line of the log."""

    after_s: float | None
    """Time since the start of the run; None before."""
    text: str
    grave: bool = False


class SuiteRunRow(NamedTuple):
    """A finished run of a suite."""

    number: int
    name: str
    goals: str
    status: str


class LiveRun:
    """A run as its journal describes it so far; takes every event once, in order."""

    def __init__(self, view: RunView) -> None:
        self.view = view
        self.state = RunState()
        self.log: list[LogLine] = []
        self.suite_runs: list[SuiteRunRow] = []
        self.note = ""
        self.windows: list[TrialProgress] = []
        """Windows of the latest trial, thinned."""
        self.decisions: list[SearchDecision] = []
        self._stage_lines = StageLineFilter()
        self._now_s: float | None = None
        """End of the last trial: events carry no timestamps, and little else takes time."""

    @property
    def plan(self) -> Plan | None:
        """The plan of the current run; None before its start."""
        return self.state.plan

    @property
    def running_trial(self) -> TrialStarted | None:
        """The trial being offered."""
        return None if self.view.state.is_over else self.state.running_trial

    def handle(self, name: str, content: Mapping[str, Any]) -> None:
        """Apply an event of the journal."""
        if name == STATE:
            self._handle_lifecycle(RunView.model_validate(content))
        elif name == NOTE:
            self.note = content["text"]
            self._add_line(self.note)
        elif name == WAIT:
            self.view = self.view.replace(waiting=RunWait.model_validate(content))
        elif name == RUN_DONE:
            self._handle_stored_result(content)
        elif (event := decode(name, content)) is not None:
            self._handle_event(event)

    def _handle_event(self, event: Event) -> None:
        before, self.state = self.state, self.state.apply(event)
        match event:
            case RunStarted():
                self._start(event)
            case StageProgress():
                if line := self._stage_lines.select_line(event):
                    self._add_line(f"cloud: {line}")
            case StageUp():
                self._add_line(f"lab is up, as {event.facts.stage.privilege}")
            case PathChecked():
                self._add_line("path checked, frames come through")
            case TrialStarted():
                self.windows = []
            case TrialProgress():
                self.windows = thin_progress([*self.windows, event])
            case TrialDone():
                self._finish_trial(event, before)

    def _start(self, event: RunStarted) -> None:
        self.note, self.windows, self.decisions = "", [], []
        self.view = self.view.replace(waiting=None)
        self._stage_lines = StageLineFilter()
        plan = event.plan
        self._add_line(f"{plan.lab.sut_text}: {describe_traffic(plan.traffic)}, {describe_run(plan)}")
        for warning in plan.warnings:
            self._add_line(warning, grave=True)

    def _finish_trial(self, event: TrialDone, before: RunState) -> None:
        result = event.result
        if result.phase == SEARCH:
            self.decisions.append(self._decision(result, event.goals, before))
        self._now_s = (
            compute_seconds_between(self.view.started_at or result.started_at, result.started_at) + result.duration_s
        )
        self._add_line(format_trial_line(result))

    def _decision(self, result: TrialResult, goals: tuple[GoalResult, ...], before: RunState) -> SearchDecision:
        first = next(trial for trial in self.state.trials if trial.phase == SEARCH)
        preview = before.running_trial.outlook.model_dump() if before.running_trial else {}
        bounds_before = self.decisions[-1].after if self.decisions else ()
        return SearchDecision(
            trial_index=result.index,
            started_s=compute_seconds_between(first.started_at, result.started_at),
            before=bounds_before,
            after=tuple(GoalState.of(goal) for goal in goals) or bounds_before,
            **preview,
        )

    def _handle_lifecycle(self, view: RunView) -> None:
        self.view = view
        if view.state is not LifecycleState.QUEUED:
            error = f": {view.error}" if view.error else ""
            self._add_line(f"run {view.state}{error}", grave=view.state is LifecycleState.FAILED)

    def _handle_stored_result(self, content: Mapping[str, Any]) -> None:
        self._add_line(f"result {content['run_id']} is stored, {str(content['status']).replace('_', ' ')}")
        if position := self.state.position:
            goals = ", ".join(f"{format_goal(goal.goal)} {format_goal_load(goal)}" for goal in self.state.goals)
            self.suite_runs.append(SuiteRunRow(position.number, self.suite_run_name(), goals, str(content["status"])))

    def _add_line(self, text: str, grave: bool = False) -> None:
        self.log.append(LogLine(self._now_s, text, grave))
        if len(self.log) > LOG_MAX:
            del self.log[LOG_MAX // 4 : LOG_MAX // 2]

    def result(self) -> RunResult | None:
        """Return the result the run would store if it ended now; None before its start."""
        state = self.state
        if state.plan is None:
            return None
        return RunResult(
            run_id=state.run_id,
            started_at=self.view.started_at or self.view.created_at,
            wall_s=0.0,
            status=Status.INTERRUPTED,
            plan=state.plan,
            facts=state.facts,
            trials=state.trials,
            goals=state.goals,
            steps=tuple(self.decisions),
        )

    def suite_run_name(self) -> str:
        """Return the name of the current run of a suite: `frame size 64, repeat 2 of 5`; empty for a single run."""
        position = self.state.position
        if not position or not self.plan:
            return ""
        variant = f"{position.variant}, " if position.variant else ""
        repeat = f", repeat {position.repeat} of {position.repeat_count}" if position.repeat_count > 1 else ""
        return f"{variant}frame size {self.plan.frame_size}{repeat}"

    def remaining_s(self) -> float | None:
        """Return the expected time to the end of this run, if known."""
        is_measuring = self.running_trial is not None and self.view.state is LifecycleState.RUNNING
        remaining_s = self.state.remaining_s() if is_measuring else None
        return None if remaining_s is None or not math.isfinite(remaining_s) else remaining_s


def compute_seconds_between(earlier: str, later: str) -> float:
    """Return the time between two ISO 8601 timestamps; 0 if they are in reverse order."""
    return max(0.0, (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds())
