"""Frames carried between an engine and the ports of a TRex server: pushed there, and captured from there."""

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
"""What the engine's test frames have behind their headers: `nDr1`."""
TYPE_AT = 12
TAG_BYTES = 4
TAGS_MAX = 2
ARP_TYPE, IPV6_TYPE, ICMPV6 = 0x0806, 0x86DD, 58
NEXT_HEADER_AT = 8
"""From the type in front of an IPv6 header."""
PUSH_FRAMES_MAX = 64
"""Frames of one request."""
PUSH_GAP_US = 20
FETCH_FRAMES_MAX = 256
CAPTURE_FRAMES_MAX = 4000
"""Frames that TRex keeps until they are fetched."""
IDLE_S = 0.005
END_TIMEOUT_S = 10.0


class PacketExchange:
    """Carries frames both ways while it is entered, with the ports in service mode.

    The session belongs to it meanwhile: requests of others would be in its way.
    """

    def __init__(self, session: TrexSession, plan: TrexPlan, sockets: RelaySockets, wanted: str) -> None:
        """Between `sockets` and the plan's ports, which are held; of what arrives, what that pcap filter lets through."""
        self._session, self._plan, self._lines, self._wanted = session, plan, sockets, wanted
        self._ports = [session.port(number) for number in plan.ports]
        self._capture: int | None = None
        self._ended = Event()
        self._thread = Thread(target=self._work, name="trex-exchange", daemon=True)
        self._fault: GeneratorError | None = None

    def __enter__(self) -> Self:
        """Begin. Raises GeneratorError."""
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
                filter=self._wanted,
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
        """End, and leave the ports as the plan wants them."""
        self._ended.set()
        self._thread.join(END_TIMEOUT_S)
        self._put_back()

    def check(self) -> None:
        """Raises the GeneratorError that ended it, if one did."""
        if self._fault:
            raise self._fault

    def _work(self) -> None:
        try:
            while not self._ended.is_set():
                moved = self._push() + self._fetch() + sum(line.flush() for line in self._lines)
                if not moved:
                    self._ended.wait(IDLE_S)
        except GeneratorError as error:
            self._fault = error

    def _push(self) -> int:
        count = 0
        for port, line in zip(self._ports, self._lines, strict=True):
            frames = line.receive(PUSH_FRAMES_MAX)
            count += len(frames)
            if frames:
                push(port, frames)
        return count

    def _fetch(self) -> int:
        found = self._session.call("capture", command="fetch", capture_id=self._capture, pkt_limit=FETCH_FRAMES_MAX)
        frames = found["pkts"] or []
        for frame in frames:
            self._lines[self._plan.ports.index(frame["port"])].give(base64.b64decode(frame["binary"]))
        return len(frames)

    def _put_back(self) -> None:
        with contextlib.suppress(GeneratorError):
            if self._capture is not None:
                self._session.call("capture", command="stop", capture_id=self._capture)
                self._session.call("capture", command="remove", capture_id=self._capture)
            for port in self._ports:
                port.call("service", enabled=self._plan.service_mode)


def push(port: PortHandle, frames: Sequence[bytes]) -> None:
    """Send frames through a port, as they are. Raises GeneratorError."""
    port.call("push_pkts", ipg_usec=PUSH_GAP_US, pkts=[_pushed(frame) for frame in frames])


def capture_filter(traffic: Traffic, neighbors: NeighborPlan) -> str:
    """A pcap filter for messages between neighbours, and for the engine's test frames.

    What is near the beginning comes first: a filter that samples behind a frame's end lets it through no more, and ARP is
    short.
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
