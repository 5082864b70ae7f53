"""A TRex server as a measurer. Start reading the package here.

session: the server, its ports ─► streams: what to send ─► trial: start, watch, stop ─► outcome: counts and doubts
"""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from nodrop.errors import GeneratorError
from nodrop.generator.base import OnWindow, TrialInterrupted
from nodrop.generator.lost_trial import unmeasured
from nodrop.generator.stations import addressed
from nodrop.generator.trex import relay, trial_result
from nodrop.generator.trex.counters import Counters
from nodrop.generator.trex.errors import TrexSilent
from nodrop.generator.trex.frames import Template, templates
from nodrop.generator.trex.latency import directions
from nodrop.generator.trex.rpc import reach
from nodrop.generator.trex.server import ensure_running
from nodrop.generator.trex.session import PROFILE, PortHandle, TrexSession
from nodrop.generator.trex.stream_set import PortProgramme, Programme
from nodrop.generator.trex.streams import COUNTERS_USUAL, programme
from nodrop.generator.trex.trial import DRAIN_MAX_S, Bench, Course, Sending, TrialRun
from nodrop.generator.trex.trial_windows import Grouping, in_flight
from nodrop.model.facts import PortFacts
from nodrop.model.neighbor import NeighborPlan, NextHop
from nodrop.model.result import DirectionCheck
from nodrop.model.traffic import Traffic
from nodrop.model.trex import TrexPlan
from nodrop.model.trial import FIXED, Trial, TrialResult

SEARCH = "search"
"""Phase whose trials carry no latency streams: their load is the traffic asked for and nothing else."""
LATENCY_SHARE_MAX = 0.1
"""Of a stream's load, at most so much is sent by its latency stream, whose frames may be larger and all of one flow."""
ON_WAY_S = 0.01
"""How long a frame is taken to be on its way at first, for what is certainly lost; trials tell better."""
BACK_MAX_S = 10.0
"""How long a server that vanished in the trial before may take to be there again."""

NextHops = Mapping[tuple[int, int], NextHop]


@dataclass
class _Open:
    """A server in use."""

    session: TrexSession
    handles: list[PortHandle]
    traffic: Traffic
    """Addressed to its next hops."""
    templates: tuple[Template, ...]
    notes: tuple[str, ...]
    next_hops: NextHops
    closing: ExitStack


class TrexMeasurer:
    """Runs trials on a TRex server; see `nodrop.generator.base.Measurer`.

    A server that vanishes during a trial is one invalid trial that says so; the next trial finds it again, or ends the
    run.
    """

    def __init__(
        self,
        plan: TrexPlan,
        traffic: Traffic,
        neighbors: NeighborPlan | None = None,
        *,
        check_alive: Callable[[], None],
        interfaces: tuple[str, ...] = (),
    ) -> None:
        """Prepare to use the server's ports `plan.ports`, in the order of the streams' port indices, as these stations
        and towards these next hops. `check_alive` is called while waiting and raises when the path under test is gone;
        `interfaces` are what messages call the ports.
        """
        self._plan = plan
        self._traffic = traffic
        self._neighbors = neighbors or NeighborPlan()
        self._check_alive = check_alive
        self._names = interfaces or tuple(f"TRex port {number}" for number in plan.ports)
        self._opened: _Open | None = None
        self._vanished = False
        self._on_way_s = ON_WAY_S

    def __enter__(self) -> Self:
        """Find the server, or start it, take its ports, find next hops. Raises GeneratorError."""
        self._open()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop traffic and let go of the ports; never raises."""
        opened, self._opened = self._opened, None
        if opened:
            with suppress(GeneratorError):
                opened.closing.close()

    @property
    def version(self) -> str:
        """Version of the server and of the interface spoken with it."""
        session = self._open().session
        return f"TRex {session.version} (API {session.api})"

    @property
    def commit(self) -> str:
        """Not known of TRex."""
        return "unknown"

    @property
    def ports(self) -> tuple[PortFacts, ...]:
        """The server's ports as they were taken."""
        opened = self._open()
        return tuple(self._port_facts(opened, index) for index in range(len(self._plan.ports)))

    @property
    def notes(self) -> tuple[str, ...]:
        """What TRex sends otherwise than nodrop's own engine would."""
        return self._open().notes

    def check_path(self) -> tuple[DirectionCheck, ...]:
        """Send learning frames along every stream. Raises NoPath naming each chain and direction at fault."""
        opened = self._open()
        return relay.check(
            opened.session,
            self._plan,
            opened.traffic,
            neighbors=self._neighbors,
            names=self._names,
            next_hops=opened.next_hops,
        )

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        """Run one trial. Raises GeneratorError when it could not be run at all; TrialInterrupted."""
        started_at = datetime.now(UTC).isoformat()
        heard = [0.0, 0]

        def hear(elapsed_s: float, offered: int, received: int, lost: int = 0) -> None:
            heard[:] = elapsed_s, offered
            on_window(elapsed_s, offered, received, lost)

        def result(fields: dict[str, Any]) -> TrialResult:
            return TrialResult(trial=trial, index=index, phase=phase, started_at=started_at, **fields)

        opened = self._open()
        try:
            course, fields = self._run(opened, trial, phase, hear)
        except TrexSilent as silence:
            self.__exit__()
            self._vanished = True
            return result(
                unmeasured(
                    self._traffic,
                    "generator_gone",
                    f"{silence}; {heard[0]:.2f} s into the trial, {heard[1]} frames sent",
                )
            )
        if course.interruption:
            raise TrialInterrupted(str(course.interruption), result(fields)) from None
        found = result(fields)
        self._learn_from(course, found)
        return found

    def _learn_from(self, course: Course, result: TrialResult) -> None:
        """How long frames are on their way: as long as they were, and twice as long as was taken where that misled."""
        frames = sum(in_flight(course.looks))
        stayed_s = frames / result.offered_load_pps if result.offered_load_pps else 0.0
        misled = result.stopped_by in {"lost_count", "after_loss"} and not result.lost_count
        misled = misled or any(doubt.code == "stopped_for_late" for doubt in result.validity.doubts)
        self._on_way_s = min(max(self._on_way_s * (2 if misled else 1), stayed_s), DRAIN_MAX_S)

    def _run(self, opened: _Open, trial: Trial, phase: str, on_window: OnWindow) -> tuple[Course, dict[str, Any]]:
        session, cores = opened.session, opened.session.core_count
        made = self._programme(opened, trial, phase)
        self._load(opened, made)
        sendings = [
            _sending(handle, port, trial.intended_load_pps, cores)
            for handle, port in zip(opened.handles, made.ports, strict=True)
        ]
        bench = Bench(
            session=session,
            counters=Counters(session, opened.handles, opened.traffic, made),
            grouping=Grouping(opened.traffic),
            tx_ports=tuple(stream.tx_port for stream in opened.traffic.streams),
            user=self._plan.user,
            check_alive=self._check_alive,
        )
        course = TrialRun(bench, sendings, trial, self._on_way_s, on_window).run(in_order=phase == FIXED)
        loads_pps = _loads_pps(opened.traffic, made, sendings)
        fields = trial_result.fields(trial, opened.traffic, course, loads_pps, cores)
        if phase != SEARCH:
            fields["directions"] = directions(
                opened.traffic, made.counted, course.counts.latency, loads_pps, whole=True
            )
        return course, fields

    def _programme(self, opened: _Open, trial: Trial, phase: str) -> Programme:
        """What is sent in a trial; in one of the search no latency streams, in others those the load has room for."""
        smallest_pps = trial.intended_load_pps * min(opened.traffic.load_ratios)
        latency_pps = min(self._plan.latency_load_pps, LATENCY_SHARE_MAX * smallest_pps)
        if phase == SEARCH:
            latency_pps = 0.0
        counts = [opened.session.counter_count(number) for number in self._plan.ports]
        return programme(
            opened.traffic,
            self._plan.model_copy(update={"latency_load_pps": latency_pps}),
            opened.templates,
            counter_count=min(count if count is not None else COUNTERS_USUAL for count in counts),
            announced=relay.announced(self._neighbors),
            announce_every_s=self._neighbors.announce_every_s,
        )

    def _load(self, opened: _Open, made: Programme) -> None:
        """Give the ports their streams anew, whose counters and histograms so begin at nothing."""
        session = opened.session
        for handle, port in zip(opened.handles, made.ports, strict=True):
            handle.call("remove_all_streams", profile_id=PROFILE)
            if port.vxlan_ports:
                handle.call("set_port_attr", attr={"vxlan_fs": list(port.vxlan_ports)})
            session.batch([handle.request("add_stream", profile_id=PROFILE, **stream) for stream in port.streams])
            if port.announcements:
                relay.announce(handle, port.announcements)

    def _open(self) -> _Open:
        """The server with its ports taken, found anew when it is not in use."""
        if self._opened is None:
            with ExitStack() as closing:
                self._opened = self._connect(closing)
                self._opened.closing = closing.pop_all()
        return self._opened

    def _connect(self, closing: ExitStack) -> _Open:
        plan = self._plan
        if self._vanished:
            self._await_back()
        ensure_running(plan)
        session = closing.enter_context(TrexSession(plan))
        handles = session.take(plan.ports)
        next_hops = relay.resolve(session, plan, self._traffic, neighbors=self._neighbors, names=self._names)
        traffic = addressed(self._traffic, next_hops)
        found = templates(traffic)
        notes = programme(traffic, plan, found).notes
        if plan.service_mode:
            for handle in handles:
                closing.callback(_without_service, handle)
                handle.call("service", enabled=True)
        return _Open(session, handles, traffic, found, notes, next_hops, closing)

    def _await_back(self) -> None:
        """Give a server that vanished some time; whoever connects next says that it is not there."""
        end_s = time.monotonic() + BACK_MAX_S
        while time.monotonic() < end_s and reach(self._plan.host, self._plan.rpc_port, 1.0) and not self._plan.start:
            self._check_alive()
            time.sleep(0.5)

    def _port_facts(self, opened: _Open, index: int) -> PortFacts:
        number = self._plan.ports[index]
        port = next(each for each in opened.session.ports if each.number == number)
        speed = f", {port.speed_bps / 1e9:g} Gb/s" if port.speed_bps else ""
        its = tuple(next_hop for (tx_port, _), next_hop in sorted(opened.next_hops.items()) if tx_port == index)
        return PortFacts(
            interface=self._names[index],
            backend="trex",
            why=f"port {number} of TRex {opened.session.version} at {self._plan.host}: {port.driver}{speed}",
            queue_slots=0,
            next_hop=its[0] if its else None,
            next_hops=its if len(its) > 1 else (),
        )


def _sending(handle: PortHandle, port: PortProgramme, load_pps: float, cores: int) -> Sending:
    parts = len(port.streams) * max(1, cores)
    return Sending(handle, port.multiplier(load_pps), load_pps * port.load_ratio, parts)


def _loads_pps(traffic: Traffic, made: Programme, sendings: list[Sending]) -> list[float]:
    """Of each stream, its latency stream included."""
    return [
        sendings[stream.tx_port].multiplier * ratio + counted.latency_load_pps
        for stream, ratio, counted in zip(traffic.streams, traffic.load_ratios, made.counted, strict=True)
    ]


def _without_service(handle: PortHandle) -> None:
    with suppress(GeneratorError):
        handle.call("service", enabled=False)
