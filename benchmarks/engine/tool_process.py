"""The process of a measured program: started on its CPUs, monitored, and always terminated."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from nodrop.stage.namespace import die_with_parent
from nodrop.system.json_child import LineReader

END_TIMEOUT_S = 3.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class BenchmarkError(Exception):
    """A generator is not installed, failed to start, or stopped; the message says how to fix it."""


def find_program(program: str, package: str) -> str:
    """Return the path of a program. Raises BenchmarkError with the Debian package that contains it."""
    path = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if not path:
        raise BenchmarkError(f"{program} is not installed; apt-get install {package}")
    return path


def read_package_version(package: str) -> str:
    """Return the version of a Debian package; `unknown` on other distributions."""
    try:
        command = ["dpkg-query", "-W", "-f", "${Version}", package]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


class ToolProcess:
    """A running program with all its processes; a context manager that terminates them."""

    def __init__(self, command: Sequence[str | Path], cpus: Iterable[int]) -> None:
        parent_pid, cpus = os.getpid(), frozenset(cpus)

        def prepare_child() -> None:
            os.sched_setaffinity(0, cpus)
            die_with_parent(parent_pid)

        self._name = str(command[0])
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
            start_new_session=True,
            preexec_fn=prepare_child,  # noqa: PLW1509  this process has one thread
        )
        assert self._process.stdout
        self.lines = LineReader(self._process.stdout.fileno())

    @property
    def pid(self) -> int:
        """The process id of its first process."""
        return self._process.pid

    def __enter__(self) -> Self:
        """Return the process, which already runs."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Interrupt the program, then kill all its processes."""
        assert self._process.stdin and self._process.stdout
        self._send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_TIMEOUT_S)
        self._send_signal(signal.SIGKILL)
        self._process.wait()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._log.close()

    def write_line(self, line: str) -> None:
        """Write a line to its standard input. Raises BenchmarkError if it has exited."""
        assert self._process.stdin
        try:
            self._process.stdin.write(line.encode() + b"\n")
        except BrokenPipeError:
            self.check_running()
            raise

    def check_running(self) -> None:
        """Raise BenchmarkError with the last lines of its standard error if it has exited."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(0.05)
            self._log.seek(0)
            lines = self._log.read().decode(errors="replace").split("\n")
            last_lines = [line.strip() for line in lines if line.strip()][-4:]
            raise BenchmarkError(f"{self._name} exited with status {status}: {' | '.join(last_lines)}")

    def read_cpu_s(self) -> float:
        """Return the CPU time, user and system, of all its processes and threads."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                if int(fields[3]) == self._process.pid:  # its session
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS_PER_S

    def _send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
