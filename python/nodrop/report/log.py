"""What happens in a run, as log records: trials at INFO, failures at ERROR.

A warning is what speaks against a figure of the result. Most searches try loads that the tester cannot send, so what
speaks against a trial is only a detail until a figure rests on it.
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
from nodrop.report.interval_lines import Intervals
from nodrop.report.line_progress import trial_line
from nodrop.report.stage_progress import Staging, staging_text
from nodrop.system.log_files import FIELDS, LOGGER
from nodrop.units import format_pps, format_seconds

ENDINGS = {Status.FAILED: logging.ERROR, Status.TIMED_OUT: logging.ERROR, Status.INTERRUPTED: logging.WARNING}


class EventLog:
    """Says to the logger `nodrop` what a run says; an OnEvent."""

    def __init__(self) -> None:
        self._run_id = ""
        self._intervals = Intervals()
        self._staging = Staging()

    def __call__(self, event: Event) -> None:
        """Log what happened, if it is worth a line."""
        for line in self._intervals.hear(event):
            self._say(logging.INFO, line)
        match event:
            case RunStarted():
                self._run_id = event.run_id
                self._started(event)
            case StageProgress():
                level = logging.INFO if self._staging.line(event) else logging.DEBUG
                self._say(level, f"cloud: {staging_text(event)}")
            case StageUp():
                stage = event.facts.stage
                self._say(logging.INFO, f"lab {stage.name} is up: SUT {stage.sut}, as {stage.privilege}")
            case PathChecked():
                for check in event.checks:
                    self._say(
                        logging.INFO,
                        f"path checked: port {check.tx_port} to {check.rx_port}, {check.received_count} of "
                        f"{check.sent_count} frames",
                    )
            case TrialStarted():
                load, asked_s = format_pps(event.trial.intended_load_pps), format_seconds(event.trial.duration_s)
                self._say(logging.DEBUG, f"trial {event.index} begins: {load} for {asked_s}", trial=event.index)
            case TrialDone():
                self._trial_done(event)
            case RunDone():
                self._done(event.result, event.path)
            case SuiteDone():
                suite = event.suite
                runs = ", ".join(f"{_run_text(run, suite.repeat_count)} {run.status}" for run in suite.runs)
                self._say(logging.INFO, f"suite {suite.suite_id} is {suite.status}: {runs}", suite_id=suite.suite_id)

    def _started(self, event: RunStarted) -> None:
        plan, place = event.plan, event.place
        turn = format_repeat(place.variant, place.repeat, place.repeat_count) if place else ""
        which = f" ({place.number} of {place.count}{turn and f', {turn}'})" if place else ""
        what = f"{plan.lab.sut_text}, {describe_traffic(plan.traffic)}, {describe_run(plan)}"
        self._say(logging.INFO, f"run {event.run_id}{which}: {what}", frame_size=plan.frame_size)
        for warning in plan.warnings:
            self._say(logging.WARNING, warning)

    def _trial_done(self, event: TrialDone) -> None:
        result = event.result
        fell_short = result.phase == FIXED and result.unsent_count
        self._say(
            logging.WARNING if fell_short else logging.INFO,
            trial_line(result),
            trial=result.index,
            phase=result.phase,
            intended_load_pps=result.trial.intended_load_pps,
            offered_load_pps=result.offered_load_pps,
            loss_ratio=result.loss_ratio,
            verdict=str(result.validity.verdict),
        )
        for doubt in result.validity.doubts:
            self._say(logging.DEBUG, f"trial {result.index}: {doubt.text}", trial=result.index, code=doubt.code)

    def _done(self, result: RunResult, path: str | None) -> None:
        for found in result.goals:
            self._found(found)
        for line in list_serious_doubts(result):
            self._say(logging.WARNING, line)
        for finding in result.findings:
            self._say(logging.INFO, format_message(finding), code=finding.code)
        if path is None:
            self._say(logging.ERROR, "the result could not be stored")
        ended = result.status.replace("_", " ")
        ending = f"run {result.run_id} is {ended} after {format_seconds(round(result.wall_s))}"
        stored = f", result in {path}" if path else ""
        why = f": {result.error}" if result.error else ""
        self._say(ENDINGS.get(result.status, logging.INFO), f"{ending}{stored}{why}", status=str(result.status))

    def _found(self, found: GoalResult) -> None:
        """A goal's result; a load that nobody can trust to be the SUT's is a doubt, none at all a failure."""
        level = logging.WARNING if found.limit.is_tester else logging.INFO
        if not found.lower and found.estimate_pps is None:
            level = logging.ERROR
        self._say(
            level,
            f"{format_goal(found.goal)}: {format_goal_load(found)}. {format_message(found.explanation)}",
            goal=found.goal.label,
            load_pps=found.lower.load_pps if found.lower else None,
        )
        for flag in found.flags:
            self._say(
                logging.INFO, f"{found.goal.label}: {format_message(flag)}", goal=found.goal.label, code=flag.code
            )

    def _say(self, level: int, message: str, **fields: object) -> None:
        LOGGER.log(level, message, extra={FIELDS: {"run_id": self._run_id, **fields}})


def _run_text(run: SuiteRun, repeat_count: int) -> str:
    turn = format_repeat(run.variant, run.repeat, repeat_count)
    return f"{run.frame_size} {turn}" if turn else run.frame_size
