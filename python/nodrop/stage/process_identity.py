"""Identity of processes beyond their pid, which another process may have by the time it is used."""

import contextlib
import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

from nodrop.errors import StageError
from nodrop.model.base import Value

ENDED_STATES = "ZX"
"""Zombie and dead: only the exit status of the process remains."""


class ProcessIdentity(Value):
    """A process by its pid and start time."""

    pid: int
    start_ticks: int
    """Clock ticks between boot and its start: field 22 of /proc/<pid>/stat, proc(5)."""


def identify_process(pid: int) -> ProcessIdentity:
    """Return the identity of a running process. Raises StageError if no process has this pid."""
    ticks = _start_ticks(pid)
    if ticks is None:
        raise StageError(f"process {pid} is not running; bring the lab up again")
    return ProcessIdentity(pid=pid, start_ticks=ticks)


def is_running(process: ProcessIdentity) -> bool:
    """Return whether this process still runs."""
    return _start_ticks(process.pid) == process.start_ticks


def terminate_process(process: ProcessIdentity, timeout_s: float) -> None:
    """End this process and wait for its end: SIGTERM, then SIGKILL after a timeout."""
    with _open_pidfd(process) as handle:
        if handle is not None:
            _end(handle, timeout_s)


def await_end(process: ProcessIdentity, timeout_s: float) -> None:
    """Wait until this process has ended, or until the timeout."""
    with _open_pidfd(process) as handle:
        if handle is not None:
            _has_ended(handle, timeout_s)


@contextlib.contextmanager
def _open_pidfd(process: ProcessIdentity) -> Iterator[int | None]:
    """Open a pidfd of this process; None if it has ended."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        yield None
        return
    try:
        # Checked after the pidfd is open: from now on the kernel does not reuse the pid unnoticed.
        yield handle if is_running(process) else None
    finally:
        os.close(handle)


def _end(handle: int, timeout_s: float) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return
        if _has_ended(handle, timeout_s):
            return


def _has_ended(handle: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))


def _start_ticks(pid: int) -> int | None:
    """Return the start time of a process; None if it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in ENDED_STATES else int(fields[18])
