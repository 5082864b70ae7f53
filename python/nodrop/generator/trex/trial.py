"""One trial on a TRex server: start, watch, stop, wait for frames in flight."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from nodrop.errors import GeneratorError
from nodrop.generator.base import OnWindow
from nodrop.generator.trex.clock import Clock
from nodrop.generator.trex.counters import CounterReader, Snapshot
from nodrop.generator.trex.rate_check import PortSchedule
from nodrop.generator.trex.rpc import TrexPortsInUse
from nodrop.generator.trex.session import ALL_PROFILES, PROFILE, PortHandle, TrexSession
from nodrop.generator.trex.trial_windows import CertainLoss, CountSample, Grouping
from nodrop.model.trial import WINDOW_S, StopClause, Trial

SAMPLE_S = 0.02
SAMPLE_TIME_RATIO = 0.1
"""Highest share of time spent on sampling: a server serves one client at a time."""
SAMPLE_MAX_S = 0.5
SAMPLE_MIN_S = 0.005
QUIET_S = 0.2
"""Frames in flight are given up after this time without arrivals, as with nodrop's own engine."""
DRAIN_MAX_S = 2.0
"""RFC 2544 section 23."""
BEGIN_MAX_S = 1.0
"""Time for the first frame to be sent."""
ALL_CORES = 2**64 - 1


class PortLoad(NamedTuple):
    """The load of a port in a trial."""

    port: PortHandle
    multiplier: float
    """Of the rates of its streams, except latency streams."""
    load_pps: float
    """The resulting load."""
    parts: int
    """Its streams times the sending cores; also a port without load may have streams that announce addresses."""


class TrialSetup(NamedTuple):
    """What trials on the same streams share."""

    session: TrexSession
    counters: CounterReader
    grouping: Grouping
    tx_ports: tuple[int, ...]
    """The sending port of each stream of the traffic."""
    user: str
    check_alive: Callable[[], None]
    clock: Clock


@dataclass
class TrialRecord:
    """The course of a trial."""

    counts: Snapshot
    """All counts since it began."""
    start_s: float
    """Time when the first frame was due, on the monotonic clock."""
    schedules: tuple[PortSchedule, ...]
    """Of each port."""
    sent_for_s: float = 0.0
    """Time between first and last frame, if the trial did not end by itself."""
    samples: list[CountSample] = field(default_factory=list)
    """At the ends of windows; the last one covers all arrivals."""
    drained_count: int = 0
    """Frames that arrived after the trial had been stopped."""
    sender_busy: float = 0.0
    """Highest share of time that sending threads were busy."""
    receiver_busy: float = 0.0
    stopped_by: StopClause | None = None
    interruption: KeyboardInterrupt | None = None
    """Interrupt by the user."""
    overdue: bool = False
    """Whether the time was over with frames left to send."""
    cut_short: bool = False
    """Whether the server or another client ended it early."""


class TrialRun:
    """A trial on streams that exist on the server."""

    def __init__(
        self, setup: TrialSetup, port_loads: Sequence[PortLoad], trial: Trial, allowance_s: float, on_window: OnWindow
    ) -> None:
        """Prepare a trial with these loads; for the stop rule, frames are in flight for at most `allowance_s`."""
        self._setup = setup
        self._clock = setup.clock
        self._port_loads = port_loads
        self._trial = trial
        self._losses = CertainLoss(allowance_s)
        self._on_window = on_window
        self._before = setup.counters.read()
        schedules = tuple(PortSchedule(each.load_pps, trial.duration_s, each.parts) for each in port_loads)
        self.record = TrialRecord(self._before.since(self._before), self._clock.monotonic(), schedules)
        self._cost_s = 0.0
        self._stopped = False

    def run(self, *, in_order: bool) -> TrialRecord:
        """Run the trial.

        Args:
            in_order: whether an interrupt by the user stops it in order and keeps its counts.

        Raises: GeneratorError; KeyboardInterrupt unless `in_order`.
        """
        try:
            self._start()
            try:
                self._watch()
            except KeyboardInterrupt as interruption:
                if not in_order:
                    raise
                self.record.interruption = interruption
            self._stop()
            self._await_arrivals()
        finally:
            self._leave_clean()
        return self.record

    def _start(self) -> None:
        """Start all ports in one message, so that they begin in quick succession."""
        self.record.start_s = self._clock.monotonic()
        for schedule in self.record.schedules:
            schedule.start_requested_s = self.record.start_s
        senders = [each for each in self._port_loads if each.parts]
        self._setup.session.batch(
            [
                each.port.request(
                    "start_traffic",
                    profile_id=PROFILE,
                    mul={"type": "raw", "op": "abs", "value": each.multiplier},
                    duration=self._trial.duration_s,
                    force=True,
                    core_mask=ALL_CORES,
                )
                for each in senders
            ]
        )

    def _watch(self) -> None:
        """Wait until everything was sent, the time is over, or the stop rule fires."""
        record, rule = self.record, self._trial.stop
        next_window_s = WINDOW_S
        while True:
            self._wait()
            self._setup.check_alive()
            if self._is_overdue(self._clock.monotonic()):
                record.overdue = True
                return
            sample = self._sample()
            elapsed_s = sample.at_s - record.start_s
            self._losses.update(sample)
            if self._is_over(sample):
                return
            if elapsed_s >= next_window_s:
                self._close_window(sample)
                next_window_s = elapsed_s + WINDOW_S
            first_s = self._losses.first_s
            lossy_s = None if first_s is None else first_s - record.start_s
            if rule and (clause := rule.fires(elapsed_s, self._losses.count, lossy_s)):
                record.stopped_by = clause
                return

    def _wait(self) -> None:
        """Wait for the next sample: soon, but without occupying the server."""
        pause_s = min(max(SAMPLE_S, self._cost_s / SAMPLE_TIME_RATIO), SAMPLE_MAX_S)
        now_s = self._clock.monotonic()
        left = [
            schedule.end_s - now_s
            for schedule in self.record.schedules
            if schedule.end_s is not None and not schedule.done
        ]
        self._clock.sleep(min([pause_s, *(max(left_s, SAMPLE_MIN_S) for left_s in left)]))

    def _is_over(self, sample: CountSample) -> bool:
        record = self.record
        schedules = [schedule for schedule in record.schedules if schedule.rate_pps > 0]
        if all(schedule.done for schedule in schedules):
            return True
        if not record.counts.sending:
            record.cut_short = any(schedule.is_missing(sample.requested_s) for schedule in schedules)
            return True
        return False

    def _is_overdue(self, now_s: float) -> bool:
        """Return whether the time is over for every port that has not sent all frames."""
        schedules = [schedule for schedule in self.record.schedules if schedule.rate_pps > 0]
        return all(schedule.done or schedule.is_overdue(now_s, BEGIN_MAX_S) for schedule in schedules)

    def _stop(self) -> None:
        self._stopped = True
        requested_s = self._clock.monotonic()
        session = self._setup.session
        session.batch([each.port.request("stop_traffic", profile_id=ALL_PROFILES) for each in self._port_loads])
        self.record.sent_for_s = (requested_s + self._clock.monotonic()) / 2 - self.record.start_s

    def _await_arrivals(self) -> None:
        """Wait until all frames arrived, none arrived for a while, or for too long."""
        began_s = changed_s = self._clock.monotonic()
        first: CountSample | None = None
        last: CountSample | None = None
        while True:
            sample = self._sample()
            first = first or sample
            if last is None or (sample.offered, sample.received) != (last.offered, last.received):
                last, changed_s = sample, sample.replied_s
            arrived = all(back >= sent for sent, back in zip(sample.offered, sample.received, strict=True))
            quiet_s, drain_s = sample.replied_s - changed_s, sample.replied_s - began_s
            if (arrived and not self.record.counts.sending) or quiet_s > QUIET_S or drain_s > DRAIN_MAX_S:
                break
            self._clock.sleep(max(SAMPLE_MIN_S, self._cost_s))
        sent_count = sum(sample.offered) - sum(first.offered)
        self.record.drained_count = max(0, sum(sample.received) - sum(first.received) - sent_count)
        self._close_window(sample)
        # Frames not yet counted when the time was over may have been sent in time.
        self.record.overdue &= not all(self._has_sent_all(number) for number in range(len(self.record.schedules)))

    def _has_sent_all(self, number: int) -> bool:
        schedule = self.record.schedules[number]
        return self._sent_count(number) >= schedule.due_count - schedule.parts

    def _sent_count(self, number: int) -> int:
        """Return the frames that a port has sent."""
        counts, ports = self.record.counts.offered, self._setup.tx_ports
        return sum(count for count, port in zip(counts, ports, strict=True) if port == number)

    def _sample(self) -> CountSample:
        """Read all counts since the trial began and update every port's schedule."""
        setup, record = self._setup, self.record
        now = record.counts = setup.counters.read(self._before)
        for port, sending in zip(now.ports, self._port_loads, strict=True):
            if port.owner not in ("", setup.user):
                raise TrexPortsInUse(
                    f"port {sending.port.number} is not available for user {setup.user}: {port.owner} acquired it "
                    "during the run; coordinate with that user"
                )
        # after the stop request, no frame is due any more
        for number, schedule in enumerate(() if self._stopped else record.schedules):
            schedule.update(now.requested_s, now.replied_s, self._sent_count(number))
        starts = [schedule.start_s for schedule in record.schedules if schedule.start_s is not None]
        record.start_s = min(starts, default=record.start_s)
        record.sender_busy = max(record.sender_busy, now.server.sender_busy)
        record.receiver_busy = max(record.receiver_busy, now.server.receiver_busy)
        self._cost_s = now.replied_s - now.requested_s
        return setup.grouping.sample(now)

    def _close_window(self, sample: CountSample) -> None:
        self.record.samples.append(sample)
        elapsed_s = max(0.0, sample.at_s - self.record.start_s)
        self._on_window(elapsed_s, sum(sample.offered), sum(sample.received), self._losses.count)

    def _leave_clean(self) -> None:
        """Remove filters: while they stay, TRex does not count received frames of the next trial."""
        ports = [each.port for each in self._port_loads]
        with suppress(GeneratorError):
            self._setup.session.batch([port.request("stop_traffic", profile_id=ALL_PROFILES) for port in ports])
            self._setup.session.batch([port.request("remove_rx_filters", profile_id=PROFILE) for port in ports])
