"""The ports' interfaces, by packet sockets: single frames out and in. The engine handles fast traffic.

Source: packet(7), PACKET_AUXDATA.
"""

import collections
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from nodrop.stage.namespace import inside_network_of

ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA = 263, 8
AUXDATA = struct.Struct("IIIHHHH")
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
POLL_S = 0.02
ROOM_BYTES = 4 << 20


class LinkFrame(NamedTuple):
    """A frame on a link."""

    port: int
    is_sent: bool
    bytes: bytes
    at_s: float


class InterfaceCounters(NamedTuple):
    """Counters of the kernel; bytes are without FCS."""

    received_count: int
    received_bytes: int
    sent_count: int
    sent_bytes: int


Hear = Callable[[LinkFrame], None]


class Link:
    """The interfaces in a network namespace, in the order of the ports."""

    def __init__(self, netns_pid: int | None, interfaces: tuple[str, ...]) -> None:
        self.interfaces = interfaces
        self._counters = Path(f"/proc/{netns_pid or 'self'}/net/dev")
        self._out: list[socket.socket] = []
        self._in: list[socket.socket] = []
        with inside_network_of(netns_pid) if netns_pid else contextlib.nullcontext():
            for name in interfaces:
                self._out.append(_opened(name))
                self._in.append(_opened(name))
        for receiving in self._in:
            receiving.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            receiving.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM_BYTES)
            receiving.settimeout(POLL_S)
        self._hearers: dict[int, list[Hear]] = collections.defaultdict(list)
        self._lock = threading.Lock()
        self.own_count = [0] * len(interfaces)
        """Frames of each port that were sent here."""

    def mac(self, port: int) -> bytes:
        """Return the MAC address of a port's interface."""
        address: bytes = self._out[port].getsockname()[4]
        return address

    def send(self, port: int, frame: bytes) -> None:
        """Send one frame."""
        with contextlib.suppress(OSError):
            self._out[port].send(frame)
            self.own_count[port] += 1

    def listen(self, port: int, hear: Hear) -> None:
        """Deliver all frames of a port to a listener from now on, sent ones too."""
        with self._lock:
            self._hearers[port].append(hear)
            if len(self._hearers[port]) == 1:
                self._in[port].bind((self.interfaces[port], ETH_P_ALL))
                threading.Thread(target=self._receive, args=(port,), daemon=True).start()

    def ignore(self, port: int, hear: Hear) -> None:
        """Remove a listener."""
        with self._lock, contextlib.suppress(ValueError):
            self._hearers[port].remove(hear)

    def counters(self) -> list[InterfaceCounters]:
        """Read the counters of each port."""
        result = {}
        for line in self._counters.read_text().splitlines()[2:]:
            name, _, columns = line.partition(":")
            numbers = [int(number) for number in columns.split()]
            result[name.strip()] = InterfaceCounters(numbers[1], numbers[0], numbers[9], numbers[8])
        if not result.keys() >= {*self.interfaces}:
            raise SystemExit("the interfaces are gone")
        return [result[name] for name in self.interfaces]

    def _receive(self, port: int) -> None:
        receiving = self._in[port]
        while True:
            with self._lock:
                hearers = [*self._hearers[port]]
                if not hearers:
                    receiving.bind((self.interfaces[port], 0))
                    for _ in _waiting(receiving):
                        pass
                    return
            with contextlib.suppress(OSError):
                frame, ancillary, _, address = receiving.recvmsg(65536, socket.CMSG_SPACE(AUXDATA.size))
                seen = LinkFrame(
                    port, address[2] == socket.PACKET_OUTGOING, _tagged(frame, ancillary), time.monotonic()
                )
                for hear in hearers:
                    hear(seen)


def _opened(name: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    opened.bind((name, 0))
    return opened


def _waiting(receiving: socket.socket) -> Iterator[bytes]:
    """Discard frames that arrived while nobody listened."""
    with contextlib.suppress(OSError):
        while True:
            yield receiving.recv(65536, socket.MSG_DONTWAIT)


def _tagged(frame: bytes, ancillary: list[tuple[int, int, bytes]]) -> bytes:
    """Insert the VLAN tag that the kernel took out."""
    for level, kind, data in ancillary:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tag, protocol = AUXDATA.unpack_from(data)
            if status & TP_STATUS_VLAN_VALID:
                protocol = protocol if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
                return frame[:12] + struct.pack(">HH", protocol, tag) + frame[12:]
    return frame
