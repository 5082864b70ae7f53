"""The queue: one run at a time, each in a worker process of its own, everything told to the journal.

All of it lives on the event loop's thread, so nothing here needs a lock. The kernel kills a worker whose server is
gone (worker.py), and with the worker its lab.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from nodrop.errors import NodropError
from nodrop.export.openmetrics import Running, RunWatch
from nodrop.server.rest.event_codec import RUN_DONE, STATE, WORKER_DONE, decode
from nodrop.server.rest.journal import Journal
from nodrop.server.rest.problem import Problem
from nodrop.server.rest.schemas import Entry, RunView, State, view
from nodrop.server.rest.server_config import Base

WORKER = (sys.executable, "-m", "nodrop.server.rest.worker")
QUEUED_MAX = 64
"""Runs that may wait."""
LINE_BYTES_MAX = 2**26
"""An event of a worker."""
KEEP_ALIVE_S = 15.0
"""How long who follows a run hears nothing at most."""
INTERRUPTED_CODE = 128 + signal.SIGINT


class Patience(NamedTuple):
    """How long a worker may take to end, in seconds."""

    after_interrupt_s: float = 20.0
    """It brings the lab down and stores what was measured."""
    after_terminate_s: float = 5.0
    """Then it is killed."""


class Runs:
    """Every run the server knows of, and the one that goes on."""

    def __init__(
        self, journal: Journal, base: Base, command: Sequence[str] = WORKER, patience: Patience | None = None
    ) -> None:
        self._journal = journal
        self._base = base
        self._command = tuple(command)
        self._patience = patience or Patience()
        self._entries: dict[str, Entry] = {}
        self._queue: list[str] = []
        self._running: str | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._ending: tuple[State, str] | None = None
        """What a run that is made to end will be, and why."""
        self._watch = RunWatch()
        self._stopped = False
        self._changed = asyncio.Event()

    # What there is

    @property
    def running(self) -> Entry | None:
        """The run that goes on."""
        return self._entries[self._running] if self._running else None

    @property
    def current(self) -> Entry | None:
        """The run that goes on, or else the one that is next."""
        return self.running or (self._entries[self._queue[0]] if self._queue else None)

    @property
    def now(self) -> Running | None:
        """What it measures now."""
        return self._watch.now

    @property
    def queued_count(self) -> int:
        """Runs that wait."""
        return len(self._queue)

    def find(self, run_id: str) -> Entry:
        """The run of an id. Raises Problem when there is none."""
        entry = self._entries.get(run_id)
        if entry is None:
            raise Problem(404, f"run {run_id[:40]!r} asked, there is none of that id; GET /api/v1/runs lists them")
        return entry

    def show(self, entry: Entry) -> RunView:
        """A run as others see it."""
        return view(entry, self._queue.index(entry.id) + 1 if entry.id in self._queue else None)

    def newest_first(self) -> list[Entry]:
        """All of them."""
        return list(reversed(self._entries.values()))

    def event_count(self, run_id: str) -> int:
        """Events of a run so far."""
        return self._journal.event_count(run_id)

    # What may be asked of it

    def create(self, body: Mapping[str, Any]) -> Entry:
        """Queue a run whose body has been checked. Raises Problem when too many wait."""
        if len(self._queue) >= QUEUED_MAX:
            raise Problem(503, f"a run asked, {QUEUED_MAX} wait already; try again when some are done, or cancel one")
        entry = Entry(id=uuid.uuid4().hex, state=State.QUEUED, asked=dict(body), created_at=_now())
        self._queue.append(entry.id)
        try:
            self._keep(entry)
        except Exception:
            self._queue.remove(entry.id)  # what cannot be written down is not done either
            del self._entries[entry.id]
            raise
        return entry

    def cancel(self, run_id: str) -> Entry:
        """Take a run out of the queue, or have its worker end; it is over a little later. Raises Problem."""
        entry = self.find(run_id)
        if entry.state.is_over:
            raise Problem(409, f"the end of run {run_id} asked, it is over already ({entry.state})")
        if run_id in self._queue:
            self._queue.remove(run_id)
            self._end(entry, State.CANCELLED, "cancelled before it began", INTERRUPTED_CODE)
        elif self._ending is None:
            self._ending = State.CANCELLED, "cancelled"
            self._tell_change()
        return self.find(run_id)

    def mark_fetched(self, entry: Entry) -> None:
        """Remember that NFVbench's /status has told the end of a run."""
        if not entry.fetched:
            self._keep(entry.model_copy(update={"fetched": True}), told=False)

    async def events(self, run_id: str, after: int) -> AsyncIterator[tuple[int, bytes] | None]:
        """Number and line of each event of a run, as they come, until it is over; None now and then when none comes."""
        number, offset = 0, 0
        while True:
            changed, is_over = self._changed, self.find(run_id).state.is_over
            lines, offset = self._journal.events_after(run_id, offset)
            for line in lines:
                number += 1
                if number > after:
                    yield number, line
            if lines:
                await asyncio.sleep(0)  # there may be many, and others have a turn too
                continue
            if is_over or self._stopped:
                return
            try:
                await asyncio.wait_for(changed.wait(), KEEP_ALIVE_S)
            except TimeoutError:
                yield None

    # Carrying them out

    def resume(self) -> None:
        """Take up what the journal has: what waited waits, and a run that the last server left is over."""
        for entry in self._journal.entries():
            self._entries[entry.id] = entry
            if entry.state is State.RUNNING:
                self._journal.mend_events(entry.id)
                self._end(entry, State.INTERRUPTED, "the server ended while this run went on", INTERRUPTED_CODE)
            elif entry.state is State.QUEUED:
                self._queue.append(entry.id)

    async def serve(self) -> None:
        """One run after the other, until stopped."""
        while not self._stopped:
            changed = self._changed
            if not self._queue:
                await changed.wait()
                continue
            entry = self._entries[self._queue.pop(0)]
            self._running, self._ending = entry.id, None
            try:
                self._keep(entry.model_copy(update={"state": State.RUNNING, "started_at": _now()}))
                state, error, exit_code = await self._carry_out(entry.id)
            except Exception as mishap:  # whatever it was, the next run shall go
                state, exit_code = State.FAILED, 1
                error = f"the server could not carry it out, {type(mishap).__name__}: {mishap}"
            self._running, self._watch = None, RunWatch()
            self._end(self._entries[entry.id], state, error, exit_code)

    def stop(self) -> None:
        """Begin no further run, and have the one that goes on end; `serve` returns when it has."""
        self._stopped = True
        self._ending = self._ending or (State.INTERRUPTED, "the server was stopped while this run went on")
        self._tell_change()

    async def _carry_out(self, run_id: str) -> tuple[State, str | None, int]:
        """State, error and exit code that a worker leaves a run in."""
        with self._journal.log_file(run_id).open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                str(os.getpid()),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                limit=LINE_BYTES_MAX,
                start_new_session=True,  # Ctrl-C on the server's terminal is not for the worker
            )
        ending = asyncio.create_task(self._end_when_asked(process))
        try:
            await self._tell(process, run_id)
            last_word = await self._listen(process, run_id)
            exit_status = await process.wait()
        finally:
            ending.cancel()
            if process.returncode is None:
                process.kill()
        return self._outcome(run_id, last_word, exit_status)

    def _outcome(
        self, run_id: str, last_word: dict[str, Any] | None, exit_status: int
    ) -> tuple[State, str | None, int]:
        if last_word and last_word["exit_code"] == 0:
            return State.COMPLETE, None, 0
        if self._ending:
            return *self._ending, INTERRUPTED_CODE
        if last_word:
            return State.FAILED, last_word["error"], last_word["exit_code"]
        how = signal.Signals(-exit_status).name if exit_status < 0 else f"exit status {exit_status}"
        log = self._journal.log_file(run_id)
        return State.FAILED, f"the process that measured ended by {how} before it was done; what it said is in {log}", 1

    async def _tell(self, process: asyncio.subprocess.Process, run_id: str) -> None:
        """Say what to do. A worker that is gone already shows by its silence."""
        assert process.stdin
        request = {"base": self._base.model_dump(mode="json"), "body": self._entries[run_id].asked}
        with contextlib.suppress(ConnectionError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            await process.stdin.drain()
        process.stdin.close()

    async def _listen(self, process: asyncio.subprocess.Process, run_id: str) -> dict[str, Any] | None:
        """Write down what a worker says, until it says no more; gives its last word."""
        assert process.stdout
        last_word = None
        async for line in process.stdout:
            told = json.loads(line)
            if told["event"] == WORKER_DONE:
                last_word = told["data"]
                continue
            self._journal.append_line(run_id, line)
            self._see(told)
            if told["event"] == RUN_DONE:
                self._add_result(run_id, told["data"]["run_id"])
            self._tell_change()
        return last_word

    def _see(self, told: dict[str, Any]) -> None:
        event = decode(told["event"], told["data"])
        if event:
            self._watch(event)

    def _add_result(self, run_id: str, result_id: str) -> None:
        entry = self._entries[run_id]
        self._keep(entry.model_copy(update={"run_ids": (*entry.run_ids, result_id)}), told=False)

    async def _end_when_asked(self, process: asyncio.subprocess.Process) -> None:
        """Ask a worker to end, once that is wanted, ever more strongly."""
        while True:
            changed = self._changed
            if self._ending:
                break
            await changed.wait()
        patience = self._patience
        for number, wait_s in (
            (signal.SIGINT, patience.after_interrupt_s),
            (signal.SIGTERM, patience.after_terminate_s),
            (signal.SIGKILL, None),
        ):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), wait_s)
                return

    def _end(self, entry: Entry, state: State, error: str | None, exit_code: int) -> None:
        over = {"state": state, "error": error, "exit_code": exit_code, "ended_at": _now()}
        # A full disk must not keep the next run from going: this one is over in memory all the same.
        with contextlib.suppress(NodropError, OSError):
            self._keep(entry.model_copy(update=over))

    def _keep(self, entry: Entry, told: bool = True) -> None:
        self._entries[entry.id] = entry
        try:
            self._journal.keep(entry)
            if told:
                self._journal.append_event(entry.id, STATE, self.show(entry).model_dump(mode="json"))
        finally:
            self._tell_change()

    def _tell_change(self) -> None:
        """Wake whoever waits for something to happen."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _now() -> str:
    return datetime.now(UTC).isoformat()
