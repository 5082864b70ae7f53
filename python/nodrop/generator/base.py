"""The one interface of all generators."""

from collections.abc import Callable
from typing import Protocol, Self

from nodrop.model.result import DirectionCheck
from nodrop.model.trial import Trial, TrialResult

OnWindow = Callable[[float, int, int], None]
"""(seconds since the trial's start, frames offered, frames received), several times a second."""


class Measurer(Protocol):
    """A traffic generator with open ports, as a context manager."""

    def __enter__(self) -> Self:
        """Start, open ports. Raises GeneratorError."""

    def __exit__(self, *exc: object) -> None:
        """Stop traffic and let go of everything; never raises."""

    @property
    def version(self) -> str:
        """Version of what measures."""

    @property
    def commit(self) -> str:
        """Commit it was built from; `unknown` where that is not known."""

    def check_path(self) -> tuple[DirectionCheck, ...]:
        """Send learning frames along every stream.

        Raises GeneratorError naming each direction on which nothing arrived.
        """

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        """Run one trial. Raises GeneratorError when it could not be run at all."""
