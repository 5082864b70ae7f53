"""Transport of frames between an engine and the ports of a TRex server, by packet push and capture."""

import base64
import contextlib
from collections.abc import Iterable, Sequence
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from nodrop.errors import GeneratorError
from nodrop.generator.trex.relay_sockets import RelaySockets
from nodrop.generator.trex.session import PortHandle, TrexSession
from nodrop.model.layer import Vlan
from nodrop.model.neighbor import NeighborPlan
from nodrop.model.traffic import Traffic
from nodrop.model.trex import TrexPlan

SIGNATURE_WORD = 0x6E447231
"""Signature behind the headers of the engine's test frames: `nDr1`."""
TYPE_AT = 12
TAG_BYTES = 4
TAGS_MAX = 2
ARP_TYPE, IPV6_TYPE, ICMPV6 = 0x0806, 0x86DD, 58
NEXT_HEADER_AT = 8
"""Relative to the EtherType of IPv6."""
PUSH_FRAMES_MAX = 64
"""Frames per request."""
PUSH_GAP_US = 20
FETCH_FRAMES_MAX = 256
CAPTURE_FRAMES_MAX = 4000
"""Frames that TRex keeps until they are fetched."""
IDLE_S = 0.005
END_TIMEOUT_S = 10.0


class PacketExchange:
    """Transports frames both ways while entered, with the ports in service mode.

    It needs the session for itself: other requests would delay its own.
    """

    def __init__(self, session: TrexSession, plan: TrexPlan, sockets: RelaySockets, filter_text: str) -> None:
        """Connect `sockets` with the plan's acquired ports; a pcap filter selects the received frames."""
        self._session, self._plan, self._sockets, self._filter = session, plan, sockets, filter_text
        self._ports = [session.port(number) for number in plan.ports]
        self._capture: int | None = None
        self._ended = Event()
        self._thread = Thread(target=self._work, name="trex-exchange", daemon=True)
        self._fault: GeneratorError | None = None

    def __enter__(self) -> Self:
        """Start. Raises GeneratorError."""
        try:
            for port in self._ports:
                port.call("service", enabled=True)
            begun = self._session.call(
                "capture",
                command="start",
                limit=CAPTURE_FRAMES_MAX,
                mode="cyclic",
                tx=[],
                rx=list(self._plan.ports),
                filter=self._filter,
            )
            self._capture = int(begun["capture_id"])
        except BaseException:
            self._put_back()
            raise
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, and restore the plan's mode of the ports."""
        self._ended.set()
        self._thread.join(END_TIMEOUT_S)
        self._put_back()

    def check(self) -> None:
        """Raise the GeneratorError that ended it, if any."""
        if self._fault:
            raise self._fault

    def _work(self) -> None:
        try:
            while not self._ended.is_set():
                moved = self._push() + self._fetch() + sum(line.flush() for line in self._sockets)
                if not moved:
                    self._ended.wait(IDLE_S)
        except GeneratorError as error:
            self._fault = error

    def _push(self) -> int:
        count = 0
        for port, line in zip(self._ports, self._sockets, strict=True):
            frames = line.receive(PUSH_FRAMES_MAX)
            count += len(frames)
            if frames:
                push(port, frames)
        return count

    def _fetch(self) -> int:
        found = self._session.call("capture", command="fetch", capture_id=self._capture, pkt_limit=FETCH_FRAMES_MAX)
        frames = found["pkts"] or []
        for frame in frames:
            self._sockets[self._plan.ports.index(frame["port"])].enqueue(base64.b64decode(frame["binary"]))
        return len(frames)

    def _put_back(self) -> None:
        with contextlib.suppress(GeneratorError):
            if self._capture is not None:
                self._session.call("capture", command="stop", capture_id=self._capture)
                self._session.call("capture", command="remove", capture_id=self._capture)
            for port in self._ports:
                port.call("service", enabled=self._plan.service_mode)


def push(port: PortHandle, frames: Sequence[bytes]) -> None:
    """Send frames unchanged through a port. Raises GeneratorError."""
    port.call("push_pkts", ipg_usec=PUSH_GAP_US, pkts=[_pushed(frame) for frame in frames])


def capture_filter(traffic: Traffic, neighbors: NeighborPlan) -> str:
    """Return a pcap filter for ARP, neighbor discovery and the engine's test frames.

    Tests at low offsets come first: a filter that reads beyond a frame's end rejects the frame, and ARP is short.
    """
    offsets = {offset for stream in traffic.streams for offset in stream.rx_offsets}
    for stream in traffic.streams:
        tagged = len(stream.layers) > 1 and isinstance(stream.layers[1], Vlan)
        offsets |= {stream.header_bytes, stream.header_bytes - TAG_BYTES * tagged}
    ours = [f"ether[{offset}:4] = {SIGNATURE_WORD:#x}" for offset in sorted(offsets)]
    return " or ".join([*(_neighbor_filters() if neighbors.links else ()), *ours])


def _neighbor_filters() -> Iterable[str]:
    for tags in range(TAGS_MAX + 1):
        at = TYPE_AT + TAG_BYTES * tags
        yield f"ether[{at}:2] = {ARP_TYPE:#x}"
        yield f"(ether[{at}:2] = {IPV6_TYPE:#x} and ether[{at + NEXT_HEADER_AT}] = {ICMPV6})"


def _pushed(frame: bytes) -> dict[str, Any]:
    return {"binary": base64.b64encode(frame).decode(), "use_port_dst_mac": False, "use_port_src_mac": False}
