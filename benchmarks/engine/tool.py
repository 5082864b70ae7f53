"""A program under measurement: started on its CPUs, watched, and never left behind."""

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
from nodrop.system.line_reader import LineReader

END_TIMEOUT_S = 3.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class ContestantError(Exception):
    """A contestant is not there, did not start, or stopped sending; says what to do."""


def find(program: str, package: str) -> str:
    """Path of a peer. Raises ContestantError naming Debian's package it comes in."""
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if not found:
        raise ContestantError(f"{program} is not installed; apt-get install {package}")
    return found


def package_version(package: str) -> str:
    """Version of a Debian package; `unknown` elsewhere."""
    try:
        command = ["dpkg-query", "-W", "-f", "${Version}", package]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


class Tool:
    """One running program with all its processes, as a context manager that ends them."""

    def __init__(self, command: Sequence[str | Path], cpus: Iterable[int]) -> None:
        me, cpus = os.getpid(), frozenset(cpus)

        def settle() -> None:
            os.sched_setaffinity(0, cpus)
            die_with_parent(me)

        self._name = str(command[0])
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the tool
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
            start_new_session=True,
            preexec_fn=settle,  # noqa: PLW1509  this process has one thread
        )
        assert self._process.stdout
        self.lines = LineReader(self._process.stdout.fileno())

    @property
    def pid(self) -> int:
        """Of its first process."""
        return self._process.pid

    def __enter__(self) -> Self:
        """It runs already."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Ask it to end, then see to it that nothing of it is left."""
        assert self._process.stdin and self._process.stdout
        self._signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_TIMEOUT_S)
        self._signal(signal.SIGKILL)
        self._process.wait()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._log.close()

    def write(self, line: str) -> None:
        """Say something to it. Raises ContestantError when it has ended."""
        assert self._process.stdin
        try:
            self._process.stdin.write(line.encode() + b"\n")
        except BrokenPipeError:
            self.check_running()
            raise

    def check_running(self) -> None:
        """Raise ContestantError with its last words when it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(0.05)
            self._log.seek(0)
            words = self._log.read().decode(errors="replace").split("\n")
            said = [line.strip() for line in words if line.strip()][-4:]
            raise ContestantError(f"{self._name} ended with status {status}: {' | '.join(said)}")

    def cpu_s(self) -> float:
        """CPU time, user and system, that all its processes and threads have used."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                if int(fields[3]) == self._process.pid:  # its session
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS_PER_S

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
