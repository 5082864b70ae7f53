"""nodrop's engine at the ports of a TRex server: path checks and next hops run the same code as at its own ports."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from nodrop.errors import GeneratorError
from nodrop.generator.engine_process import EngineDied, EngineProcess, Reply
from nodrop.generator.path_check import find_faults, no_path_error, to_direction_check
from nodrop.generator.stations import (
    NextHops,
    next_hop_queries,
    parse_next_hops,
    resolve_request,
    stations_by_port,
    stream_request,
)
from nodrop.generator.trex.frames import build_announcements
from nodrop.generator.trex.packet_io import PacketExchange, capture_filter, push
from nodrop.generator.trex.relay_sockets import RelaySockets
from nodrop.generator.trex.session import PortHandle, TrexSession
from nodrop.model.neighbor import NeighborPlan, NextHop
from nodrop.model.result import DirectionCheck
from nodrop.model.traffic import SizeShare, Stream, Traffic
from nodrop.model.trex import TrexPlan

ANSWER_TIMEOUT_S = 30.0
SIGNATURE_BYTES = 18
FCS_BYTES = 4
FRAME_BYTES_MIN = 64
QUEUE_SLOTS = 4096


class Relay:
    """An engine that sends and receives through the plan's ports, as a context manager."""

    def __init__(
        self, session: TrexSession, plan: TrexPlan, traffic: Traffic, *, neighbors: NeighborPlan, names: tuple[str, ...]
    ) -> None:
        """Use acquired ports without streams; `names` are the ports' names in messages."""
        self._session, self._plan, self._traffic, self._neighbors = session, plan, traffic, neighbors
        self._names = names
        self._stack = ExitStack()
        self._engine: EngineProcess | None = None

    def __enter__(self) -> Self:
        """Start the engine and the transport. Raises GeneratorError."""
        with ExitStack() as stack:
            sockets = stack.enter_context(RelaySockets(len(self._plan.ports)))
            exchange = PacketExchange(
                self._session, self._plan, sockets, capture_filter(self._traffic, self._neighbors)
            )
            self._engine = EngineProcess(None, exchange.check)
            stack.callback(self._engine.end)
            self.ask(self._open_request(sockets))
            stack.enter_context(exchange)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End both and restore the plan's mode of the ports."""
        self._stack.close()

    def ask(self, request: dict[str, Any], timeout_s: float = 0.0) -> Reply:
        """Send the engine a request that may take `timeout_s`. Raises GeneratorError."""
        assert self._engine
        try:
            return self._engine.request(request, timeout_s + ANSWER_TIMEOUT_S)
        except EngineDied as error:
            raise GeneratorError(f"nodrop-engine at TRex's ports: {error}") from None
        except GeneratorError as error:
            if type(error) is not GeneratorError:
                raise
            raise GeneratorError(self._rename_error(str(error))) from None

    def _open_request(self, sockets: RelaySockets) -> dict[str, Any]:
        ports: list[dict[str, Any]] = [
            {"backend": "relay", "interface": line.path, "queue_slots": QUEUE_SLOTS} for line in sockets
        ]
        for port, its in stations_by_port(self._neighbors).items():
            ports[port]["stations"] = [station.model_dump() for station in its]
        self._paths = [line.path for line in sockets]
        streams = [stream_request(smallest(stream)) for stream in self._traffic.streams]
        return {"op": "open", "ports": ports, "streams": streams}

    def _rename_error(self, message: str) -> str:
        """Replace the names of sockets in an engine's message by those of the ports."""
        for path, name in zip(self._paths, self._names, strict=True):
            message = message.replace(path, name)
        return message


def smallest(stream: Stream) -> Stream:
    """Return the stream with the smallest frames that the engine can recognize."""
    bytes_min = max(stream.header_bytes + SIGNATURE_BYTES + FCS_BYTES, FRAME_BYTES_MIN)
    size = max(bytes_min, min(size.frame_bytes for size in stream.sizes))
    return stream.replace(sizes=(SizeShare(frame_bytes=size),), size_order="mixed")


SETTLE_S = 0.1


def resolve_next_hops(
    session: TrexSession, plan: TrexPlan, traffic: Traffic, *, neighbors: NeighborPlan, names: tuple[str, ...]
) -> dict[tuple[int, int], NextHop]:
    """Resolve the next hop of each port and chain; stations reply meanwhile.

    Uses acquired ports without streams, in service mode.

    Raises: GeneratorError naming the next hops that did not reply.
    """
    if not next_hop_queries(neighbors):
        return {}
    with Relay(session, plan, traffic, neighbors=neighbors, names=names) as relay:
        reply = relay.ask(resolve_request(neighbors), neighbors.timeout_s * neighbors.tries)
    return parse_next_hops(neighbors, reply)


def announcements_by_port(neighbors: NeighborPlan) -> dict[int, tuple[bytes, ...]]:
    """Return the frames that announce the stations' addresses by tester port; none if announcements are off.

    Source: RFC 5227 section 3, RFC 4861 section 7.2.6.
    """
    if neighbors.announce_every_s is None:
        return {}
    each = [(port, station) for port, its in stations_by_port(neighbors).items() for station in its]
    reported = build_announcements([station for _, station in each])
    found: dict[int, tuple[bytes, ...]] = {}
    for (port, _), frames in zip(each, reported, strict=True):
        found[port] = found.get(port, ()) + frames
    return found


def announce(port: PortHandle, frames: Sequence[bytes]) -> None:
    """Announce addresses once, and wait for the frames to arrive."""
    push(port, frames)
    time.sleep(SETTLE_S)


CHECK_TIMEOUT_S = 3.0


def check_path(
    session: TrexSession,
    plan: TrexPlan,
    traffic: Traffic,
    *,
    neighbors: NeighborPlan,
    names: tuple[str, ...],
    next_hops: NextHops,
) -> tuple[DirectionCheck, ...]:
    """Send learning frames along every stream, which is already addressed to its next hop.

    Uses acquired ports without streams, in service mode; their stations reply meanwhile.

    Raises: NoPathError naming each failing chain and direction; GeneratorError.
    """
    with Relay(session, plan, traffic, neighbors=neighbors, names=names) as relay:
        reply = relay.ask({"op": "check", "timeout_s": CHECK_TIMEOUT_S}, CHECK_TIMEOUT_S)
    pairs = zip(traffic.streams, reply["directions"], strict=True)
    checks = tuple(to_direction_check(stream, direction) for stream, direction in pairs)
    found = find_faults(traffic, checks, names, next_hops)
    if found:
        raise no_path_error(found, traffic, checks, next_hops)
    return checks
