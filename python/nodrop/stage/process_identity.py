"""Processes told apart for good: a pid alone may belong to somebody else by the time it is used."""

import contextlib
import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

from nodrop.errors import StageError
from nodrop.model.base import Value

ENDED_STATES = "ZX"
"""Zombie and dead: nothing of the process is left but its exit status."""


class ProcessIdentity(Value):
    """A process by its pid and the moment it started."""

    pid: int
    start_ticks: int
    """Clock ticks between boot and its start: field 22 of /proc/<pid>/stat, proc(5)."""


def identify(pid: int) -> ProcessIdentity:
    """The running process with this pid. Raises StageError when there is none."""
    ticks = _start_ticks(pid)
    if ticks is None:
        raise StageError(f"process {pid} asked, it is not running; bring the lab up again")
    return ProcessIdentity(pid=pid, start_ticks=ticks)


def is_running(process: ProcessIdentity) -> bool:
    """Whether this very process still runs."""
    return _start_ticks(process.pid) == process.start_ticks


def terminate(process: ProcessIdentity, timeout_s: float) -> None:
    """End this very process and wait until it has: SIGTERM, and SIGKILL when that is not enough."""
    with _open_pidfd(process) as handle:
        if handle is not None:
            _end(handle, timeout_s)


def await_end(process: ProcessIdentity, timeout_s: float) -> None:
    """Wait until this very process has ended, or patience has."""
    with _open_pidfd(process) as handle:
        if handle is not None:
            _has_ended(handle, timeout_s)


@contextlib.contextmanager
def _open_pidfd(process: ProcessIdentity) -> Iterator[int | None]:
    """A handle on this very process that no other can take over; None when it has ended."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        yield None
        return
    try:
        # Checked after the handle is open: from here on the pid cannot change hands unnoticed.
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
    """None when no such process runs."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in ENDED_STATES else int(fields[18])
