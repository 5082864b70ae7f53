"""Figures of the tests of RFC 2544: throughput, latency, frame loss rate, back-to-back frames.

Source: RFC 2544 sections 26.1 to 26.4; RFC 9004 section 6 for the buffer times; RFC 8219 section 7.2 for percentiles.
"""

from statistics import fmean, median, stdev

from pydantic import computed_field

from nodrop.model.base import Value
from nodrop.model.choices import Rfc2544Test
from nodrop.model.goal import Limit
from nodrop.model.procedure import Rfc2544Plan
from nodrop.rates import ROUNDING_TOLERANCE
from nodrop.units import format_count, format_pps, format_seconds


class Throughput(Value):
    """The highest rate without loss at one frame size (section 26.1). Rates are over all directions."""

    frame_bytes: int
    run_id: str
    load_pps: float
    """The lower bound, at which a trial of `duration_s` lost nothing."""
    upper_pps: float | None
    """The upper bound; None at the line rate."""
    line_rate_pps: float
    duration_s: float
    limit: Limit
    is_confirmed: bool
    """Whether both bounds were found as close as required, or the line rate was forwarded."""
    trial_count: int
    tester_pps: float | None
    """The rate that the tester reached where it could not send the line rate; None if it was not tried, or sent."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def line_ratio(self) -> float:
        """Share of the line rate."""
        return self.load_pps / self.line_rate_pps

    @property
    def is_line_rate(self) -> bool:
        """Whether the line rate was forwarded, so that the path cannot be overloaded."""
        is_highest = self.load_pps >= self.line_rate_pps * (1 - ROUNDING_TOLERANCE)
        return self.limit is Limit.MAX_LOAD or is_highest


class LatencyTrial(Value):
    """The latency of all frames of one trial."""

    run_id: str
    min_ns: float
    mean_ns: float
    typical_ns: float | None
    """Median."""
    worst_ns: float | None
    """99.9th percentile."""
    max_ns: float
    lost_count: int


class Latency(Value):
    """Latency at throughput (section 26.2; figures as in RFC 8219 section 7.2)."""

    frame_bytes: int
    load_pps: float
    trials: tuple[LatencyTrial, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def mean_ns(self) -> float:
        """Mean over the trials of their means."""
        return fmean(trial.mean_ns for trial in self.trials)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def typical_ns(self) -> float | None:
        """Median over the trials of their medians."""
        known = [trial.typical_ns for trial in self.trials if trial.typical_ns is not None]
        return median(known) if known else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def worst_ns(self) -> float | None:
        """Median over the trials of their 99.9th percentiles."""
        known = [trial.worst_ns for trial in self.trials if trial.worst_ns is not None]
        return median(known) if known else None


class LossPoint(Value):
    """The frame loss rate at one load (section 26.3)."""

    share_ratio: float
    """The load as a share of the line rate."""
    load_pps: float
    """Over all directions."""
    duration_s: float
    offered_count: int
    """Frames that left the tester."""
    received_count: int
    unsent_count: int
    """Frames that the tester failed to send; they do not count as lost."""
    is_suspect: bool

    @computed_field  # type: ignore[prop-decorator]
    @property
    def loss_ratio(self) -> float:
        """(offered - received) / offered."""
        return (self.offered_count - self.received_count) / self.offered_count if self.offered_count else 1.0

    @property
    def forwarding_rate_pps(self) -> float:
        """Frames received per second of sending (RFC 2285 section 3.6.1)."""
        return self.received_count / self.duration_s


class FrameLoss(Value):
    """The frame loss rate at one frame size, from the highest load down."""

    frame_bytes: int
    run_id: str
    points: tuple[LossPoint, ...]


class BackToBack(Value):
    """The longest burst without loss at one frame size (section 26.4, RFC 9004). Rates are of one direction."""

    frame_bytes: int
    run_id: str
    frame_counts: tuple[int, ...]
    """The longest burst of each repeat, in frames of each direction."""
    is_limit: bool
    """Whether the longest burst allowed passed, so that longer ones may."""
    line_rate_pps: float
    throughput_pps: float
    throughput_upper_pps: float | None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def mean_count(self) -> float:
        """Mean of the repeats: the benchmark."""
        return fmean(self.frame_counts)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def deviation_count(self) -> float | None:
        """Sample standard deviation of the repeats; None for one."""
        return stdev(self.frame_counts) if len(self.frame_counts) > 1 else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def implied_buffer_s(self) -> float:
        """Sending time of the mean burst (RFC 9004 section 6: implied DUT buffer time)."""
        return self.mean_count / self.line_rate_pps

    @computed_field  # type: ignore[prop-decorator]
    @property
    def corrected_buffer_s(self) -> float | None:
        """That without the frames forwarded meanwhile (RFC 9004 section 6: corrected DUT buffer time)."""
        return None if self.is_limit else self.implied_buffer_s * (1 - self.throughput_pps / self.line_rate_pps)

    @property
    def buffered_count(self) -> float | None:
        """Frames that the buffer holds."""
        corrected_s = self.corrected_buffer_s
        return None if corrected_s is None else corrected_s * self.line_rate_pps


class Omission(Value):
    """A test of one frame size without a value."""

    frame_bytes: int
    test: Rfc2544Test
    reason: str
    is_failure: bool
    """Whether it could not be measured; else it does not apply."""


class Rfc2544Report(Value):
    """What the tests found."""

    plan: Rfc2544Plan
    throughputs: tuple[Throughput, ...]
    latencies: tuple[Latency, ...]
    losses: tuple[FrameLoss, ...]
    bursts: tuple[BackToBack, ...]
    omissions: tuple[Omission, ...]
    deviations: tuple[str, ...] = ()
    """Each with its code."""

    def find_throughput(self, frame_bytes: int) -> Throughput | None:
        """Return the throughput of a frame size; None if it was not found."""
        return next((each for each in self.throughputs if each.frame_bytes == frame_bytes), None)

    def find_latency(self, frame_bytes: int) -> Latency | None:
        """Return the latency of a frame size; None if it was not measured."""
        return next((each for each in self.latencies if each.frame_bytes == frame_bytes), None)

    def find_loss(self, frame_bytes: int) -> FrameLoss | None:
        """Return the frame loss rate of a frame size; None if it was not measured."""
        return next((each for each in self.losses if each.frame_bytes == frame_bytes), None)

    def find_burst(self, frame_bytes: int) -> BackToBack | None:
        """Return the longest burst of a frame size; None if it was not measured."""
        return next((each for each in self.bursts if each.frame_bytes == frame_bytes), None)

    def find_omission(self, frame_bytes: int, test: Rfc2544Test) -> Omission | None:
        """Return why a test of a frame size has no value; None if it has one, or is still to come."""
        return next((each for each in self.omissions if (each.frame_bytes, each.test) == (frame_bytes, test)), None)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The answer in a sentence. The figure for one size is that of the smallest frames (RFC 2544 section 26.1)."""
        if not self.throughputs:
            return "No throughput was found." if "throughput" in self.plan.tests else f"{self._describe_rest()}."
        first = self.throughputs[0]
        rate = f"{format_pps(first.load_pps)} at {first.frame_bytes} bytes"
        share = "the line rate" if first.is_line_rate else f"{first.line_ratio:.1%} of the line rate".replace("%", " %")
        return f"Throughput is {rate}, {share}{self._describe_rest(', ')}."

    def _describe_rest(self, prefix: str = "") -> str:
        parts = []
        if self.bursts and (seconds := self.bursts[0].corrected_buffer_s) is not None:
            parts.append(f"the buffer holds {format_seconds(seconds)} ({self.bursts[0].buffered_count:,.0f} frames)")
        sizes = format_count(len(self.plan.frame_bytes), "frame size")
        return prefix + "; ".join((*parts, f"{sizes} tested"))
