"""Frames and rates of a trial: of each direction and in total, with warnings."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from nodrop.export.nfvbench.schema import Rate
from nodrop.formatting.messages import format_message
from nodrop.model.base import Value
from nodrop.model.plan import Plan
from nodrop.model.traffic import Stream
from nodrop.model.trial import DirectionTimes, TrialResult
from nodrop.rates import WIRE_OVERHEAD_BYTES, compute_theoretical_rate
from nodrop.units import format_pps

EXTRA = "extra_encapsulation_bytes"
"""Key of `user_info` with the bytes that a SUT adds to frames."""
SHORT_RATIO = 0.9
"""Share of the intended load below which NFVbench warns about the sent load."""


class DirectionCounts(Value):
    """All frames of one direction; forward is from left to right."""

    forward: bool
    intended_pps: float
    offered_count: int
    received_count: int
    duration_s: float
    """Time the tester sent."""
    frame_bytes: float
    """Mean frame size, including FCS."""
    line_rate_bps: float
    """Line rate of all ports that send in this direction."""
    latency: tuple[DirectionTimes, ...]

    @property
    def has_traffic(self) -> bool:
        """Whether the direction has an intended load."""
        return self.intended_pps > 0

    @property
    def lost_count(self) -> int:
        """Frames sent and not received."""
        return self.offered_count - self.received_count

    @property
    def offered_pps(self) -> float:
        """Rate as sent."""
        return self.offered_count / self.duration_s if self.duration_s else 0.0

    @property
    def received_pps(self) -> float:
        """Rate as received."""
        return self.received_count / self.duration_s if self.duration_s else 0.0

    def wire_bps(self, rate_pps: float) -> float:
        """Convert a frame rate to bits per second on the wire."""
        return rate_pps * (self.frame_bytes + WIRE_OVERHEAD_BYTES) * 8

    def percent(self, rate_pps: float) -> float:
        """Convert a frame rate to percent of line rate."""
        return 100 * self.wire_bps(rate_pps) / self.line_rate_bps if self.line_rate_bps else 0.0

    def rate(self, rate_pps: float, initial_rate_type: str) -> Rate:
        """Convert a frame rate to NFVbench's form."""
        return Rate(
            initial_rate_type=initial_rate_type,
            rate_pps=round(rate_pps),
            rate_bps=round(self.wire_bps(rate_pps)),
            rate_percent=round(self.percent(rate_pps), 6),
        )


def is_forward(stream: Stream | DirectionTimes) -> bool:
    """Return whether the direction is left to right: the left port of each chain is the lower one."""
    return stream.tx_port < stream.rx_port


def count_directions(plan: Plan, trial: TrialResult) -> tuple[DirectionCounts, DirectionCounts]:
    """Return the counts of both directions, also without traffic."""
    return _count_direction(plan, trial, True), _count_direction(plan, trial, False)


def _count_direction(plan: Plan, trial: TrialResult, forward: bool) -> DirectionCounts:
    paired = zip(plan.traffic.streams, plan.traffic.load_ratios, strict=True)
    streams = [(stream, ratio) for stream, ratio in paired if is_forward(stream) is forward]
    ids = {stream.stream_id for stream, _ in streams}
    counts = [each for each in trial.streams if each.stream_id in ids]
    return DirectionCounts(
        forward=forward,
        intended_pps=trial.trial.intended_load_pps * sum(ratio for _, ratio in streams),
        offered_count=sum(each.offered_count for each in counts),
        received_count=sum(each.received_count for each in counts),
        duration_s=trial.duration_s,
        frame_bytes=plan.traffic.mean_frame_bytes({stream.tx_port for stream, _ in streams}),
        line_rate_bps=float(plan.link_speed_bps * len({stream.tx_port for stream, _ in streams})),
        latency=tuple(times for times in trial.directions if is_forward(times) is forward),
    )


def compute_loss_percent(ways: Sequence[DirectionCounts]) -> float | None:
    """Return lost frames in percent of sent frames; None without sent frames."""
    sent = sum(way.offered_count for way in ways)
    return round(100 * sum(way.lost_count for way in ways) / sent, 6) if sent else None


def build_totals(plan: Plan, ways: Sequence[DirectionCounts]) -> dict[str, float]:
    """Build the total sent rates and the line rate of the links inside the SUT."""
    extra = plan.user_info.get(EXTRA, 0)
    ports = {stream.tx_port for stream in plan.traffic.streams}
    extra_bytes = extra if isinstance(extra, int | float) and not isinstance(extra, bool) else 0
    most = compute_theoretical_rate(plan.traffic.largest_frame_bytes, extra_bytes, plan.link_speed_bps, len(ports))
    return {
        "total_tx_rate": round(sum(way.offered_pps for way in ways)),
        "offered_tx_rate_bps": float(round(sum(way.wire_bps(way.offered_pps) for way in ways))),
        "theoretical_tx_rate_pps": float(round(most.rate_pps)),
        "theoretical_tx_rate_bps": float(round(most.rate_bps)),
    }


def build_warning(trial: TrialResult, of_run: Iterable[str] = ()) -> dict[str, str]:
    """Build the field `warning` with reasons to distrust a trial and its run, a line each; no field without any."""
    texts = [format_message(doubt) for doubt in trial.validity.doubts]
    intended, sent = trial.trial.intended_load_pps, trial.offered_load_pps
    if sent < SHORT_RATIO * intended:
        texts.insert(0, f"the tester sent only {format_pps(sent)} of the intended {format_pps(intended)}")
    texts += of_run
    return {"warning": "\n".join(texts)} if texts else {}


def compute_end_s(trial: TrialResult) -> float:
    """Return the end of a trial, in seconds since 1970."""
    return datetime.fromisoformat(trial.started_at).timestamp() + trial.duration_s
