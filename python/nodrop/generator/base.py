"""The interface of all traffic generators, and the result of a trial that one of them lost."""

from typing import Any, Protocol, Self

from nodrop.model.facts import PortFacts
from nodrop.model.result import DirectionCheck
from nodrop.model.traffic import Traffic
from nodrop.model.trial import Doubt, StreamCounts, Trial, TrialResult, Validity, Windows


class TrialInterrupted(KeyboardInterrupt):
    """Ctrl-C or an ending signal during a trial that was stopped in order, with valid counts up to then."""

    def __init__(self, message: str, result: TrialResult) -> None:
        super().__init__(message)
        self.result = result


class OnWindow(Protocol):
    """Receives the progress of a trial, several times a second."""

    def __call__(self, elapsed_s: float, offered_count: int, received_count: int, lost_count: int = 0, /) -> None:
        """Report counts since the trial's start; `lost_count` covers frames certainly lost, 0 while unknown."""


class Measurer(Protocol):
    """A traffic generator with open ports, as a context manager."""

    def __enter__(self) -> Self:
        """Start it and open its ports. Raises GeneratorError."""

    def __exit__(self, *exc: object) -> None:
        """Stop traffic and release everything; never raises."""

    @property
    def version(self) -> str:
        """Version of the generator."""

    @property
    def commit(self) -> str:
        """Commit that it was built from; `unknown` if not known."""

    @property
    def ports(self) -> tuple[PortFacts, ...]:
        """Its ports as opened; empty if it has none."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Deviations from the plan, one sentence each."""

    def check_path(self) -> tuple[DirectionCheck, ...]:
        """Send learning frames along every stream.

        Raises GeneratorError naming each direction on which none arrived.
        """

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        """Run one trial.

        Raises: GeneratorError if the trial could not run at all; TrialInterrupted if a trial at a fixed rate, which may
        be long, was interrupted and stopped in order.
        """


def lost_trial_fields(traffic: Traffic, doubt: Doubt) -> dict[str, Any]:
    """Return the fields of a TrialResult without counts, with the doubt that explains it."""
    blank = {field: 0 for field in StreamCounts.model_fields if field.endswith("_count")}
    streams = tuple(
        StreamCounts(stream_id=stream.stream_id, tx_port=stream.tx_port, rx_port=stream.rx_port, **blank)
        for stream in traffic.streams
    )
    nothing: tuple[tuple[int, ...], ...] = ((),) * len(streams)
    return {
        "duration_s": 0.0,
        "stopped_early": True,
        "streams": streams,
        "tester_drop_count": 0,
        "tester_cpu_ratio": 0.0,
        "windows": Windows(end_s=(), offered_count=nothing, received_count=nothing, lost_count=nothing),
        "validity": Validity.of([doubt]),
    }
