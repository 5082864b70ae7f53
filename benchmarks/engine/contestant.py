"""What every contestant can do, so that all are measured alike."""

from contextlib import AbstractContextManager
from typing import Protocol

from benchmarks.engine.frame import Frame

SEND_CPU = 0
RECEIVE_CPU = 1


class Run(Protocol):
    """A contestant that sends as fast as it can."""

    def cpu_s(self) -> float:
        """CPU time it has used so far, all its processes and threads."""

    def sent(self) -> tuple[float, int]:
        """(seconds on a steady clock, frames that have left until then)."""

    def received(self) -> tuple[float, int] | None:
        """(seconds on a steady clock, frames it has accepted until then); None when it only sends."""

    def check_running(self) -> None:
        """Raise ContestantError when it has ended."""

    def finish(self) -> dict[str, float]:
        """Stop sending; what it then says of itself, by name."""


class Contestant(Protocol):
    """A generator in one way of use."""

    @property
    def name(self) -> str:
        """Unique in its group."""

    @property
    def does(self) -> str:
        """With each frame, for a fair reading."""

    def version(self) -> str:
        """Of the program. Raises ContestantError when it is not there."""

    def run(self, frame: Frame) -> AbstractContextManager[Run]:
        """Start it, one sending thread on SEND_CPU, one receiving thread on RECEIVE_CPU if it receives."""
