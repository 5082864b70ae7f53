"""One trial: the request to the generator and its counts (RFC 2544 section 23, RFC 9971 Trial)."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, Self

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.ledger import ChainHops, LossLedger
from nodrop.model.message import Message, Scalar
from nodrop.model.neighbor import NeighborCounts
from nodrop.model.trial_event import TrialEvent

StopClause = Literal["lost_count", "after_loss", "elapsed", "quiet"]
"""The clause of a stop rule that ended a trial."""


WINDOW_S = 0.05
"""Length of a window of counts within a trial; only the last one may be shorter."""
EXTENSION_MAX_RATIO = 4.0
"""Longest extension of a disturbed trial of a search, as a multiple of its duration: beyond, too little of it would be
undisturbed to judge (`nodrop.run.retries`)."""
DISTURBED_MAX_RATIO = 0.8
"""Share of disturbed time above which a trial of a search that misses frames is not extended, and is invalid."""
SEARCH = "search"
"""Phase of the trials of a search."""
WARM_UP = "warm-up"
"""Phase of frames that are sent before a trial and not counted."""
FIXED = "fixed"
"""Phase of a trial at a fixed rate."""


class StopRule(Value):
    """Ends a trial early, at the end of a window, by the first clause that applies.

    Only `lost_count` leaves every decision unchanged; the others end probes, which then count as shorter trials.
    """

    lost_count: int | None = Field(default=None, ge=0)
    """Stop once more than this many frames, over all streams, are certainly lost."""
    after_loss_s: float | None = Field(default=None, ge=0)
    """Stop this long after the end of the first window in which a frame was certainly lost."""
    elapsed_s: float | None = Field(default=None, gt=0)
    """Stop this long after the first frame was due."""
    quiet_s: float | None = Field(default=None, gt=0)
    """Stop this long after the first frame was due if fewer than `quiet_lost_count` frames were lost until then."""
    quiet_lost_count: int = Field(default=1, ge=1)

    def fires(self, elapsed_s: float, lost_count: int, first_loss_s: float | None) -> StopClause | None:
        """Return the clause that ends the trial now, if any.

        Args:
            elapsed_s: end of the latest window.
            lost_count: frames certainly lost since the trial began, all streams.
            first_loss_s: end of the first window by which a frame was certainly lost; None before that.
        """
        if self.lost_count is not None and lost_count > self.lost_count:
            return "lost_count"
        if self.after_loss_s is not None and first_loss_s is not None and elapsed_s >= first_loss_s + self.after_loss_s:
            return "after_loss"
        if self.quiet_s is not None and elapsed_s >= self.quiet_s and lost_count < self.quiet_lost_count:
            return "quiet"
        if self.elapsed_s is not None and elapsed_s >= self.elapsed_s:
            return "elapsed"
        return None


class LoadPhase(Value):
    """A part of a trial in which the load of each stream is constant."""

    begin_s: float = Field(ge=0)
    """Time since the first frame was due."""
    loads_pps: tuple[float, ...]
    """Load of each stream until the next phase begins; 0: it does not send."""


class Trial(Value):
    """The request for a trial: a load, a duration, and a stop rule."""

    intended_load_pps: float = Field(gt=0)
    """Frames per second, aggregate over all streams."""
    load_phases: tuple[LoadPhase, ...] = ()
    """Loads that differ from it, from the begin of the trial; empty: none."""
    duration_s: float = Field(gt=0)
    burst: bool = False
    """Whether it is a burst: each port sends exactly the intended frames, back to back at this load, and one that falls
    behind moves its timetable instead of catching up. RFC 9004 section 5, RFC 2544 section 26.4."""
    rest_s: float = Field(default=0.0, ge=0)
    """Time without traffic before it."""
    stop: StopRule | None = None
    extension_max_s: float | None = Field(default=None, ge=0)
    """Longest time by which disturbed time may extend the trial; None: `EXTENSION_MAX_RATIO` of its duration."""
    reason: Message = Message()
    """Why the search requests this trial."""
    goal: str = ""
    """Label of its goal; empty if the trial serves no goal in particular."""
    rule: str = ""
    """Name of the rule or model that chose the load, e.g. `bisect`; the module of each search lists its own."""


class TimeSummary(Value):
    """Durations in nanoseconds, from an HdrHistogram of three significant digits."""

    count: int
    min_ns: int
    mean_ns: float
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int


class LatencySummary(TimeSummary):
    """Latency of frames received: receive time minus actual send time."""

    pdv_ns: int
    """Packet delay variation: 99.9th percentile minus smallest (RFC 5481 sections 4.2 and 6.5)."""
    ipdv: TimeSummary | None = None
    """Differences of the latencies of frames sent one after the other, without their signs (RFC 5481 section 4.1)."""
    hdr: str | None = None
    """The histogram: HdrHistogram V2, deflated, base64."""


class Reordering(Value):
    """Frames that arrived after a later one of their stream (RFC 4737 Type-P-Reordered)."""

    count: int
    extent_max: int
    """Frames that arrived since the first that overtook it, itself included: the most (RFC 4737 section 4.2)."""
    extent_mean: float
    extent_counts: tuple[int, ...]
    """Frames by extent: 1, 2 to 3, 4 to 7, ..."""


class LossRuns(Value):
    """Consecutive lost frames (RFC 3357 loss periods)."""

    count: int
    """Runs of lost frames."""
    longest: int
    """Frames in the longest run."""


class FrameTimes(Value):
    """Times of a frame that arrived, in nanoseconds since the first frame of the trial was due."""

    sent_ns: int
    received_ns: int


class LossRun(Value):
    """Consecutive lost frames of a stream, and the frames around them."""

    first_sequence: int
    """Sequence number of the first of them, from 0."""
    count: int
    before: FrameTimes | None
    """The frame before them; None if they are the first of the stream."""
    after: FrameTimes | None
    """The frame after them; None if they are the last of the stream."""


class StreamCounts(Value):
    """The frames of one stream in one trial, each counted once."""

    stream_id: int
    tx_port: int
    rx_port: int
    intended_count: int
    """Frames due at this load in this duration."""
    offered_count: int
    """Frames that left the tester (RFC 2285 3.5.2)."""
    received_count: int
    """Distinct frames that arrived, without duplicates."""
    lost_count: int
    """Offered minus received."""
    duplicate_count: int
    out_of_order_count: int
    """Frames that arrived after a later one of their stream (RFC 4737 Type-P-Reordered)."""
    compared_count: int = 0
    """Frames whose headers were compared with those that the SUT must have written."""
    misdelivered_count: int = 0
    """Of these, frames with other headers: of another subscriber, or to another next hop."""
    reordering: Reordering | None = None
    loss_runs: LossRuns | None = None
    loss_timeline: tuple[LossRun, ...] = ()
    """The runs in time, in a trial with events; fewer than `loss_runs` counts if there are very many."""
    arrival_gap_max_ns: int = 0
    """Longest time between two arrivals."""
    first_arrival_ns: int | None = None
    """Time of the first arrival, in nanoseconds since the first frame of the trial was due. None unless the trial is a
    burst, and if no frame arrived."""
    last_arrival_ns: int | None = None
    """The same of the last arrival."""
    change_sequences: tuple[int, ...] = ()
    """Sequence number of its next frame at the begin of each load phase but the first."""


class Series(Value):
    """Subject of a time series: a stream if there are few, else all streams between two ports."""

    tx_port: int
    rx_port: int
    stream_id: int | None = None
    first_phase: int = 0
    """Load phase in which its streams begin to send."""


class DirectionTimes(Series):
    """Latency of the frames of a series: of a stream where there are no more than 256."""

    latency_every: int
    """Latency is measured for every nth frame of a stream; 0: for none."""
    latency: LatencySummary | None


class Stall(Value):
    """Stalls of a sender beyond the time that it may catch up."""

    count: int
    longest_ns: int
    longest_at_s: float
    """Start of the longest stall, since the first frame was due."""


class BurstTimes(Value):
    """Timing of the frames that one port sent in a burst (RFC 9004 section 5): whether it left as intended."""

    first_sent_ns: int
    """Time at which its first frame was sent, in nanoseconds since the first frame of the trial was due."""
    last_sent_ns: int
    """The same of its last frame."""
    gap_max_ns: int
    """Longest time between two consecutive frames."""
    ahead_max_count: int
    """Largest number of frames ahead of the intended load: the longest queue of them if it is emptied at that load,
    without the frame that is leaving it."""
    shift_ns: int
    """Time by which the timetable moved because the sender was held up."""


class SenderTimes(Value):
    """Timing of the frames sent by one port."""

    port: int
    lateness: TimeSummary | None
    """Actual minus intended send time, that of a burst in its moved timetable."""
    gaps: TimeSummary | None
    """Time between two frames; frames of a batch share its time evenly."""
    stalls: Stall | None
    unsent_count: int
    """Frames overdue for longer than the sender may catch up, and therefore never sent."""
    burst: BurstTimes | None = None
    """None unless the trial is a burst."""


class DisturbedTime(Value):
    """The part of each window in which other work on the machine disturbed tester or SUT."""

    time_s: tuple[float, ...]
    """Disturbed time in each window."""
    offered_count: tuple[tuple[int, ...], ...]
    """[series][window], frames sent meanwhile."""
    received_count: tuple[tuple[int, ...], ...] = ()
    """[series][window], frames received meanwhile; empty if unknown."""
    lost_count: tuple[tuple[int, ...], ...]
    """[series][window], frames lost, of those that a later one overtook meanwhile."""


class OtherWork(Value):
    """CPU time of processes that are neither tester nor SUT, on a CPU of theirs."""

    name: str
    """Name of the processes, up to 15 bytes."""
    pid: int | None
    """None for several of that name."""
    cpu: int
    time_s: float


class CpuSpeed(Value):
    """Speed of a CPU of the SUT during a trial.

    A CPU is slow while another hardware thread works on its core, possibly of another guest of the host, and at a lower
    clock rate.
    """

    cpu: int
    mean_ratio: float
    """Mean speed, as a share of the fastest since the ports were opened."""
    usual_ratio: float
    """Usual speed, i.e. the median of the latest trials, as a share of the fastest."""
    slow_time_s: float
    """Time in which the CPU was clearly slower than usual; it is disturbed time."""


class UndisturbedCounts(Value):
    """A trial without its disturbed time, all streams."""

    duration_s: float
    """Undisturbed time of sending."""
    offered_count: int
    lost_count: int
    unsent_count: int
    """Frames that were due and not sent."""

    @property
    def loss_ratio(self) -> float:
        """Lost share in [0, 1]; unsent frames count as lost."""
        intended = self.offered_count + self.unsent_count
        return (self.lost_count + self.unsent_count) / intended if intended else 1.0

    @property
    def sut_loss_ratio(self) -> float:
        """Lost share of the frames offered: the SUT cannot lose unsent frames."""
        return self.lost_count / self.offered_count if self.offered_count else 0.0


class WindowLatency(Value):
    """Latency of a series by window."""

    count: tuple[int, ...]
    """Frames whose latency was measured."""
    sum_ns: tuple[int, ...]
    """Sum of their latencies."""
    min_ns: tuple[int, ...]
    """Smallest latency; 0 without any."""
    max_ns: tuple[int, ...]
    """Largest latency; 0 without any."""


class Windows(Value):
    """The trial as a time series: frames sent and received within each window, per stream or direction."""

    series: tuple[Series, ...] = ()
    """Subject of each series; empty if each stream has one."""
    end_s: tuple[float, ...]
    """End of each window, seconds since the trial's first frame was due; the last one may end after sending did, with
    the wait for frames in flight."""
    offered_count: tuple[tuple[int, ...], ...]
    """[series][window]"""
    received_count: tuple[tuple[int, ...], ...]
    """[series][window]"""
    lost_count: tuple[tuple[int, ...], ...] = ()
    """[series][window], frames lost, by the window in which a later one overtook them; empty if unknown.

    The last window includes those that no frame overtook, so that the windows add up to the lost count.
    """
    latency: tuple[WindowLatency, ...] = ()
    """Latency of the frames that arrived within each window, by series; empty if unknown."""
    disturbed_time: DisturbedTime | None = None
    """None if no time was disturbed, or disturbances were not looked for."""


class ValidityStatus(StrEnum):
    """How far a trial's counts can be trusted."""

    VALID = "valid"
    SUSPECT = "suspect"
    """The counts are correct, but the tester or the host may have affected them."""
    INVALID = "invalid"
    """The counts do not represent the SUT; the trial never moves a bound."""


class Capture(Value):
    """Frames of a trial captured in a file."""

    file: str
    """A pcapng file."""
    frame_count: int
    dropped_count: int
    """Frames that were not captured for lack of space."""


class Doubt(Message):
    """A reason to distrust a trial, with the value and the limit that it exceeds."""

    code: str
    """aborted, burst_fast, burst_rate, burst_slow, clock_jump, counters_frozen, cpu_steal, cpu_throttled, disturbed,
    engine_died, generator_gone, held_up, misdelivered, offered_short, queue_full, receiver_starved, sender_drops,
    sender_late, sender_stalled, stopped_for_late, sut_preempted, tester_busy, tester_drops, tester_preempted"""
    verdict: ValidityStatus
    """Status of the trial because of this reason alone."""

    @classmethod
    def invalid(cls, code: str, /, **params: Scalar) -> "Doubt":
        """Return a doubt that makes the trial invalid."""
        return cls(code=code, params=params, verdict=ValidityStatus.INVALID)

    @classmethod
    def suspect(cls, code: str, /, **params: Scalar) -> "Doubt":
        """Return a doubt that makes the trial suspect."""
        return cls(code=code, params=params, verdict=ValidityStatus.SUSPECT)


class Validity(Value):
    """How far a trial's counts can be trusted, and every reason to doubt them."""

    verdict: ValidityStatus = ValidityStatus.VALID
    doubts: tuple[Doubt, ...] = ()

    @classmethod
    def of(cls, doubts: Iterable[Doubt]) -> "Validity":
        """Return the validity of a trial with these doubts: the worst that any of them makes of it."""
        doubts = tuple(doubts)
        severity = list(ValidityStatus).index
        return cls(verdict=max((doubt.verdict for doubt in doubts), key=severity, default=cls().verdict), doubts=doubts)


class TrialResult(Value):
    """A trial and its outcome."""

    trial: Trial
    index: int = Field(ge=0)
    """Position in the run, from 0."""
    phase: str
    """Purpose of the trial: `search`, `latency <label>` or `fixed`."""
    started_at: str
    """UTC, ISO 8601."""
    duration_s: float
    """Time of sending; shorter than requested if the stop rule fired, longer if the sender of a burst was held up."""
    stopped_early: bool
    stopped_by: StopClause | None = None
    """The clause of the stop rule that ended it."""
    streams: tuple[StreamCounts, ...]
    directions: tuple[DirectionTimes, ...] = ()
    """Latency; empty if unknown."""
    senders: tuple[SenderTimes, ...] = ()
    """Timing of each sending port; empty if unknown."""
    events: tuple[TrialEvent, ...] = ()
    """Changes of the SUT during the trial."""
    begin_unix_ns: int = 0
    """Time at which the first frame was due, in nanoseconds since the epoch; 0 if it is not known."""
    corrupted_count: int = 0
    """Test frames that arrived with altered content; they count as lost. Checked for frames of up to 128 bytes whose
    signature follows a UDP header."""
    tester_drop_count: int
    """Frames that reached the tester and were dropped in its own receive path."""
    tester_cpu_ratio: float
    """CPU time of the engine's threads over the trial, in cores."""
    neighbors: tuple[NeighborCounts, ...] = ()
    """ARP and neighbor discovery meanwhile, of each port that takes part in it."""
    windows: Windows
    undisturbed_counts: UndisturbedCounts | None = None
    """Its counts without disturbed time, by which searches judge it; None if no time was disturbed, no frame is
    missing, or the search counts all time."""
    other_work: tuple[OtherWork, ...] = ()
    """What ran on the CPUs of tester and SUT in a disturbed trial, longest first."""
    cpu_speeds: tuple[CpuSpeed, ...] = ()
    """Speed of the SUT's CPUs; empty if disturbed time is not separated, or the SUT is not pinned to CPUs."""
    validity: Validity
    capture: Capture | None = None
    """Its frames in a file, if captured."""
    ledger: LossLedger | None = None
    """Where its frames were lost; None without a host whose counters can be read."""
    chain_hops: tuple[ChainHops, ...] = ()
    """Counts of every hop of every chain; empty if the host's counters were not read."""

    def with_doubt(self, doubt: Doubt) -> "TrialResult":
        """Return the result with one more reason to doubt it."""
        return self.replace(validity=Validity.of((*self.validity.doubts, doubt)))

    @property
    def intended_count(self) -> int:
        """Frames due at this load in this duration, all streams."""
        return sum(s.intended_count for s in self.streams)

    @property
    def offered_count(self) -> int:
        """Frames that left the tester, all streams."""
        return sum(s.offered_count for s in self.streams)

    @property
    def received_count(self) -> int:
        """Distinct frames received, all streams."""
        return sum(s.received_count for s in self.streams)

    @property
    def lost_count(self) -> int:
        """Frames offered and never received."""
        return self.offered_count - self.received_count

    @property
    def unsent_count(self) -> int:
        """Frames the tester failed to send, zero within the tolerance of 10 microseconds' worth of traffic.

        Source: draft-ietf-bmwg-mlrsearch-01 section 5.1 item 5.
        """
        return self._apply_tolerance(self.intended_count - self.offered_count)

    def _apply_tolerance(self, short_count: int) -> int:
        tolerance = self.trial.intended_load_pps * UNSENT_TOLERANCE_S
        return short_count if short_count > max(1.0, tolerance) else 0

    @property
    def loss_ratio(self) -> float:
        """Lost share in [0, 1]; unsent frames count as lost (draft-ietf-bmwg-mlrsearch-01 section 5.1 item 5)."""
        unsent = self.unsent_count
        intended = self.offered_count + unsent
        return (self.lost_count + unsent) / intended if intended else 1.0

    def without_histograms(self) -> Self:
        """Return the trial with the summaries of its latencies only."""
        return self.replace(
            directions=tuple(
                way.replace(latency=way.latency.replace(hdr=None)) if way.latency else way for way in self.directions
            )
        )

    @property
    def is_throttled(self) -> bool:
        """Whether a CPU quota stopped tester or SUT, whatever else followed from it."""
        return any(doubt.code == "cpu_throttled" for doubt in self.validity.doubts)

    @property
    def judged_counts(self) -> UndisturbedCounts:
        """The counts by which goals are judged: without disturbed time, if that was separated."""
        if rest := self.undisturbed_counts:
            return rest.replace(unsent_count=self._apply_tolerance(rest.unsent_count))
        return UndisturbedCounts(
            duration_s=self.duration_s,
            offered_count=self.offered_count,
            lost_count=self.lost_count,
            unsent_count=self.unsent_count,
        )

    @property
    def judged_loss_ratio(self) -> float:
        """The loss ratio by which goals are judged; unsent frames count as lost."""
        return self.judged_counts.loss_ratio if self.undisturbed_counts else self.loss_ratio

    @property
    def disturbed_ratio(self) -> float:
        """Share of the time of sending that other work disturbed and that is left out."""
        return (
            1.0 - self.undisturbed_counts.duration_s / self.duration_s
            if self.undisturbed_counts and self.duration_s
            else 0.0
        )

    @property
    def is_undecided(self) -> bool:
        """Whether too little of it was undisturbed to tell if its load meets a goal."""
        return any(
            doubt.code == "disturbed" and doubt.verdict is ValidityStatus.INVALID for doubt in self.validity.doubts
        )

    @property
    def offered_ratio(self) -> float:
        """Share of the intended frames that left the tester."""
        return self.offered_count / self.intended_count if self.intended_count else 1.0

    @property
    def has_shortfall(self) -> bool:
        """Whether the tester sent fewer frames than intended, by more than rounding."""
        return self.offered_ratio < OFFERED_RATIO_MIN

    @property
    def offered_load_pps(self) -> float:
        """Rate at which frames really left the tester, all streams."""
        return self.offered_count / self.duration_s if self.duration_s else 0.0

    @property
    def forwarding_rate_pps(self) -> float:
        """Rate of received frames while the load was offered (RFC 2285 3.6.1)."""
        return self.received_count / self.duration_s if self.duration_s else 0.0


OFFERED_RATIO_MIN = 0.9999
"""Share of the intended frames below which the tester fell short."""
UNSENT_TOLERANCE_S = 10e-6
"""Time whose frames may remain unsent without counting as lost."""
