"""The interface of all packet generators, so that all are measured in the same way."""

from contextlib import AbstractContextManager
from typing import Protocol

from benchmarks.engine.frame import Frame

SEND_CPU = 0
RECEIVE_CPU = 1


class GeneratorRun(Protocol):
    """A generator that sends as fast as it can."""

    def read_cpu_s(self) -> float:
        """Return the CPU time used so far by all its processes and threads."""

    def read_sent(self) -> tuple[float, int]:
        """Return (seconds on a monotonic clock, frames sent until then)."""

    def read_received(self) -> tuple[float, int] | None:
        """Return (seconds on a monotonic clock, frames accepted until then); None if it only sends."""

    def check_running(self) -> None:
        """Raise BenchmarkError if it has exited."""

    def stop(self) -> dict[str, float]:
        """Stop sending and return the generator's own counters by name."""


class PacketGenerator(Protocol):
    """A generator in one mode of operation."""

    @property
    def name(self) -> str:
        """A name that is unique in its group."""

    @property
    def work_per_frame(self) -> str:
        """The work it does per frame, for a fair comparison."""

    def read_version(self) -> str:
        """Return the version of the program. Raises BenchmarkError if it is not installed."""

    def run(self, frame: Frame) -> AbstractContextManager[GeneratorRun]:
        """Start it with one sending thread on SEND_CPU and, if it receives, one receiving thread on RECEIVE_CPU."""
