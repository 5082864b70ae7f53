"""Events of a trial, each carried out at its time beside the trial."""

import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Self

from nodrop.errors import StageError
from nodrop.model.trial import TrialResult
from nodrop.model.trial_event import PlannedEvent, TrialEvent
from nodrop.stage.base import Stage
from nodrop.stage.holder_protocol import InstanceChange, InstanceChanged

COMMAND_TIMEOUT_S = 60.0


class EventSchedule:
    """The events of one trial, a context manager around it; their times count from its entry.

    The stage changes instances, a thread runs commands, and the generator changes the load. On exit, an event that is
    being carried out is awaited, and those whose time has not come are left out.
    """

    def __init__(self, planned: Sequence[PlannedEvent], stage: Stage, *, scales_out: bool = False) -> None:
        """Prepare events; `scales_out` if the pool may start instances by itself."""
        self._stage = stage
        self._scales_out = scales_out
        self._changes = [event for event in planned if event.instance is not None]
        self._load_changes = [event for event in planned if event.changes_load and event.at_s > 0]
        self._commands = sorted((event for event in planned if event.action == "command"), key=lambda event: event.at_s)
        self._over = threading.Event()
        self._done: list[_Times] = []
        self._thread = threading.Thread(target=self._run_commands, name="trial events", daemon=True)
        self._begin_ns = 0

    def __enter__(self) -> Self:
        """Start to wait for the time of the first event. Raises StageError if the path cannot have it."""
        self._begin_ns = time.time_ns()
        if self._changes or self._scales_out:
            begin_ns = self._begin_ns if self._scales_out else None
            self._stage.schedule_changes([self._build_change(event) for event in self._changes], begin_ns)
        if self._commands:
            self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """End the schedule; never raises: a path that has ended is the problem of its last event."""
        self._over.set()
        if self._commands:
            self._thread.join()
        if self._changes or self._scales_out:
            try:
                changed = self._stage.schedule_changes(())
            except StageError as error:
                changed = tuple(
                    InstanceChanged(change=last, begin_ns=last.at_ns, end_ns=last.at_ns, problem=str(error))
                    for last in map(self._build_change, self._changes[-1:])
                )
            self._done += [(each.change.name, each.begin_ns, each.end_ns, each.problem) for each in changed]

    def describe(self, result: TrialResult) -> TrialResult:
        """Return the result with the events that were carried out."""
        done = [_describe(times, result.begin_unix_ns) for times in self._done]
        load_changes = [
            TrialEvent(name=event.name, begin_s=event.at_s, end_s=event.at_s)
            for event in self._load_changes
            if event.at_s < result.duration_s
        ]
        return result.replace(events=tuple(sorted(done + load_changes, key=lambda event: event.begin_s)))

    def _build_change(self, event: PlannedEvent) -> InstanceChange:
        assert event.instance is not None
        return InstanceChange.model_validate(
            {"at_ns": self._find_time_ns(event), "action": event.action, "instance": event.instance}
        )

    def _find_time_ns(self, event: PlannedEvent) -> int:
        return self._begin_ns + round(event.at_s * 1e9)

    def _run_commands(self) -> None:
        for event in self._commands:
            if self._over.wait(max(0.0, (self._find_time_ns(event) - time.time_ns()) / 1e9)):
                return
            begin_ns, problem = time.time_ns(), ""
            try:
                _run_command(event)
            except StageError as error:
                problem = str(error)
            self._done.append((event.name, begin_ns, time.time_ns(), problem))
            if problem:
                return


_Times = tuple[str, int, int, str]
"""Name of an event, its begin and end in nanoseconds since the epoch, and why it failed."""


def _run_command(event: PlannedEvent) -> None:
    """Run the command of an event until it ends. Raises StageError if it fails."""
    try:
        done = subprocess.run(
            event.command, capture_output=True, text=True, errors="replace", timeout=COMMAND_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise StageError(
            f"event '{event.name}': no end within {COMMAND_TIMEOUT_S:g} s; use a command that returns"
        ) from None
    except OSError as error:
        raise StageError(f"event '{event.name}': cannot run {event.command[0]} ({error.strerror})") from None
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise StageError(f"event '{event.name}': exit status {done.returncode}{f': {last[0]}' if last else ''}")


def _describe(times: _Times, trial_begin_ns: int) -> TrialEvent:
    name, begin_ns, end_ns, problem = times
    begin_s, end_s = ((each - trial_begin_ns) / 1e9 for each in (begin_ns, end_ns))
    return TrialEvent(name=name, begin_s=begin_s, end_s=end_s, problem=problem)
