"""One trial on a TRex server: start, watch, stop, wait for what is on its way."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from nodrop.errors import GeneratorError
from nodrop.generator.base import OnWindow
from nodrop.generator.trex.counters import CounterReader, Snapshot
from nodrop.generator.trex.errors import TrexPortsInUse
from nodrop.generator.trex.rate_check import PortSchedule
from nodrop.generator.trex.session import ALL_PROFILES, PROFILE, PortHandle, TrexSession
from nodrop.generator.trex.trial_windows import CertainLoss, CountSample, Grouping
from nodrop.model.trial import StopClause, Trial

SAMPLE_S = 0.02
SAMPLE_TIME_RATIO = 0.1
"""Of the time: what looking may take of a server, which answers one client at a time."""
SAMPLE_MAX_S = 0.5
SAMPLE_MIN_S = 0.005
WINDOW_S = 0.05
QUIET_S = 0.2
"""Frames in flight are given up once nothing has arrived for this long, as with nodrop's own engine."""
DRAIN_MAX_S = 2.0
"""RFC 2544 section 23."""
BEGIN_MAX_S = 1.0
"""How long the first frame may take to leave."""
ALL_CORES = 2**64 - 1


class PortLoad(NamedTuple):
    """What a port is to send in a trial."""

    port: PortHandle
    multiplier: float
    """Of the rates of its streams; latency streams keep theirs."""
    load_pps: float
    """What that comes to."""
    parts: int
    """Its streams, each on each core that sends."""


class TrialSetup(NamedTuple):
    """What trials on the same streams share."""

    session: TrexSession
    counters: CounterReader
    grouping: Grouping
    tx_ports: tuple[int, ...]
    """Of each stream of the traffic, the port that sends it."""
    user: str
    check_alive: Callable[[], None]


@dataclass
class TrialRecord:
    """How a trial went."""

    counts: Snapshot
    """All that was counted since it began."""
    start_s: float
    """When the first frame was due, on the monotonic clock."""
    schedules: tuple[PortSchedule, ...]
    """Of each port."""
    sent_for_s: float = 0.0
    """From the first frame's time to the last one's, where something ended it that was not its time."""
    samples: list[CountSample] = field(default_factory=list)
    """At the ends of windows, and last at everything."""
    sender_busy: float = 0.0
    """Share of their time that sending threads were busy, at most."""
    receiver_busy: float = 0.0
    stopped_by: StopClause | None = None
    interruption: KeyboardInterrupt | None = None
    """By the user."""
    overdue: bool = False
    """Whether it was ended with frames left to send for which there was no more time."""
    cut_short: bool = False
    """Whether the server, or somebody else there, ended it before its time."""


class TrialRun:
    """A trial, on streams that are there already."""

    def __init__(
        self, setup: TrialSetup, port_loads: Sequence[PortLoad], trial: Trial, allowance_s: float, on_window: OnWindow
    ) -> None:
        """To be carried out with these multipliers; frames are on their way for `allowance_s` at the longest, as far as
        the stop rule is concerned.
        """
        self._setup = setup
        self._port_loads = port_loads
        self._trial = trial
        self._losses = CertainLoss(allowance_s)
        self._on_window = on_window
        self._before = setup.counters.read()
        schedules = tuple(PortSchedule(each.load_pps, trial.duration_s, each.parts) for each in port_loads)
        self.record = TrialRecord(self._before.since(self._before), time.monotonic(), schedules)
        self._cost_s = 0.0
        self._stopped = False

    def run(self, *, in_order: bool) -> TrialRecord:
        """Carry it out.

        Args:
            in_order: whether an interrupt by the user ends it in order, with its counts.

        Raises: GeneratorError; KeyboardInterrupt unless in order.
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
        """All ports by one message, so that they begin one right after the other."""
        self.record.start_s = time.monotonic()
        for schedule in self.record.schedules:
            schedule.start_requested_s = self.record.start_s
        senders = [each for each in self._port_loads if each.load_pps > 0]
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
        """Until everything was sent, or its time is over, or the stop rule ends it."""
        record, rule = self.record, self._trial.stop
        next_window_s = WINDOW_S
        while True:
            self._wait()
            self._setup.check_alive()
            if self._is_overdue(time.monotonic()):
                record.overdue = True
                return
            look = self._look()
            elapsed_s = look.at_s - record.start_s
            self._losses.look(look)
            if self._is_over(look):
                return
            if elapsed_s >= next_window_s:
                self._close_window(look)
                next_window_s = elapsed_s + WINDOW_S
            first_s = self._losses.first_s
            lossy_s = None if first_s is None else first_s - record.start_s
            if rule and (clause := rule.fires(elapsed_s, self._losses.count, lossy_s)):
                record.stopped_by = clause
                return

    def _wait(self) -> None:
        """Until it is time to look again: soon, but not so often that the server has to do with nothing else."""
        pause_s = min(max(SAMPLE_S, self._cost_s / SAMPLE_TIME_RATIO), SAMPLE_MAX_S)
        now_s = time.monotonic()
        left = [
            schedule.end_s - now_s
            for schedule in self.record.schedules
            if schedule.end_s is not None and not schedule.done
        ]
        time.sleep(min([pause_s, *(max(left_s, SAMPLE_MIN_S) for left_s in left)]))

    def _is_over(self, look: CountSample) -> bool:
        record = self.record
        schedules = [schedule for schedule in record.schedules if schedule.rate_pps > 0]
        if all(schedule.done for schedule in schedules):
            return True
        if not record.counts.sending:
            record.cut_short = any(schedule.is_missing(look.requested_s) for schedule in schedules)
            return True
        return False

    def _is_overdue(self, now_s: float) -> bool:
        """Whether the time of every port is over that has not sent all, as far as is known."""
        schedules = [schedule for schedule in self.record.schedules if schedule.rate_pps > 0]
        return all(schedule.done or schedule.is_overdue(now_s, BEGIN_MAX_S) for schedule in schedules)

    def _stop(self) -> None:
        self._stopped = True
        requested_s = time.monotonic()
        session = self._setup.session
        session.batch([each.port.request("stop_traffic", profile_id=ALL_PROFILES) for each in self._port_loads])
        self.record.sent_for_s = (requested_s + time.monotonic()) / 2 - self.record.start_s

    def _await_arrivals(self) -> None:
        """Until all of it is there, nothing has come for a while, or too long."""
        began_s = changed_s = time.monotonic()
        last: CountSample | None = None
        while True:
            look = self._look()
            if last is None or (look.offered, look.received) != (last.offered, last.received):
                last, changed_s = look, look.replied_s
            arrived = all(back >= sent for sent, back in zip(look.offered, look.received, strict=True))
            quiet_s, drain_s = look.replied_s - changed_s, look.replied_s - began_s
            if (arrived and not self.record.counts.sending) or quiet_s > QUIET_S or drain_s > DRAIN_MAX_S:
                break
            time.sleep(max(SAMPLE_MIN_S, self._cost_s))
        self._close_window(look)
        # What had not been seen yet when time was over may have left in time.
        self.record.overdue &= not all(self._has_sent_all(number) for number in range(len(self.record.schedules)))

    def _has_sent_all(self, number: int) -> bool:
        schedule = self.record.schedules[number]
        return self._sent_count(number) >= schedule.due_count - schedule.parts

    def _sent_count(self, number: int) -> int:
        """Frames that a port has sent."""
        counts, ports = self.record.counts.offered, self._setup.tx_ports
        return sum(count for count, port in zip(counts, ports, strict=True) if port == number)

    def _look(self) -> CountSample:
        """All counts since the trial began; every port's timetable is told of them."""
        setup, record = self._setup, self.record
        now = record.counts = setup.counters.read(self._before)
        for port, sending in zip(now.ports, self._port_loads, strict=True):
            if port.owner not in ("", setup.user):
                raise TrexPortsInUse(
                    f"port {sending.port.number} asked for user {setup.user}, found that {port.owner} took it "
                    "meanwhile; agree with him who measures when"
                )
        # Once it was told to stop, nothing is due any more.
        for number, schedule in enumerate(() if self._stopped else record.schedules):
            schedule.look(now.requested_s, now.replied_s, self._sent_count(number))
        starts = [schedule.start_s for schedule in record.schedules if schedule.start_s is not None]
        record.start_s = min(starts, default=record.start_s)
        record.sender_busy = max(record.sender_busy, now.server.sender_busy)
        record.receiver_busy = max(record.receiver_busy, now.server.receiver_busy)
        self._cost_s = now.replied_s - now.requested_s
        return setup.grouping.look(now)

    def _close_window(self, look: CountSample) -> None:
        self.record.samples.append(look)
        elapsed_s = max(0.0, look.at_s - self.record.start_s)
        self._on_window(elapsed_s, sum(look.offered), sum(look.received), self._losses.count)

    def _leave_clean(self) -> None:
        """Without removed filters the next trial's counters of frames received would stand still."""
        ports = [each.port for each in self._port_loads]
        with suppress(GeneratorError):
            self._setup.session.batch([port.request("stop_traffic", profile_id=ALL_PROFILES) for port in ports])
            self._setup.session.batch([port.request("remove_rx_filters", profile_id=ALL_PROFILES) for port in ports])
