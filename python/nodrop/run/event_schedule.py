"""Events of a trial, each carried out at its time beside the trial."""

import threading
import time
from collections.abc import Sequence
from typing import NamedTuple, Self

from nodrop.errors import StageError
from nodrop.model.trial import TrialResult
from nodrop.model.trial_event import PlannedEvent, TrialEvent
from nodrop.run.event_program import read_guest_pause_s, run_event_program
from nodrop.stage.base import Stage
from nodrop.stage.holder_protocol import InstanceChange, InstanceChanged

PROGRAM_TIMEOUT_MIN_S = 60.0
"""Time that a program has to end, even if its trial is shorter."""


class CompletedEvent(NamedTuple):
    """An event that was carried out; times in nanoseconds since the epoch."""

    name: str
    begin_ns: int
    end_ns: int
    problem: str = ""
    guest_pause_s: float | None = None


class EventSchedule:
    """The events of one trial, a context manager around it; their times count from its entry.

    The stage changes instances, a thread runs programs, and the generator changes the load. On exit, an event that is
    being carried out is awaited, and those whose time has not come are left out.
    """

    def __init__(
        self, planned: Sequence[PlannedEvent], stage: Stage, trial_duration_s: float, *, scales_out: bool = False
    ) -> None:
        """Prepare events; `scales_out` if the pool may start instances by itself."""
        self._stage = stage
        self._scales_out = scales_out
        self._changes = [event for event in planned if event.instance is not None]
        self._load_changes = [event for event in planned if event.changes_load and event.at_s > 0]
        self._programs = sorted((event for event in planned if event.runs_program), key=lambda event: event.at_s)
        self._program_timeout_s = max(PROGRAM_TIMEOUT_MIN_S, trial_duration_s)
        self._over = threading.Event()
        self._done: list[CompletedEvent] = []
        self._thread = threading.Thread(target=self._run_programs, name="trial events", daemon=True)
        self._begin_ns = 0

    def __enter__(self) -> Self:
        """Start to wait for the time of the first event. Raises StageError if the path cannot have it."""
        self._begin_ns = time.time_ns()
        if self._changes or self._scales_out:
            begin_ns = self._begin_ns if self._scales_out else None
            self._stage.schedule_changes([self._build_change(event) for event in self._changes], begin_ns)
        if self._programs:
            self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """End the schedule; never raises: a path that has ended is the problem of its last event."""
        self._over.set()
        if self._programs:
            self._thread.join()
        if self._changes or self._scales_out:
            try:
                changed = self._stage.schedule_changes(())
            except StageError as error:
                changed = tuple(
                    InstanceChanged(change=last, begin_ns=last.at_ns, end_ns=last.at_ns, problem=str(error))
                    for last in map(self._build_change, self._changes[-1:])
                )
            self._done += [
                CompletedEvent(each.change.name, each.begin_ns, each.end_ns, each.problem) for each in changed
            ]

    def describe(self, result: TrialResult) -> TrialResult:
        """Return the result with the events that were carried out."""
        done = [_describe(each, result.begin_unix_ns) for each in self._done]
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

    def _run_programs(self) -> None:
        for event in self._programs:
            if self._over.wait(max(0.0, (self._find_time_ns(event) - time.time_ns()) / 1e9)):
                return
            begin_ns, problem = time.time_ns(), ""
            try:
                run_event_program(event, self._program_timeout_s)
            except StageError as error:
                problem = str(error)
            end_ns = time.time_ns()
            pause_s = read_guest_pause_s(event.migration) if event.migration and not problem else None
            self._done.append(CompletedEvent(event.name, begin_ns, end_ns, problem, pause_s))
            if problem:
                return


def _describe(event: CompletedEvent, trial_begin_ns: int) -> TrialEvent:
    begin_s, end_s = ((each - trial_begin_ns) / 1e9 for each in (event.begin_ns, event.end_ns))
    return TrialEvent(
        name=event.name, begin_s=begin_s, end_s=end_s, problem=event.problem, guest_pause_s=event.guest_pause_s
    )
