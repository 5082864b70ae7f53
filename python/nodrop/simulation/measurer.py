"""A measurer without packets: trials answered by a simulated SUT at once, on a clock of its own.

It lets a whole run be driven, tested and shown on any machine:

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
from nodrop.model.trial import Doubt, StreamCounts, Trial, TrialResult, Validity, Verdict, Windows
from nodrop.simulation.function_sut import ModelledSut, SutModel
from nodrop.simulation.offer import Taken, take
from nodrop.simulation.sut import Sut

CHECK_FRAMES = 10
"""Learning frames per stream in the path check."""
OVERHEAD_S = 0.5
"""Time a trial takes beside its sending."""


class SimulatedMeasurer:
    """Answers every trial from a SUT, at once; see `nodrop.generator.base.Measurer`.

    Frames are dealt to the streams in turn. Nothing is known of latency, so none is reported.
    """

    version = "simulated"
    commit = "unknown"
    notes: tuple[str, ...] = ()
    ports: tuple[PortFacts, ...] = ()

    def __init__(self, traffic: Traffic, sut: Sut | SutModel, overhead_s: float = OVERHEAD_S) -> None:
        self._began_at = datetime.now(UTC)
        self.now_s = 0.0
        """Time since the simulation began: that of all trials, and of the dead time after each."""
        self._traffic = traffic
        self._sut = sut if isinstance(sut, Sut) else ModelledSut(sut)
        self._overhead_s = overhead_s

    def __enter__(self) -> Self:
        """Nothing to start."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing to stop."""

    def check_path(self) -> tuple[DirectionCheck, ...]:
        """Ask the SUT about a few frames per stream. Raises GeneratorError when none comes back."""
        trial = Trial(intended_load_pps=float(CHECK_FRAMES * len(self._traffic.streams)), duration_s=1.0)
        checks = tuple(
            DirectionCheck(
                stream_id=counts.stream_id,
                tx_port=counts.tx_port,
                rx_port=counts.rx_port,
                sent_count=counts.offered_count,
                received_count=counts.received_count,
            )
            for counts in self._stream_counts(self._dealt(self._take(trial)))
        )
        for check in checks:
            if check.received_count == 0:
                raise GeneratorError(
                    f"stream {check.stream_id}, port {check.tx_port} to port {check.rx_port}: {check.sent_count} "
                    "learning frames sent, none came back; the simulated SUT must forward a trickle"
                )
        return checks

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        """Offer the trial to the SUT, cut short where its stop rule says so."""
        started_at = self._began_at + timedelta(seconds=self.now_s)
        taken = self._take(trial)
        for elapsed_s, offered_count, lost_count in zip(
            taken.end_s, taken.offered_count, taken.lost_count, strict=True
        ):
            on_window(elapsed_s, offered_count, offered_count - lost_count, lost_count)
        dealt = self._dealt(taken)
        result = TrialResult(
            trial=trial,
            index=index,
            phase=phase,
            started_at=started_at.isoformat(),
            duration_s=taken.elapsed_s,
            stopped_early=taken.stopped_by is not None,
            stopped_by=taken.stopped_by,
            streams=self._stream_counts(dealt),
            tester_drop_count=0,
            tester_cpu_ratio=0.0,
            windows=Windows(
                end_s=tuple(taken.end_s),
                offered_count=tuple(dealt.offered),
                received_count=tuple(
                    tuple(map(sub, offered, lost)) for offered, lost in zip(dealt.offered, dealt.lost, strict=True)
                ),
                lost_count=tuple(dealt.lost),
            ),
            validity=Validity(verdict=Verdict.VALID),
        )
        return _with_validity(result)

    def _take(self, trial: Trial) -> Taken:
        taken = take(self._sut, trial, self.now_s)
        self.now_s += taken.elapsed_s + self._overhead_s
        return taken

    def _dealt(self, taken: Taken) -> "_Dealt":
        """Who sent and lost what in each window: the streams take turns; a window loses its first frames."""
        total = len(self._traffic.streams)
        windows = list(zip(pairwise((0, *taken.offered_count)), pairwise((0, *taken.lost_count)), strict=True))
        lost = [(start, start + after - before) for (start, _), (before, after) in windows]
        return _Dealt(
            intended=[_turns(0, taken.intended_count, stream, total) for stream in range(total)],
            offered=[tuple(_turns(*span, stream, total) for span, _ in windows) for stream in range(total)],
            lost=[tuple(_turns(*span, stream, total) for span in lost) for stream in range(total)],
        )

    def _stream_counts(self, dealt: "_Dealt") -> tuple[StreamCounts, ...]:
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
                self._traffic.streams, dealt.intended, map(sum, dealt.offered), map(sum, dealt.lost), strict=True
            )
        )


class _Dealt(NamedTuple):
    """Frames by stream: in the whole trial, or in each window."""

    intended: list[int]
    offered: list[tuple[int, ...]]
    lost: list[tuple[int, ...]]


def _turns(start: int, end: int, stream: int, total: int) -> int:
    """How many of the frames from `start` up to but not `end` are the stream's."""
    return (end + total - 1 - stream) // total - (start + total - 1 - stream) // total


def _with_validity(result: TrialResult) -> TrialResult:
    if not result.unsent_count:
        return result
    doubt = Doubt(
        code="offered_short",
        verdict=Verdict.SUSPECT,
        text=f"{result.offered_count} of {result.intended_count} frames were sent; the rest counts as lost",
    )
    return result.model_copy(update={"validity": Validity(verdict=Verdict.SUSPECT, doubts=(doubt,))})
