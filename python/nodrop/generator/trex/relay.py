"""nodrop's engine at the ports of a TRex server: what needs few frames is done by the same code as at its own ports."""

from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from nodrop.errors import GeneratorError
from nodrop.generator.engine_process import EngineDied, EngineProcess, Reply
from nodrop.generator.stations import stations, stream_request
from nodrop.generator.trex.packet_io import Exchange, wanted
from nodrop.generator.trex.relay_sockets import Lines
from nodrop.generator.trex.session import TrexSession
from nodrop.model.neighbor import NeighborPlan
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
            return self._engine.ask(request, timeout_s + ANSWER_TIMEOUT_S)
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
