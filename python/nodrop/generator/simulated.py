"""A measurer without packets: trials answered by a model of a system under test.

It lets a whole run be driven, tested and shown on any machine. A model is any function of load and duration:

    def forwards_at_most_a_million(intended_load_pps: float, duration_s: float) -> SutCounts:
        asked = round(intended_load_pps * duration_s)
        return SutCounts(intended_count=asked, offered_count=asked, received_count=min(asked, round(1e6 * duration_s)))

    with SimulatedMeasurer(traffic, forwards_at_most_a_million) as measurer: ...
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple, Self

from nodrop.errors import GeneratorError
from nodrop.generator.base import OnWindow
from nodrop.model.result import DirectionCheck
from nodrop.model.traffic import Stream, Traffic
from nodrop.model.trial import Doubt, StreamCounts, Trial, TrialResult, Validity, Verdict, Windows


class SutCounts(NamedTuple):
    """What came of a simulated trial, over all streams."""

    intended_count: int
    offered_count: int
    received_count: int


SutModel = Callable[[float, float], SutCounts]
"""(intended load in frames per second, duration in seconds) -> counts of the whole trial."""

WINDOW_COUNT = 10
CHECK_FRAMES = 10
"""Learning frames per stream in the path check."""


class SimulatedMeasurer:
    """Answers every trial from a model, at once; see `nodrop.generator.base.Measurer`.

    Loss is spread evenly over a trial and over its streams. Nothing is known of latency, so none is reported.
    """

    version = "simulated"
    commit = "unknown"

    def __init__(self, traffic: Traffic, sut: SutModel) -> None:
        self._traffic = traffic
        self._sut = sut

    def __enter__(self) -> Self:
        """Nothing to start."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing to stop."""

    def check_path(self) -> tuple[DirectionCheck, ...]:
        """Ask the model about a few frames per stream. Raises GeneratorError when none comes back."""
        streams = self._traffic.streams
        counts = self._sut(float(CHECK_FRAMES * len(streams)), 1.0)
        checks = tuple(
            DirectionCheck(
                stream_id=stream.stream_id,
                tx_port=stream.tx_port,
                rx_port=stream.rx_port,
                sent_count=_share(counts.offered_count, position, len(streams)),
                received_count=_share(counts.received_count, position, len(streams)),
            )
            for position, stream in enumerate(streams)
        )
        for check in checks:
            if check.received_count == 0:
                raise GeneratorError(
                    f"stream {check.stream_id}, port {check.tx_port} to port {check.rx_port}: {check.sent_count} "
                    "learning frames sent, none came back; the simulated SUT must forward a trickle"
                )
        return checks

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        """Run the model for the trial, cut short where its stop rule says so."""
        whole = self._sut(trial.intended_load_pps, trial.duration_s)
        counts, sent_ratio = _stopped(whole, trial)
        duration_s = trial.duration_s * sent_ratio
        windows = self._windows(counts, duration_s)
        offered_count = received_count = 0
        for position, end_s in enumerate(windows.end_s):
            offered_count += sum(stream[position] for stream in windows.offered_count)
            received_count += sum(stream[position] for stream in windows.received_count)
            on_window(end_s, offered_count, received_count)
        result = TrialResult(
            trial=trial,
            index=index,
            phase=phase,
            started_at=datetime.now(UTC).isoformat(),
            duration_s=duration_s,
            stopped_early=sent_ratio < 1.0,
            streams=self._stream_counts(counts),
            tester_drop_count=0,
            tester_cpu_ratio=0.0,
            windows=windows,
            validity=Validity(verdict=Verdict.VALID),
        )
        return _with_validity(result)

    def _stream_counts(self, counts: SutCounts) -> tuple[StreamCounts, ...]:
        total = len(self._traffic.streams)
        return tuple(
            _counts_of(
                stream,
                intended_count=_share(counts.intended_count, position, total),
                offered_count=_share(counts.offered_count, position, total),
                received_count=_share(counts.received_count, position, total),
            )
            for position, stream in enumerate(self._traffic.streams)
        )

    def _windows(self, counts: SutCounts, duration_s: float) -> Windows:
        total = len(self._traffic.streams)

        def columns(count: int) -> tuple[tuple[int, ...], ...]:
            shares = [_share(count, position, total) for position in range(total)]
            return tuple(tuple(_share(each, window, WINDOW_COUNT) for window in range(WINDOW_COUNT)) for each in shares)

        return Windows(
            end_s=tuple(duration_s * window / WINDOW_COUNT for window in range(1, WINDOW_COUNT + 1)),
            offered_count=columns(counts.offered_count),
            received_count=columns(counts.received_count),
        )


def _stopped(counts: SutCounts, trial: Trial) -> tuple[SutCounts, float]:
    """The counts at the moment the stop rule fired, and the share of the trial that had been sent by then."""
    lost_count = counts.offered_count - counts.received_count
    if trial.stop is None or trial.stop.lost_count is None or lost_count <= trial.stop.lost_count:
        return counts, 1.0
    lost_by_then = trial.stop.lost_count + 1
    offered_by_then = counts.offered_count * lost_by_then // lost_count
    by_then = SutCounts(
        intended_count=counts.intended_count * lost_by_then // lost_count,
        offered_count=offered_by_then,
        received_count=offered_by_then - lost_by_then,
    )
    return by_then, lost_by_then / lost_count


def _share(count: int, position: int, total: int) -> int:
    """The part of `count` that falls to one of `total` equal shares; the shares add up to `count`."""
    return count // total + (position < count % total)


def _counts_of(stream: Stream, intended_count: int, offered_count: int, received_count: int) -> StreamCounts:
    return StreamCounts(
        stream_id=stream.stream_id,
        tx_port=stream.tx_port,
        rx_port=stream.rx_port,
        intended_count=intended_count,
        offered_count=offered_count,
        received_count=received_count,
        lost_count=offered_count - received_count,
        duplicate_count=0,
        out_of_order_count=0,
        latency=None,
        lateness=None,
    )


def _with_validity(result: TrialResult) -> TrialResult:
    if not result.unsent_count:
        return result
    doubt = Doubt(
        code="offered_short",
        verdict=Verdict.SUSPECT,
        text=f"{result.offered_count} of {result.intended_count} frames were sent; the rest counts as lost",
    )
    return result.model_copy(update={"validity": Validity(verdict=Verdict.SUSPECT, doubts=(doubt,))})
