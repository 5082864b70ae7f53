"""Progress for a pipe or a log: one plain line per event."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self, TextIO

from nodrop.formatting import compute_reported_loss, describe_run, describe_traffic, format_repeat, format_stop_reason
from nodrop.formatting.messages import format_message
from nodrop.model.event import Event, PathChecked, RunStarted, StageProgress, StageUp, TrialDone
from nodrop.model.facts import StageFacts
from nodrop.model.result import DirectionCheck
from nodrop.model.trial import FIXED, TrialResult, ValidityStatus
from nodrop.report.interval_lines import Intervals
from nodrop.report.stage_progress import Staging
from nodrop.units import format_pps, format_ratio, format_seconds

CHECKS_MAX = 6
"""Ways that are told one by one."""


class LineProgress:
    """Says what happened when it happened, with no control characters at all."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._intervals = Intervals()
        self._staging = Staging()

    def __enter__(self) -> Self:
        """Nothing to set up."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to clear away."""

    def hear(self, event: Event) -> None:
        """Print what happened, if it is worth a line."""
        for line in self._intervals.hear(event):
            self._say(line)
        match event:
            case RunStarted():
                what = f"{describe_traffic(event.plan.traffic)}, {describe_run(event.plan)}"
                self._say(f"run {event.run_id}{_place_text(event)}: {what}")
            case StageProgress():
                if step := self._staging.line(event):
                    self._say(f"cloud: {step}")
            case StageUp():
                self._say(_stage_line(event.facts.stage))
            case PathChecked():
                self._say(f"path checked, learning frames received {_checks_text(event.checks)}")
            case TrialDone():
                self._say(trial_line(event.result))

    def _say(self, line: str) -> None:
        print(line, file=self._out, flush=True)


class NoProgress(LineProgress):
    """Says nothing."""

    def hear(self, event: Event) -> None:
        """Let it pass."""


def trial_line(result: TrialResult) -> str:
    """A trial in one line: load, time, loss, doubts, and why the search wanted it."""
    verdict = result.validity.verdict
    doubts = (
        "" if verdict is ValidityStatus.VALID else f" [{verdict}: {', '.join(d.code for d in result.validity.doubts)}]"
    )
    early = f", {format_stop_reason(result)}" if result.stopped_early else ""
    return (
        f"trial {result.index}: {format_pps(result.trial.intended_load_pps)} for {format_seconds(result.duration_s)}"
        f"{early}, {_loss_text(result)}{doubts}: {format_message(result.trial.reason) or result.phase}"
    )


def _checks_text(checks: Sequence[DirectionCheck]) -> str:
    """Way by way, or of all together where there are many."""
    if len(checks) > CHECKS_MAX:
        received, sent = sum(check.received_count for check in checks), sum(check.sent_count for check in checks)
        return f"on all of {len(checks)} streams: {received}/{sent}"
    ways = (f"{check.tx_port} to {check.rx_port}: {check.received_count}/{check.sent_count}" for check in checks)
    return f"from port {', '.join(ways)}"


def _loss_text(result: TrialResult) -> str:
    loss = f"loss {format_ratio(compute_reported_loss(result))}"
    if result.phase != FIXED or not result.unsent_count:
        return loss
    return f"only {format_ratio(result.offered_count / result.intended_count)} of it sent, {loss}"


def _place_text(event: RunStarted) -> str:
    place = event.place
    if not place:
        return ""
    turn = format_repeat(place.variant, place.repeat, place.repeat_count)
    return f" ({place.number} of {place.count}, frame size {event.plan.frame_size}{turn and f', {turn}'})"


def _stage_line(facts: StageFacts) -> str:
    ports = ", ".join(port.name for port in facts.interfaces if port.namespace == "tester")
    between = f" between {ports}" if ports else ""
    took = f", in {format_seconds(facts.up_s)}" if facts.up_s is not None else ""
    return f"lab {facts.name} is up: SUT {facts.sut}{between}, as {facts.privilege}{took}"
