"""The run queue: one run at a time, each in its own worker process, all events written to the journal.

The queue lives on the event loop's thread and needs no lock. The kernel kills a worker whose server is gone
(worker.py), and the lab with it.
"""

import asyncio
import contextlib
import json
import math
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from nodrop.errors import NodropError
from nodrop.model.event import RunStarted
from nodrop.model.run_state import RunState
from nodrop.run.machine_lock import get_user_name
from nodrop.server.rest.event_codec import decode
from nodrop.server.rest.event_names import NOTE, RUN_DONE, STATE, WAIT, WORKER_DONE
from nodrop.server.rest.journal import Journal
from nodrop.server.rest.problem import Problem
from nodrop.server.rest.schemas import LifecycleState, RunEntry, RunView, RunWait, make_run_view
from nodrop.server.rest.server_config import ServerConfig

WORKER = (sys.executable, "-m", "nodrop.server.rest.worker")
QUEUED_MAX = 64
"""Longest queue."""
LINE_BYTES_MAX = 2**26
"""Longest event line of a worker."""
KEEP_ALIVE_S = 15.0
"""Longest silence on an event stream."""
INTERRUPTED_CODE = 128 + signal.SIGINT


class StopTimeouts(NamedTuple):
    """Time a worker has to stop."""

    after_interrupt_s: float = 20.0
    """The worker tears down the lab and stores its measurements."""
    after_terminate_s: float = 5.0
    """Then the worker is killed."""


class RunQueue:
    """All runs of the server, and the worker of the running one."""

    def __init__(
        self,
        journal: Journal,
        config: ServerConfig,
        command: Sequence[str] = WORKER,
        timeouts: StopTimeouts | None = None,
    ) -> None:
        self._journal = journal
        self._config = config
        self._command = tuple(command)
        self._timeouts = timeouts or StopTimeouts()
        self._entries: dict[str, RunEntry] = {}
        self._queue: list[str] = []
        self._running: str | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._stop_reason: tuple[LifecycleState, str] | None = None
        """State and error of a run that is being stopped."""
        self._state = RunState()
        self._waiting: RunWait | None = None
        """The reason for which the running run waits."""
        self._stopped = False
        self._changed = asyncio.Event()

    @property
    def running(self) -> RunEntry | None:
        """The running run."""
        return self._entries[self._running] if self._running else None

    @property
    def current(self) -> RunEntry | None:
        """The running run, or else the next one."""
        return self.running or (self._entries[self._queue[0]] if self._queue else None)

    @property
    def running_state(self) -> RunState | None:
        """The state of the running run; None before its worker reports the start."""
        return self._state if self._state.plan else None

    @property
    def queued_count(self) -> int:
        """Number of waiting runs."""
        return len(self._queue)

    def find(self, run_id: str) -> RunEntry:
        """Return a run by its id. Raises Problem."""
        entry = self._entries.get(run_id)
        if entry is None:
            raise Problem(
                404,
                f"run {run_id[:40]!r} not found; list runs with GET /api/v1/runs",
                page_detail=f"This server has no run {run_id[:40]}. Runs of 'nodrop run' are among the results.",
            )
        return entry

    def show(self, entry: RunEntry) -> RunView:
        """Return the public view of a run."""
        if entry.id in self._queue:
            return make_run_view(entry, self._queue.index(entry.id) + 1, self._describe_running())
        return make_run_view(entry, None, self._waiting if entry.id == self._running else None)

    def _describe_running(self) -> RunWait | None:
        """Return the running run as the reason for which the others wait; None without one."""
        if self.running is None:
            return None
        remaining_s = self._state.remaining_s() if self._state.position is None else None
        return RunWait(
            run_id=self._state.run_id or None,
            user=get_user_name(os.geteuid()),
            process_id=self._process.pid if self._process else None,
            since=self.running.started_at,
            resource=None,
            remaining_s=remaining_s if remaining_s is not None and math.isfinite(remaining_s) else None,
        )

    def newest_first(self) -> list[RunEntry]:
        """Return all runs."""
        return list(reversed(self._entries.values()))

    def event_count(self, run_id: str) -> int:
        """Count the events of a run so far."""
        return self._journal.event_count(run_id)

    def create(self, body: Mapping[str, Any], notes: Iterable[str] = ()) -> RunEntry:
        """Queue a run with a checked body and notes to the user. Raises Problem if the queue is full."""
        if len(self._queue) >= QUEUED_MAX:
            raise Problem(503, f"the queue is full ({QUEUED_MAX} runs); retry later or cancel a run")
        entry = RunEntry(id=uuid.uuid4().hex, state=LifecycleState.QUEUED, asked=dict(body), created_at=_format_now())
        self._queue.append(entry.id)
        try:
            self._save(entry)
        except Exception:
            self._queue.remove(entry.id)  # a run that cannot be recorded is not carried out
            del self._entries[entry.id]
            raise
        for note in notes:
            self._journal.append_event(entry.id, NOTE, {"text": note})
        return entry

    def cancel(self, run_id: str) -> RunEntry:
        """Remove a run from the queue, or start to stop its worker. Raises Problem."""
        entry = self.find(run_id)
        if entry.state.is_over:
            raise Problem(409, f"run {run_id} is already over ({entry.state})")
        if run_id in self._queue:
            self._queue.remove(run_id)
            self._finish(entry, LifecycleState.CANCELLED, "cancelled before it began", INTERRUPTED_CODE)
        elif self._stop_reason is None:
            self._stop_reason = LifecycleState.CANCELLED, "cancelled"
            self._notify()
        return self.find(run_id)

    def mark_fetched(self, entry: RunEntry) -> None:
        """Record that NFVbench's /status has reported the end of a run."""
        if not entry.fetched:
            self._save(entry.replace(fetched=True), publish=False)

    async def events(self, run_id: str, after: int) -> AsyncIterator[tuple[int, bytes] | None]:
        """Yield number and line of each event of a run until it is over; None after a long silence."""
        number, offset = 0, 0
        while True:
            changed, is_over = self._changed, self.find(run_id).state.is_over
            lines, offset = self._journal.events_after(run_id, offset)
            for line in lines:
                number += 1
                if number > after:
                    yield number, line
            if lines:
                await asyncio.sleep(0)  # there may be many; let other tasks run
                continue
            if is_over or self._stopped:
                return
            try:
                await asyncio.wait_for(changed.wait(), KEEP_ALIVE_S)
            except TimeoutError:
                yield None

    def resume(self) -> None:
        """Load the journal: queue the runs that waited, end the run that the last server left."""
        for entry in self._journal.entries():
            self._entries[entry.id] = entry
            if entry.state is LifecycleState.RUNNING:
                self._journal.truncate_partial_event(entry.id)
                self._finish(entry, LifecycleState.INTERRUPTED, "the server ended during this run", INTERRUPTED_CODE)
            elif entry.state is LifecycleState.QUEUED:
                self._queue.append(entry.id)

    async def serve(self) -> None:
        """Carry out one run after the other until stopped."""
        while not self._stopped:
            changed = self._changed
            if not self._queue:
                await changed.wait()
                continue
            entry = self._entries[self._queue.pop(0)]
            self._running, self._stop_reason = entry.id, None
            try:
                self._save(entry.replace(state=LifecycleState.RUNNING, started_at=_format_now()))
                state, error, exit_code = await self._carry_out(entry.id)
            except Exception as fault:  # must not keep the next run from starting
                state, exit_code = LifecycleState.FAILED, 1
                error = f"the server failed to carry out the run: {type(fault).__name__}: {fault}"
            self._running, self._state, self._waiting = None, RunState(), None
            self._finish(self._entries[entry.id], state, error, exit_code)

    def stop(self) -> None:
        """Start no further run and stop the running one; `serve` returns once that run is over."""
        self._stopped = True
        self._stop_reason = self._stop_reason or (LifecycleState.INTERRUPTED, "the server was stopped during this run")
        self._notify()

    async def _carry_out(self, run_id: str) -> tuple[LifecycleState, str | None, int]:
        """Run a worker to its end; returns state, error and exit code of the run."""
        with self._journal.log_file(run_id).open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                str(os.getpid()),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                limit=LINE_BYTES_MAX,
                start_new_session=True,  # Ctrl-C on the server's terminal must not reach the worker
            )
        self._process = process
        ending = asyncio.create_task(self._stop_on_request(process))
        try:
            await self._send_request(process, run_id)
            reply = await self._read_events(process, run_id)
            exit_status = await process.wait()
        finally:
            ending.cancel()
            if process.returncode is None:
                process.kill()
        return self._outcome(run_id, reply, exit_status)

    def _outcome(
        self, run_id: str, reply: dict[str, Any] | None, exit_status: int
    ) -> tuple[LifecycleState, str | None, int]:
        if reply and reply["exit_code"] == 0:
            return LifecycleState.COMPLETE, None, 0
        if self._stop_reason:
            return *self._stop_reason, INTERRUPTED_CODE
        if reply:
            return LifecycleState.FAILED, reply["error"], reply["exit_code"]
        cause = signal.Signals(-exit_status).name if exit_status < 0 else f"exit status {exit_status}"
        log = self._journal.log_file(run_id)
        return LifecycleState.FAILED, f"the worker process ended early ({cause}); see its log {log}", 1

    async def _send_request(self, process: asyncio.subprocess.Process, run_id: str) -> None:
        """Send the request. A worker that is gone already sends no reply."""
        assert process.stdin
        request = {"config": self._config.model_dump(mode="json"), "body": self._entries[run_id].asked}
        with contextlib.suppress(ConnectionError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            await process.stdin.drain()
        process.stdin.close()

    async def _read_events(self, process: asyncio.subprocess.Process, run_id: str) -> dict[str, Any] | None:
        """Write the events of a worker to the journal; returns its final reply."""
        assert process.stdout
        reply = None
        async for line in process.stdout:
            message = json.loads(line)
            if message["event"] == WORKER_DONE:
                reply = message["data"]
                continue
            self._journal.append_line(run_id, line)
            if message["event"] == WAIT:
                self._waiting = RunWait.model_validate(message["data"])
            if event := decode(message["event"], message["data"]):
                self._waiting = None if isinstance(event, RunStarted) else self._waiting
                self._state = self._state.apply(event)
            if message["event"] == RUN_DONE:
                self._add_result(run_id, message["data"]["run_id"])
            self._notify()
        return reply

    def _add_result(self, run_id: str, result_id: str) -> None:
        entry = self._entries[run_id]
        self._save(entry.replace(run_ids=(*entry.run_ids, result_id)), publish=False)

    async def _stop_on_request(self, process: asyncio.subprocess.Process) -> None:
        """Wait for a request to stop, then send the worker ever stronger signals."""
        while True:
            changed = self._changed
            if self._stop_reason:
                break
            await changed.wait()
        timeouts = self._timeouts
        for number, wait_s in (
            (signal.SIGINT, timeouts.after_interrupt_s),
            (signal.SIGTERM, timeouts.after_terminate_s),
            (signal.SIGKILL, None),
        ):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), wait_s)
                return

    def _finish(self, entry: RunEntry, state: LifecycleState, error: str | None, exit_code: int) -> None:
        over = {"state": state, "error": error, "exit_code": exit_code, "ended_at": _format_now()}
        # A full disk must not keep the next run from starting: this one is over in memory all the same.
        with contextlib.suppress(NodropError, OSError):
            self._save(entry.replace(**over))

    def _save(self, entry: RunEntry, publish: bool = True) -> None:
        self._entries[entry.id] = entry
        try:
            self._journal.save(entry)
            if publish:
                self._journal.append_event(entry.id, STATE, self.show(entry).model_dump(mode="json"))
        finally:
            self._notify()

    def _notify(self) -> None:
        """Wake all tasks that wait for a change."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _format_now() -> str:
    return datetime.now(UTC).isoformat()
