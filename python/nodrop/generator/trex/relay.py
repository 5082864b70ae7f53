"""nodrop's engine at the ports of a TRex server: what needs few frames is done by the same code as at its own ports."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from nodrop.errors import GeneratorError
from nodrop.generator.engine_process import EngineDied, EngineProcess, Reply
from nodrop.generator.path_check import direction_check, faults, no_path
from nodrop.generator.stations import NextHops, next_hops, questions, resolve_request, stations, stream_request
from nodrop.generator.trex.frames import announcements
from nodrop.generator.trex.packet_io import Exchange, push, wanted
from nodrop.generator.trex.relay_sockets import Lines
from nodrop.generator.trex.session import PortHandle, TrexSession
from nodrop.model.neighbor import NeighborPlan, NextHop
from nodrop.model.result import DirectionCheck
from nodrop.model.traffic import SizeShare, Stream, Traffic
from nodrop.model.trex import TrexPlan

ANSWER_TIMEOUT_S = 10.0
SIGNATURE_BYTES = 18
FCS_BYTES = 4
FRAME_BYTES_MIN = 64
QUEUE_SLOTS = 4096


class Relay:
    """An engine that sends and receives through the plan's ports, as a context manager."""

    def __init__(
        self, session: TrexSession, plan: TrexPlan, traffic: Traffic, *, neighbors: NeighborPlan, names: tuple[str, ...]
    ) -> None:
        """Use ports that the session holds and that have no streams; `names` are those of messages."""
        self._session, self._plan, self._traffic, self._neighbors = session, plan, traffic, neighbors
        self._names = names
        self._stack = ExitStack()
        self._engine: EngineProcess | None = None

    def __enter__(self) -> Self:
        """Start it. Raises GeneratorError."""
        with ExitStack() as stack:
            lines = stack.enter_context(Lines(len(self._plan.ports)))
            exchange = Exchange(self._session, self._plan, lines, wanted(self._traffic, self._neighbors))
            self._engine = EngineProcess(None, exchange.check)
            stack.callback(self._engine.end)
            self.ask(self._open_request(lines))
            stack.enter_context(exchange)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it, and leave TRex's ports as the plan wants them."""
        self._stack.close()

    def ask(self, request: dict[str, Any], timeout_s: float = 0.0) -> Reply:
        """Ask the engine something that may take so long. Raises GeneratorError."""
        assert self._engine
        try:
            return self._engine.request(request, timeout_s + ANSWER_TIMEOUT_S)
        except EngineDied as error:
            raise GeneratorError(f"nodrop-engine at TRex's ports: {error}") from None
        except GeneratorError as error:
            if type(error) is not GeneratorError:
                raise
            raise GeneratorError(self._named(str(error))) from None

    def _open_request(self, lines: Lines) -> dict[str, Any]:
        ports: list[dict[str, Any]] = [
            {"backend": "relay", "interface": line.path, "queue_slots": QUEUE_SLOTS} for line in lines
        ]
        for port, its in stations(self._neighbors).items():
            ports[port]["stations"] = [station.model_dump() for station in its]
        self._paths = [line.path for line in lines]
        streams = [stream_request(smallest(stream)) for stream in self._traffic.streams]
        return {"op": "open", "ports": ports, "streams": streams}

    def _named(self, message: str) -> str:
        """The engine's words, with the ports' names in place of its sockets'."""
        for path, name in zip(self._paths, self._names, strict=True):
            message = message.replace(path, name)
        return message


def smallest(stream: Stream) -> Stream:
    """The stream with frames of one size, as small as the engine can tell them apart."""
    bytes_min = max(stream.header_bytes + SIGNATURE_BYTES + FCS_BYTES, FRAME_BYTES_MIN)
    size = max(bytes_min, min(size.frame_bytes for size in stream.sizes))
    return stream.model_copy(update={"sizes": (SizeShare(frame_bytes=size),), "size_order": "mixed"})


SETTLE_S = 0.1


def resolve(
    session: TrexSession, plan: TrexPlan, traffic: Traffic, *, neighbors: NeighborPlan, names: tuple[str, ...]
) -> dict[tuple[int, int], NextHop]:
    """Who the frames of each port and chain are sent to; stations answer meanwhile.

    Uses ports that the session holds and that have no streams, in service mode.

    Raises: GeneratorError naming who kept silent.
    """
    if not questions(neighbors):
        return {}
    with Relay(session, plan, traffic, neighbors=neighbors, names=names) as relay:
        reply = relay.ask(resolve_request(neighbors), neighbors.timeout_s * neighbors.tries)
    return next_hops(neighbors, reply)


def announced(neighbors: NeighborPlan) -> dict[int, tuple[bytes, ...]]:
    """By tester port, the frames in which its stations announce their addresses; none where they are not to.

    Source: RFC 5227 section 3, RFC 4861 section 7.2.6.
    """
    if neighbors.announce_every_s is None:
        return {}
    each = [(port, station) for port, its in stations(neighbors).items() for station in its]
    told = announcements([station for _, station in each])
    found: dict[int, tuple[bytes, ...]] = {}
    for (port, _), frames in zip(each, told, strict=True):
        found[port] = found.get(port, ()) + frames
    return found


def announce(port: PortHandle, frames: Sequence[bytes]) -> None:
    """Announce addresses once, and let the frames arrive."""
    push(port, frames)
    time.sleep(SETTLE_S)


CHECK_TIMEOUT_S = 3.0


def check(
    session: TrexSession,
    plan: TrexPlan,
    traffic: Traffic,
    *,
    neighbors: NeighborPlan,
    names: tuple[str, ...],
    next_hops: NextHops,
) -> tuple[DirectionCheck, ...]:
    """Send learning frames along every stream, which is addressed to its next hop already.

    Uses ports that the session holds and that have no streams, in service mode; their stations answer meanwhile.

    Raises: NoPath naming each chain and direction at fault; GeneratorError.
    """
    with Relay(session, plan, traffic, neighbors=neighbors, names=names) as relay:
        reply = relay.ask({"op": "check", "timeout_s": CHECK_TIMEOUT_S}, CHECK_TIMEOUT_S)
    pairs = zip(traffic.streams, reply["directions"], strict=True)
    checks = tuple(direction_check(stream, direction) for stream, direction in pairs)
    found = faults(traffic, checks, names, next_hops)
    if found:
        raise no_path(found, traffic, checks, next_hops)
    return checks
