"""A measurer without packets: a simulated SUT answers each trial at once, on a virtual clock.

It drives an entire run on any machine:

    with SimulatedMeasurer(traffic, HardLimit(capacity_pps=1e6)) as measurer: ...
"""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from operator import sub
from typing import NamedTuple, Self

from nodrop.errors import GeneratorError
from nodrop.generator.base import OnWindow
from nodrop.model.facts import PortFacts
from nodrop.model.result import DirectionCheck
from nodrop.model.traffic import Traffic
from nodrop.model.trial import WARM_UP, Doubt, StreamCounts, Trial, TrialResult, Validity, Windows
from nodrop.simulation.function_sut import FunctionSut, SutFunction
from nodrop.simulation.offer import OfferedTrial, offer_trial
from nodrop.simulation.sut import Sut

CHECK_FRAMES = 10
"""Learning frames per stream in the path check."""
OVERHEAD_S = 0.5
"""Dead time after a trial."""


class SimulatedMeasurer:
    """Answers every trial from a simulated SUT; see `nodrop.generator.base.Measurer`.

    Frames are assigned to the streams round-robin. Latency is not simulated and not reported.
    """

    version = "simulated"
    commit = "unknown"
    notes: tuple[str, ...] = ()
    ports: tuple[PortFacts, ...] = ()

    def __init__(self, traffic: Traffic, sut: Sut | SutFunction, overhead_s: float = OVERHEAD_S) -> None:
        self._began_at = datetime.now(UTC)
        self.now_s = 0.0
        """Time since the start of the simulation: all trials and the dead time after each."""
        self._traffic = traffic
        self._sut = sut if isinstance(sut, Sut) else FunctionSut(sut)
        self._overhead_s = overhead_s

    def __enter__(self) -> Self:
        """Start nothing."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop nothing."""

    def check_path(self) -> tuple[DirectionCheck, ...]:
        """Offer a few frames per stream. Raises GeneratorError if a stream loses all of them."""
        trial = Trial(intended_load_pps=float(CHECK_FRAMES * len(self._traffic.streams)), duration_s=1.0)
        checks = tuple(
            DirectionCheck(
                stream_id=counts.stream_id,
                tx_port=counts.tx_port,
                rx_port=counts.rx_port,
                sent_count=counts.offered_count,
                received_count=counts.received_count,
            )
            for counts in self._stream_counts(self._share(self._offer(trial, self._overhead_s)))
        )
        for check in checks:
            if check.received_count == 0:
                raise GeneratorError(
                    f"stream {check.stream_id}, port {check.tx_port} to port {check.rx_port}: {check.sent_count} "
                    "learning frames sent, none received; use a simulated SUT that forwards at low load"
                )
        return checks

    def rest(self, duration_s: float) -> None:
        """Let time pass without traffic."""
        self.now_s += duration_s

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        """Offer the trial to the SUT until its end or its stop rule."""
        started_at = self._began_at + timedelta(seconds=self.now_s)
        trial_counts = self._offer(trial, 0.0 if phase == WARM_UP else self._overhead_s)
        for elapsed_s, offered_count, lost_count in zip(
            trial_counts.end_s, trial_counts.offered_count, trial_counts.lost_count, strict=True
        ):
            on_window(elapsed_s, offered_count, offered_count - lost_count, lost_count)
        shares = self._share(trial_counts)
        result = TrialResult(
            trial=trial,
            index=index,
            phase=phase,
            started_at=started_at.isoformat(),
            duration_s=trial_counts.elapsed_s,
            stopped_early=trial_counts.stopped_by is not None,
            stopped_by=trial_counts.stopped_by,
            streams=self._stream_counts(shares),
            tester_drop_count=0,
            tester_cpu_ratio=0.0,
            windows=Windows(
                end_s=tuple(trial_counts.end_s),
                offered_count=tuple(shares.offered),
                received_count=tuple(
                    tuple(map(sub, offered, lost)) for offered, lost in zip(shares.offered, shares.lost, strict=True)
                ),
                lost_count=tuple(shares.lost),
            ),
            validity=Validity(),
        )
        return _with_validity(result)

    def _offer(self, trial: Trial, overhead_s: float) -> OfferedTrial:
        trial_counts = offer_trial(self._sut, trial, self.now_s)
        self.now_s += trial_counts.elapsed_s + overhead_s
        return trial_counts

    def _share(self, trial_counts: OfferedTrial) -> "_StreamShares":
        """Share the counts of each window among the streams round-robin; a window loses its first frames."""
        total = len(self._traffic.streams)
        windows = list(
            zip(pairwise((0, *trial_counts.offered_count)), pairwise((0, *trial_counts.lost_count)), strict=True)
        )
        lost = [(start, start + after - before) for (start, _), (before, after) in windows]
        return _StreamShares(
            intended=[_stream_share(0, trial_counts.intended_count, stream, total) for stream in range(total)],
            offered=[tuple(_stream_share(*span, stream, total) for span, _ in windows) for stream in range(total)],
            lost=[tuple(_stream_share(*span, stream, total) for span in lost) for stream in range(total)],
        )

    def _stream_counts(self, shares: "_StreamShares") -> tuple[StreamCounts, ...]:
        return tuple(
            StreamCounts(
                stream_id=stream.stream_id,
                tx_port=stream.tx_port,
                rx_port=stream.rx_port,
                intended_count=intended_count,
                offered_count=offered_count,
                received_count=offered_count - lost_count,
                lost_count=lost_count,
                duplicate_count=0,
                out_of_order_count=0,
            )
            for stream, intended_count, offered_count, lost_count in zip(
                self._traffic.streams, shares.intended, map(sum, shares.offered), map(sum, shares.lost), strict=True
            )
        )


class _StreamShares(NamedTuple):
    """Frames of each stream: in the entire trial, or in each window."""

    intended: list[int]
    offered: list[tuple[int, ...]]
    lost: list[tuple[int, ...]]


def _stream_share(start: int, end: int, stream: int, total: int) -> int:
    """Return how many of the frames in [start, end) belong to a stream."""
    return (end + total - 1 - stream) // total - (start + total - 1 - stream) // total


def _with_validity(result: TrialResult) -> TrialResult:
    if not result.unsent_count:
        return result
    doubt = Doubt.suspect(
        "offered_short",
        unsent_count=result.unsent_count,
        intended_count=result.intended_count,
        unsent_ratio=result.unsent_count / result.intended_count,
    )
    return result.with_doubt(doubt)
