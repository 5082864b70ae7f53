"""The events of a run as log records: trials at INFO, failures at ERROR.

WARNING is for doubts about a figure of the result. Most searches try loads that the tester cannot send, so doubts about
a trial are details unless a figure depends on the trial.
"""

import logging

from nodrop.formatting import describe_run, describe_traffic, format_goal, format_goal_load, format_repeat
from nodrop.formatting.messages import format_message
from nodrop.model.event import (
    Event,
    PathChecked,
    RunDone,
    RunStarted,
    StageProgress,
    StageUp,
    SuiteDone,
    TrialDone,
    TrialStarted,
)
from nodrop.model.goal import GoalResult
from nodrop.model.result import RunResult, Status
from nodrop.model.suite import SuiteRun
from nodrop.model.trial import FIXED
from nodrop.report.document.warnings import list_serious_doubts
from nodrop.report.interval_lines import IntervalLines
from nodrop.report.line_progress import format_trial_line
from nodrop.report.stage_progress import StageLineFilter, format_stage_step
from nodrop.system.log_files import FIELDS, LOGGER
from nodrop.units import format_pps, format_seconds

ENDINGS = {Status.FAILED: logging.ERROR, Status.TIMED_OUT: logging.ERROR, Status.INTERRUPTED: logging.WARNING}


class EventLog:
    """Logs the events of a run to the logger `nodrop`; an OnEvent."""

    def __init__(self) -> None:
        self._run_id = ""
        self._interval_lines = IntervalLines()
        self._stage_lines = StageLineFilter()

    def __call__(self, event: Event) -> None:
        """Log an event if it is worth a record."""
        for line in self._interval_lines.handle(event):
            self._log(logging.INFO, line)
        match event:
            case RunStarted():
                self._run_id = event.run_id
                self._log_start(event)
            case StageProgress():
                level = logging.INFO if self._stage_lines.select_line(event) else logging.DEBUG
                self._log(level, f"cloud: {format_stage_step(event)}")
            case StageUp():
                stage = event.facts.stage
                self._log(logging.INFO, f"lab {stage.name} is up: SUT {stage.sut}, as {stage.privilege}")
            case PathChecked():
                for check in event.checks:
                    self._log(
                        logging.INFO,
                        f"path checked: port {check.tx_port} to {check.rx_port}, {check.received_count} of "
                        f"{check.sent_count} frames",
                    )
            case TrialStarted():
                load, duration = format_pps(event.trial.intended_load_pps), format_seconds(event.trial.duration_s)
                self._log(logging.DEBUG, f"trial {event.index} begins: {load} for {duration}", trial=event.index)
            case TrialDone():
                self._log_trial(event)
            case RunDone():
                self._log_end(event.result, event.path)
            case SuiteDone():
                suite = event.suite
                runs = ", ".join(f"{_format_run(run, suite.repeat_count)} {run.status}" for run in suite.runs)
                self._log(logging.INFO, f"suite {suite.suite_id} is {suite.status}: {runs}", suite_id=suite.suite_id)

    def _log_start(self, event: RunStarted) -> None:
        plan, position = event.plan, event.place
        repeat = format_repeat(position.variant, position.repeat, position.repeat_count) if position else ""
        which = f" ({position.text}{repeat and f', {repeat}'})" if position else ""
        what = f"{plan.lab.sut_text}, {describe_traffic(plan.traffic)}, {describe_run(plan)}"
        self._log(logging.INFO, f"run {event.run_id}{which}: {what}", frame_size=plan.frame_size)
        for warning in plan.warnings:
            self._log(logging.WARNING, warning)

    def _log_trial(self, event: TrialDone) -> None:
        result = event.result
        has_unsent = result.phase == FIXED and result.unsent_count
        self._log(
            logging.WARNING if has_unsent else logging.INFO,
            format_trial_line(result),
            trial=result.index,
            phase=result.phase,
            intended_load_pps=result.trial.intended_load_pps,
            offered_load_pps=result.offered_load_pps,
            loss_ratio=result.loss_ratio,
            verdict=str(result.validity.verdict),
        )
        for doubt in result.validity.doubts:
            self._log(
                logging.DEBUG, f"trial {result.index}: {format_message(doubt)}", trial=result.index, code=doubt.code
            )

    def _log_end(self, result: RunResult, path: str | None) -> None:
        for goal_result in result.goals:
            self._log_goal(goal_result)
        for line in list_serious_doubts(result):
            self._log(logging.WARNING, line)
        for finding in result.findings:
            self._log(logging.INFO, format_message(finding), code=finding.code)
        if path is None:
            self._log(logging.ERROR, "the result could not be stored")
        ended = result.status.replace("_", " ")
        ending = f"run {result.run_id} is {ended} after {format_seconds(round(result.wall_s))}"
        stored = f", result in {path}" if path else ""
        why = f": {result.error}" if result.error else ""
        self._log(ENDINGS.get(result.status, logging.INFO), f"{ending}{stored}{why}", status=str(result.status))

    def _log_goal(self, goal_result: GoalResult) -> None:
        """Log the result of a goal: a WARNING if the tester was the limit, an ERROR without any load."""
        explanation = format_message(goal_result.explanation)
        level = logging.WARNING if goal_result.limit.is_tester else logging.INFO
        if not goal_result.lower and goal_result.estimate_pps is None:
            level = logging.ERROR
        self._log(
            level,
            f"{format_goal(goal_result.goal)}: {format_goal_load(goal_result)}. {explanation}",
            goal=goal_result.goal.label,
            load_pps=goal_result.lower.load_pps if goal_result.lower else None,
        )
        for flag in goal_result.flags:
            self._log(
                logging.INFO,
                f"{goal_result.goal.label}: {format_message(flag)}",
                goal=goal_result.goal.label,
                code=flag.code,
            )

    def _log(self, level: int, message: str, **fields: object) -> None:
        LOGGER.log(level, message, extra={FIELDS: {"run_id": self._run_id, **fields}})


def _format_run(run: SuiteRun, repeat_count: int) -> str:
    repeat = format_repeat(run.variant, run.repeat, repeat_count)
    return f"{run.frame_size} {repeat}" if repeat else run.frame_size
