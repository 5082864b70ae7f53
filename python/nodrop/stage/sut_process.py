"""A process of the SUT: started, watched, ended."""

import subprocess
import time
from collections.abc import Sequence

from nodrop.model.facts import SutProcess
from nodrop.system.json_child import format_status

STOP_TIMEOUT_S = 1.0


class SutChild:
    """A running process that forwards, or helps to."""

    def __init__(self, name: str, what: str, process: subprocess.Popen[bytes]) -> None:
        """Watch over a process.

        Args:
            name: tells it from others of its lab.
            what: what it is, in a sentence.
            process: itself.
        """
        self.name = name
        self.what = what
        self._process = process
        self.large_page_bytes: int | None = None
        """How much of its table is in large pages, once it has said so."""

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def fact(self) -> SutProcess:
        """What there is to know of it."""
        return SutProcess(name=self.name, pid=self.pid, large_page_bytes=self.large_page_bytes)

    def describe_end(self) -> str:
        """How it ended, once it has."""
        status = self._process.wait()
        return f"{self.what} (process {self.pid}) {format_status(status)}"

    def has_ended(self) -> bool:
        """Whether it ended already."""
        return self._process.poll() is not None

    def stop(self) -> None:
        """End it, gently if it listens."""
        stop_all((self,))

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def reap(self, deadline: float) -> None:
        """Wait until it has ended, and see to that once the time has come (`time.monotonic`)."""
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def stop_all(children: Sequence[SutChild]) -> None:
    """End these, all at once."""
    for child in children:
        child.terminate()
    deadline = time.monotonic() + STOP_TIMEOUT_S
    for child in children:
        child.reap(deadline)
