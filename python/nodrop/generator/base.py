"""The one interface of all generators."""

from typing import Protocol, Self

from nodrop.model.facts import PortFacts
from nodrop.model.result import DirectionCheck
from nodrop.model.trial import Trial, TrialResult


class TrialInterrupted(KeyboardInterrupt):
    """Ctrl-C, or a signal like it, in a trial that was ended and whose counts until then are true."""

    def __init__(self, message: str, result: TrialResult) -> None:
        super().__init__(message)
        self.result = result


class OnWindow(Protocol):
    """Hears how far a trial is, several times a second."""

    def __call__(self, elapsed_s: float, offered_count: int, received_count: int, lost_count: int = 0, /) -> None:
        """Counts since the trial's start; `lost_count` is of frames certainly lost, 0 where that is not known yet."""


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

    @property
    def ports(self) -> tuple[PortFacts, ...]:
        """Its ports as they were opened; none where it has none."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What it does otherwise than planned, as sentences."""

    def check_path(self) -> tuple[DirectionCheck, ...]:
        """Send learning frames along every stream.

        Raises GeneratorError naming each direction on which nothing arrived.
        """

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        """Run one trial.

        Raises: GeneratorError when it could not be run at all; TrialInterrupted where one at a fixed rate, which may be
        long, was interrupted and could be ended in order.
        """
