"""A process of the SUT and its end."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodrop.model.facts import SutProcess
from nodrop.system.json_child import LineReader, format_status, parse_object

STOP_TIMEOUT_S = 1.0
HIGH_PRIORITY = -10
SESSION_PRIORITY = -15
"""Nice values of a forwarding process and of its session, as `nodrop-vnf` sets them for itself."""
PRIORITY = "NODROP_PRIORITY"
"""Environment variable; with `normal`, neither tester nor SUT takes priority over other work."""


class SutChild:
    """A running process of the SUT or an antagonist."""

    def __init__(self, name: str, description: str, process: subprocess.Popen[bytes]) -> None:
        """Wrap a process.

        Args:
            name: unique in the lab.
            description: for messages, e.g. `the loopback VNF`.
            process: the running process.
        """
        self.name = name
        self.description = description
        self._process = process
        self.large_page_bytes: int | None = None
        """How much of its table is in large pages, once reported."""
        self.stdout: LineReader | None = None
        """Its standard output, if it reports on it."""
        self.is_killed_by_event = False
        """Whether an event of a trial killed it; the end of any other process is a failure of the SUT."""

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def fact(self) -> SutProcess:
        """Facts of the process."""
        return SutProcess(name=self.name, pid=self.pid, large_page_bytes=self.large_page_bytes)

    def describe_end(self) -> str:
        """Wait for its end and return how it ended."""
        status = self._process.wait()
        return f"{self.description} (process {self.pid}) {format_status(status)}"

    def describe_unexpected_end(self) -> str | None:
        """Wait for its end and return how it ended; None if an event of a trial killed it."""
        text = self.describe_end()
        return None if self.is_killed_by_event else text

    def has_ended(self) -> bool:
        """Return whether it has ended."""
        return self._process.poll() is not None

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def send_command(self, command: str, timeout_s: float) -> Mapping[str, Any]:
        """Write a line to its standard input and return the object that it replies; empty without a reply in time."""
        assert self._process.stdin and self.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{command}\n".encode())
        return parse_object(self.stdout.read_line(timeout_s))

    def wait_until_stopped(self) -> None:
        """Wait until SIGSTOP has stopped it, or it has ended.

        The kernel stops a process as it leaves kernel mode: one that waits for its CPU there sends its frames first.
        """
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def wait(self) -> None:
        """Wait until it has ended."""
        self._process.wait()

    def stop(self) -> None:
        """End it: SIGTERM, then SIGKILL after a timeout."""
        stop_all((self,))

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    def reap(self, deadline: float) -> None:
        """Wait until it has ended; kill it at the deadline (`time.monotonic`)."""
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def stop_all(children: Sequence[SutChild]) -> None:
    """End all of them concurrently."""
    for child in children:
        child.terminate()
    deadline = time.monotonic() + STOP_TIMEOUT_S
    for child in children:
        child.reap(deadline)


def raise_priority() -> None:
    """Give the calling process, a child about to run another program, a session and priority over other sessions."""
    os.setsid()
    raise_session_priority()


def raise_session_priority() -> None:
    """Give the calling process, and its session, priority over other sessions.

    The priority stays as it is without permission, or with NODROP_PRIORITY=normal.

    Source: sched(7), "The autogroup feature": nice values count only among the processes of one session.
    """
    if os.environ.get(PRIORITY) == "normal":
        return
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, HIGH_PRIORITY)
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(SESSION_PRIORITY), encoding="utf-8")
