"""Progress for a pipe or a log: one plain line per event."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self, TextIO

from nodrop.formatting import (
    compute_reported_loss,
    describe_run,
    describe_traffic,
    format_other_load,
    format_repeat,
    format_stop_reason,
)
from nodrop.formatting.messages import format_message
from nodrop.model.event import Event, PathChecked, RunStarted, StageProgress, StageUp, TrialDone
from nodrop.model.facts import StageFacts
from nodrop.model.result import DirectionCheck
from nodrop.model.trial import FIXED, TrialResult, ValidityStatus
from nodrop.report.interval_lines import IntervalLines
from nodrop.report.stage_progress import StageLineFilter
from nodrop.units import format_pps, format_ratio, format_seconds

CHECKS_MAX = 6
"""Directions listed one by one."""


class LineProgress:
    """Prints each event as it happens, without control characters."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._interval_lines = IntervalLines()
        self._stage_lines = StageLineFilter()

    def __enter__(self) -> Self:
        """Return itself; there is nothing to set up."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing; there is nothing to clean up."""

    def handle(self, event: Event) -> None:
        """Print an event if it is worth a line."""
        for line in self._interval_lines.handle(event):
            self._print(line)
        match event:
            case RunStarted():
                what = f"{describe_traffic(event.plan.traffic)}, {describe_run(event.plan)}"
                self._print(f"run {event.run_id}{_format_position(event)}: {what}")
                for warning in event.plan.warnings:
                    self._print(f"warning: {warning}")
            case StageProgress():
                if step := self._stage_lines.select_line(event):
                    self._print(f"cloud: {step}")
            case StageUp():
                self._print(_format_stage(event.facts.stage))
                if event.facts.other_load:
                    self._print(f"note: {format_other_load(event.facts)}; stop it, or expect longer trials")
            case PathChecked():
                self._print(f"path checked, learning frames received {_format_checks(event.checks)}")
            case TrialDone():
                self._print(format_trial_line(event.result))

    def _print(self, line: str) -> None:
        print(line, file=self._out, flush=True)


class NoProgress(LineProgress):
    """Prints nothing."""

    def handle(self, event: Event) -> None:
        """Ignore the event."""


def format_trial_line(result: TrialResult) -> str:
    """Return a trial in one line: load, time, loss, doubts, and its reason."""
    verdict = result.validity.verdict
    doubts = (
        "" if verdict is ValidityStatus.VALID else f" [{verdict}: {', '.join(d.code for d in result.validity.doubts)}]"
    )
    early = f", {format_stop_reason(result)}" if result.stopped_early else ""
    return (
        f"trial {result.index}: {format_pps(result.trial.intended_load_pps)} for {format_seconds(result.duration_s)}"
        f"{early}, {_format_loss(result)}{doubts}: {format_message(result.trial.reason) or result.phase}"
    )


def _format_checks(checks: Sequence[DirectionCheck]) -> str:
    """Return the check of each direction, or the sum if there are many."""
    if len(checks) > CHECKS_MAX:
        received, sent = sum(check.received_count for check in checks), sum(check.sent_count for check in checks)
        return f"on all of {len(checks)} streams: {received}/{sent}"
    ways = (f"{check.tx_port} to {check.rx_port}: {check.received_count}/{check.sent_count}" for check in checks)
    return f"from port {', '.join(ways)}"


def _format_loss(result: TrialResult) -> str:
    loss = f"loss {format_ratio(compute_reported_loss(result))}"
    if result.phase != FIXED or not result.unsent_count:
        return loss
    return f"only {format_ratio(result.offered_count / result.intended_count)} of it sent, {loss}"


def _format_position(event: RunStarted) -> str:
    position = event.place
    if not position:
        return ""
    repeat = format_repeat(position.variant, position.repeat, position.repeat_count)
    return f" ({position.text}, frame size {event.plan.frame_size}{repeat and f', {repeat}'})"


def _format_stage(facts: StageFacts) -> str:
    ports = ", ".join(port.name for port in facts.interfaces if port.namespace == "tester")
    between = f" between {ports}" if ports else ""
    duration = f", in {format_seconds(facts.up_s)}" if facts.up_s is not None else ""
    return f"lab {facts.name} is up: SUT {facts.sut}{between}, as {facts.privilege}{duration}"
