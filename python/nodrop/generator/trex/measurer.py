"""A TRex server as a traffic generator. Start reading this package here.

session: the server, its ports ─► streams: what to send ─► trial: start, watch, stop ─► result: counts and doubts
"""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from nodrop.errors import GeneratorError
from nodrop.generator.base import OnWindow, TrialInterrupted, lost_trial_fields
from nodrop.generator.stations import address_to_next_hops
from nodrop.generator.trex import relay, trial_result
from nodrop.generator.trex.clock import Clock
from nodrop.generator.trex.counters import CounterReader
from nodrop.generator.trex.frames import FrameTemplate, build_templates
from nodrop.generator.trex.latency import latency_directions
from nodrop.generator.trex.rpc import TrexNoReply, TrexRefused, connection_error
from nodrop.generator.trex.server import ensure_running
from nodrop.generator.trex.session import PROFILE, PortHandle, TrexSession
from nodrop.generator.trex.stream_set import PortStreams, StreamSet, vxlan_port
from nodrop.generator.trex.streams import COUNTERS_USUAL, build_stream_set
from nodrop.generator.trex.trial import DRAIN_MAX_S, PortLoad, TrialRecord, TrialRun, TrialSetup
from nodrop.generator.trex.trial_windows import Grouping, in_flight
from nodrop.model.facts import PortFacts
from nodrop.model.neighbor import NeighborPlan, NextHop
from nodrop.model.result import DirectionCheck
from nodrop.model.traffic import Traffic
from nodrop.model.trex import TrexPlan
from nodrop.model.trial import FIXED, SEARCH, Doubt, Trial, TrialResult

LATENCY_RATIO_MAX = 0.1
"""Highest share of a stream's load for its latency stream, whose frames may be larger and are of one flow."""
IN_FLIGHT_FIRST_S = 0.1
"""Time in flight assumed in the first trial: queues of software hold frames for tens of milliseconds."""
IN_FLIGHT_MIN_S = 0.01
"""Shortest time in flight assumed in later trials."""
RECONNECT_MAX_S = 10.0
"""Time for a server that vanished in the previous trial to come back."""

NOT_SUPPORTED = "not supported"
"""Part of the refusal of `vxlan_fs` by ports without it; of TRex's drivers, i40e has it."""
VXLAN_NOTE = "TRex's ports cannot parse VXLAN (vxlan_fs): chains are counted together, by port"

NextHops = Mapping[tuple[int, int], NextHop]


@dataclass
class _Connection:
    """A server in use."""

    session: TrexSession
    plan: TrexPlan
    """Without `flow_stats` if the ports cannot count the streams."""
    handles: list[PortHandle]
    traffic: Traffic
    """Addressed to its next hops."""
    templates: tuple[FrameTemplate, ...]
    notes: tuple[str, ...]
    next_hops: NextHops
    closing: ExitStack


class TrexMeasurer:
    """Runs trials on a TRex server; see `nodrop.generator.base.Measurer`.

    A server that vanishes during a trial makes that trial invalid; the next trial reconnects, or ends the run.
    """

    def __init__(
        self,
        plan: TrexPlan,
        traffic: Traffic,
        neighbors: NeighborPlan | None = None,
        *,
        check_alive: Callable[[], None],
        interfaces: tuple[str, ...] = (),
        clock: Clock = time,
    ) -> None:
        """Prepare to use the server's ports `plan.ports`, ordered by the streams' port index, with the stations and
        next hops of `neighbors`. `check_alive` is called while waiting and raises when the path under test is down;
        `interfaces` are the ports' names in messages; trials last by `clock`."""
        self._plan = plan
        self._traffic = traffic
        self._neighbors = neighbors or NeighborPlan()
        self._check_alive = check_alive
        self._names = interfaces or tuple(f"TRex port {number}" for number in plan.ports)
        self._connection: _Connection | None = None
        self._clock = clock
        self._vanished = False
        self._in_flight_s: float | None = None

    def __enter__(self) -> Self:
        """Find or start the server, acquire its ports, resolve next hops. Raises GeneratorError."""
        self._open()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop traffic and release the ports; never raises."""
        connection, self._connection = self._connection, None
        if connection:
            with suppress(GeneratorError):
                connection.closing.close()

    @property
    def version(self) -> str:
        """Version of the server and of its API in use."""
        session = self._open().session
        return f"TRex {session.version} (API {session.api})"

    @property
    def commit(self) -> str:
        """Unknown for TRex."""
        return "unknown"

    @property
    def ports(self) -> tuple[PortFacts, ...]:
        """The server's ports as acquired."""
        connection = self._open()
        return tuple(self._port_facts(connection, index) for index in range(len(self._plan.ports)))

    @property
    def notes(self) -> tuple[str, ...]:
        """Differences to what nodrop's own engine would send."""
        return self._open().notes

    def check_path(self) -> tuple[DirectionCheck, ...]:
        """Send learning frames along every stream. Raises NoPathError naming each failing chain and direction."""
        connection = self._open()
        return relay.check_path(
            connection.session,
            self._plan,
            connection.traffic,
            neighbors=self._neighbors,
            names=self._names,
            next_hops=connection.next_hops,
        )

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        """Run one trial. Raises GeneratorError if it could not run at all; TrialInterrupted."""
        started_at = datetime.now(UTC).isoformat()
        progress = [0.0, 0]

        def hear(elapsed_s: float, offered: int, received: int, lost: int = 0) -> None:
            progress[:] = elapsed_s, offered
            on_window(elapsed_s, offered, received, lost)

        def result(fields: dict[str, Any]) -> TrialResult:
            return TrialResult(trial=trial, index=index, phase=phase, started_at=started_at, **fields)

        connection = self._open()
        try:
            record, fields = self._run(connection, trial, phase, hear)
        except TrexNoReply as silence:
            self.__exit__()
            self._vanished = True
            doubt = Doubt.invalid(
                "generator_gone", error=str(silence), elapsed_s=progress[0], offered_count=progress[1]
            )
            return result(lost_trial_fields(self._traffic, doubt))
        if record.interruption:
            raise TrialInterrupted(str(record.interruption), result(fields)) from None
        found = result(fields)
        self._update_in_flight_time(record, found)
        return found

    def _update_in_flight_time(self, record: TrialRecord, result: TrialResult) -> None:
        """Set the time in flight to the observed one; double it if a trial stopped for frames that were only late."""
        frames = max(sum(in_flight(record.samples)), record.drained_count)
        stayed_s = frames / result.forwarding_rate_pps if result.forwarding_rate_pps else 0.0
        misled = result.stopped_by in {"lost_count", "after_loss"} and not result.lost_count
        misled = misled or any(doubt.code == "stopped_for_late" for doubt in result.validity.doubts)
        assumed_s = 2 * self._allowance_s if misled else self._in_flight_s or IN_FLIGHT_MIN_S
        self._in_flight_s = min(max(assumed_s, stayed_s), DRAIN_MAX_S)

    @property
    def _allowance_s(self) -> float:
        """Time after which a frame counts as certainly lost while the next trial runs."""
        return self._in_flight_s or IN_FLIGHT_FIRST_S

    def _run(
        self, connection: _Connection, trial: Trial, phase: str, on_window: OnWindow
    ) -> tuple[TrialRecord, dict[str, Any]]:
        session, cores = connection.session, connection.session.core_count
        stream_set = self._stream_set(connection, trial, phase)
        self._load(connection, stream_set)
        port_loads = [
            _sending(handle, port, trial.intended_load_pps, cores)
            for handle, port in zip(connection.handles, stream_set.ports, strict=True)
        ]
        setup = TrialSetup(
            session=session,
            counters=CounterReader(session, connection.handles, connection.traffic, stream_set, self._clock),
            grouping=Grouping(connection.traffic),
            tx_ports=tuple(stream.tx_port for stream in connection.traffic.streams),
            user=self._plan.user,
            check_alive=self._check_alive,
            clock=self._clock,
        )
        record = TrialRun(setup, port_loads, trial, self._allowance_s, on_window).run(in_order=phase == FIXED)
        loads_pps = _loads_pps(connection.traffic, stream_set, port_loads)
        fields = trial_result.result_fields(trial, connection.traffic, record, loads_pps, cores)
        if phase != SEARCH:
            fields["directions"] = latency_directions(
                connection.traffic, stream_set.counted, record.counts.latency, loads_pps, whole=True
            )
        return record, fields

    def _stream_set(self, connection: _Connection, trial: Trial, phase: str) -> StreamSet:
        """Build a trial's streams: without latency streams in the search, else with as many as the load permits."""
        smallest_pps = trial.intended_load_pps * min(connection.traffic.load_ratios)
        latency_pps = min(self._plan.latency_load_pps, LATENCY_RATIO_MAX * smallest_pps)
        if phase == SEARCH:
            latency_pps = 0.0
        counts = [connection.session.counter_count(number) for number in self._plan.ports]
        return build_stream_set(
            connection.traffic,
            connection.plan.replace(latency_load_pps=latency_pps),
            connection.templates,
            counter_count=min(count if count is not None else COUNTERS_USUAL for count in counts),
            announced=relay.announcements_by_port(self._neighbors),
            announce_every_s=self._neighbors.announce_every_s,
        )

    def _load(self, connection: _Connection, stream_set: StreamSet) -> None:
        """Add the streams to the ports again, which resets their counters and histograms."""
        session = connection.session
        # From all ports first: the server refuses a packet group id whose other stream has another protocol.
        session.batch([handle.request("remove_all_streams", profile_id=PROFILE) for handle in connection.handles])
        for handle, port in zip(connection.handles, stream_set.ports, strict=True):
            session.batch([handle.request("add_stream", profile_id=PROFILE, **stream) for stream in port.streams])
            if port.announcements:
                relay.announce(handle, port.announcements)

    def _open(self) -> _Connection:
        """Return the connected server with its ports acquired, reconnecting if necessary."""
        if self._connection is None:
            with ExitStack() as closing:
                self._connection = self._connect(closing)
                self._connection.closing = closing.pop_all()
        return self._connection

    def _connect(self, closing: ExitStack) -> _Connection:
        plan = self._plan
        if self._vanished:
            self._await_reconnect()
        ensure_running(plan)
        session = closing.enter_context(TrexSession(plan))
        handles = session.acquire_ports(plan.ports)
        next_hops = relay.resolve_next_hops(session, plan, self._traffic, neighbors=self._neighbors, names=self._names)
        traffic = address_to_next_hops(self._traffic, next_hops)
        found = build_templates(traffic)
        can_count = _parse_vxlan(handles, traffic)
        counting_plan = plan if can_count else plan.replace(flow_stats=False)
        notes = (*(() if can_count else (VXLAN_NOTE,)), *build_stream_set(traffic, counting_plan, found).notes)
        if plan.service_mode:
            for handle in handles:
                closing.callback(_without_service, handle)
                handle.call("service", enabled=True)
        return _Connection(session, counting_plan, handles, traffic, found, notes, next_hops, closing)

    def _await_reconnect(self) -> None:
        """Wait for a server that vanished; the next connection reports it if it stays away."""
        end_s = time.monotonic() + RECONNECT_MAX_S
        while (
            time.monotonic() < end_s
            and connection_error(self._plan.host, self._plan.rpc_port, 1.0)
            and not self._plan.start
        ):
            self._check_alive()
            time.sleep(0.5)

    def _port_facts(self, connection: _Connection, index: int) -> PortFacts:
        number = self._plan.ports[index]
        port = next(each for each in connection.session.ports if each.number == number)
        speed = f", {port.speed_bps / 1e9:g} Gb/s" if port.speed_bps else ""
        its = tuple(next_hop for (tx_port, _), next_hop in sorted(connection.next_hops.items()) if tx_port == index)
        return PortFacts(
            interface=self._names[index],
            backend="trex",
            why=f"port {number} of TRex {connection.session.version} at {self._plan.host}: {port.driver}{speed}",
            queue_slots=0,
            next_hop=its[0] if its else None,
            next_hops=its if len(its) > 1 else (),
        )


def _parse_vxlan(handles: list[PortHandle], traffic: Traffic) -> bool:
    """Make the ports find the counters' marks inside VXLAN, if streams have it; return whether they can.

    Raises: GeneratorError.
    """
    tunnels = sorted({port for stream in traffic.streams if (port := vxlan_port(stream)) is not None})
    try:
        for handle in handles if tunnels else ():
            handle.call("set_port_attr", attr={"vxlan_fs": tunnels})
    except TrexRefused as refusal:
        if NOT_SUPPORTED not in str(refusal):
            raise
        return False
    return True


def _sending(handle: PortHandle, port: PortStreams, load_pps: float, cores: int) -> PortLoad:
    parts = len(port.streams) * max(1, cores)
    return PortLoad(handle, port.multiplier(load_pps), load_pps * port.load_ratio, parts)


def _loads_pps(traffic: Traffic, stream_set: StreamSet, port_loads: list[PortLoad]) -> list[float]:
    """Return the load of each stream, its latency stream included."""
    return [
        port_loads[stream.tx_port].multiplier * ratio + counted.latency_load_pps
        for stream, ratio, counted in zip(traffic.streams, traffic.load_ratios, stream_set.counted, strict=True)
    ]


def _without_service(handle: PortHandle) -> None:
    with suppress(GeneratorError):
        handle.call("service", enabled=False)
