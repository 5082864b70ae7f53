"""A child process that takes requests and gives replies as JSON lines on its standard input and output."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import IO, Any


class JsonChild:
    """A running child process with a pipe to its standard input and one from its standard output.

    The child gets its own session, so that Ctrl-C on the terminal does not reach it.
    """

    def __init__(self, command: Sequence[str | os.PathLike[str]], log: IO[bytes] | None = None) -> None:
        """Start the command. Its standard error goes to `log`, or to this process's own. Raises OSError."""
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0, start_new_session=True
        )
        assert self._process.stdin and self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._reader = LineReader(self._stdout.fileno())

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def has_closed_output(self) -> bool:
        """Whether it closed its standard output and all lines were read."""
        return self._reader.ended

    def poll(self) -> int | None:
        """Return its exit status; None while it runs."""
        return poll_exit(self._process)

    def send(self, line: bytes) -> None:
        """Write one line, which ends with a newline. Raises BrokenPipeError once the child has ended."""
        self._stdin.write(line)

    def read_line(self, timeout_s: float) -> str | None:
        """Return the next line of its output; None on a timeout or once the output is closed."""
        return self._reader.read_line(timeout_s)

    def read_object(self, timeout_s: float) -> dict[str, Any]:
        """Return the JSON object of the next line; empty without one."""
        return parse_object(self.read_line(timeout_s))

    def end(self, timeout_s: float, drain_s: float = 0.0) -> None:
        """Close its standard input, which ends it; kill it after a timeout. Never raises.

        Args:
            timeout_s: time to end by itself.
            drain_s: time for its own children, which hold its standard output open, to end as well.
        """
        with contextlib.suppress(OSError):
            self._stdin.close()
        if await_exit(self._process, timeout_s) is None:
            self._process.kill()
        self._process.wait()
        if drain_s:
            self._reader.drain(drain_s)
        self._stdout.close()

    def kill(self) -> None:
        """Kill it, as a stopped process does not end by itself."""
        self._process.kill()

    def describe_end(self, timeout_s: float) -> str:
        """Return a clause with its process id and exit status, waiting for the latter."""
        status = await_exit(self._process, timeout_s)
        if status is None:
            return f"(process {self.pid}) closed its output but still runs"
        return f"(process {self.pid}) {format_status(status)}"


def poll_exit(process: subprocess.Popen[bytes]) -> int | None:
    """Return the exit status of a child without reaping it; None while it runs.

    `Popen.poll` and `Popen.wait` take a lock to reap. A KeyboardInterrupt just after that leaves it taken, and a later
    `Popen.wait` would block forever. Use this where Ctrl-C may arrive.
    """
    if process.returncode is not None:
        return process.returncode
    try:
        ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # reaped elsewhere, as where SIGCHLD is ignored
        return 0
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def await_exit(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    """Wait for the end of a child without reaping it; return as `poll_exit`, after the timeout at the latest."""
    if (status := poll_exit(process)) is not None:
        return status
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:  # reaped elsewhere since
        return poll_exit(process)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll(max(0.0, timeout_s) * 1000)
    finally:
        os.close(descriptor)
    return poll_exit(process)


def parse_object(line: str | None) -> dict[str, Any]:
    """Return the JSON object of a line; empty for any other line."""
    try:
        value = json.loads(line or "{}")
    except json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def format_status(status: int) -> str:
    """Return the exit status of a child process as a clause: `exited with status 2`, `was killed by SIGKILL`."""
    return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"


def log_tail(log: IO[bytes], line_count: int) -> str:
    """Return the last lines of a log, in one line, as the end of an error message; empty for an empty log."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()[-line_count:]
    return f"; last output: {' | '.join(lines)}" if lines else ""


class LineReader:
    """Splits the bytes that arrive on a file descriptor into lines."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._partial = b""
        self._lines: list[str] = []
        self.ended = False
        """Whether the writer has closed its end and everything it wrote has been read."""

    def fileno(self) -> int:
        """Return the descriptor, so that selectors can watch it."""
        return self._descriptor

    def read_line(self, timeout_s: float) -> str | None:
        """Return the next line without its end; None on a timeout or once the writer has closed its end."""
        deadline = time.monotonic() + timeout_s
        while not self._lines and not self.ended:
            left_s = max(0.0, deadline - time.monotonic())
            if not self._poll.poll(left_s * 1000):
                return None
            self._read()
        return self._lines.pop(0) if self._lines else None

    def drain(self, timeout_s: float) -> None:
        """Read until every process that holds the other end has closed it, or until the timeout."""
        deadline = time.monotonic() + timeout_s
        while self.read_line(max(0.0, deadline - time.monotonic())) is not None:
            pass

    def _read(self) -> None:
        chunk = os.read(self._descriptor, 65536)
        if not chunk:
            self.ended = True
        *whole, self._partial = (self._partial + chunk).split(b"\n")
        self._lines += [line.decode(errors="replace") for line in whole]
