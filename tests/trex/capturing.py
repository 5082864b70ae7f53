"""Captures: sent and received frames, filtered as pcap-filter(7) defines."""

import base64
import collections
import ctypes
import ctypes.util
import itertools
import time
from dataclasses import dataclass, field
from typing import Any

from tests.trex.link import LinkFrame
from tests.trex.params import Params
from tests.trex.wire import Refusal

ETHERNET, SNAP_BYTES = 1, 65535
NUMBERS = itertools.count(1)


class FieldProgram(ctypes.Structure):
    """struct bpf_program."""

    _fields_ = (("length", ctypes.c_uint), ("instructions", ctypes.c_void_p))


class Header(ctypes.Structure):
    """struct pcap_pkthdr."""

    _fields_ = (
        ("seconds", ctypes.c_long),
        ("microseconds", ctypes.c_long),
        ("captured", ctypes.c_uint32),
        ("length", ctypes.c_uint32),
    )


class Filter:
    """A compiled capture filter."""

    def __init__(self, text: str) -> None:
        """Compile it. Raises Refusal."""
        self._pcap = ctypes.CDLL(ctypes.util.find_library("pcap") or "libpcap.so.0.8")
        self._pcap.pcap_open_dead.restype = ctypes.c_void_p
        self._program = FieldProgram()
        self._is_open = not text
        if text:
            dead = ctypes.c_void_p(self._pcap.pcap_open_dead(ETHERNET, SNAP_BYTES))
            if self._pcap.pcap_compile(dead, ctypes.byref(self._program), text.encode(), 1, ctypes.c_uint32(2**32 - 1)):
                raise Refusal(f"BPF filter '{text}' is not valid")
            self._pcap.pcap_close(dead)

    def passes(self, frame: bytes) -> bool:
        """Return whether a frame matches."""
        if self._is_open:
            return True
        header = Header(0, 0, len(frame), len(frame))
        return bool(self._pcap.pcap_offline_filter(ctypes.byref(self._program), ctypes.byref(header), frame))


@dataclass
class Capture:
    """A capture of some ports."""

    limit: int
    is_cyclic: bool
    sent_ports: list[int]
    received_ports: list[int]
    text: str
    filter: Filter
    snap_bytes: int
    number: int = field(default_factory=lambda: next(NUMBERS))
    start_s: float = field(default_factory=time.monotonic)
    is_active: bool = True
    frames: collections.deque[dict[str, Any]] = field(default_factory=collections.deque)
    seen_count: int = 0

    @classmethod
    def read(cls, params: Params) -> "Capture":
        """Create a capture from a request. Raises Refusal."""
        return cls(
            limit=params.integer("limit", low=1),
            is_cyclic=params.one_of("mode", ("fixed", "cyclic")) == "cyclic",
            sent_ports=params.list("tx"),
            received_ports=params.list("rx"),
            text=params.text("filter", ""),
            filter=Filter(params.text("filter", "")),
            snap_bytes=params.integer("snaplen", 0) or SNAP_BYTES,
        )

    @property
    def ports(self) -> set[int]:
        """The numbers of all its ports."""
        return {*self.sent_ports, *self.received_ports}

    def hear(self, seen: LinkFrame) -> None:
        """Store a frame, if it matches and fits."""
        expected = self.sent_ports if seen.is_sent else self.received_ports
        if not self.is_active or seen.port not in expected or not self.filter.passes(seen.bytes):
            return
        if len(self.frames) >= self.limit:
            if not self.is_cyclic:
                return
            self.frames.popleft()
        self.seen_count += 1
        self.frames.append(
            {
                "binary": base64.b64encode(seen.bytes[: self.snap_bytes]).decode(),
                "origin": "TX" if seen.is_sent else "RX",
                "port": seen.port,
                "ts": seen.at_s - self.start_s,
                "index": self.seen_count,
                "wirelen": len(seen.bytes),
            }
        )

    def status(self) -> dict[str, Any]:
        """Return its entry in a list of captures."""
        return {
            "id": self.number,
            "state": "ACTIVE" if self.is_active else "STOPPED",
            "mode": "cyclic" if self.is_cyclic else "fixed",
            "limit": self.limit,
            "count": len(self.frames),
            "bytes": sum(frame["wirelen"] for frame in self.frames),
            "filter": {"bpf": self.text, "tx": _mask(self.sent_ports), "rx": _mask(self.received_ports)},
        }

    def fetch(self, count_max: int) -> dict[str, Any]:
        """Remove and return the oldest frames."""
        result = [self.frames.popleft() for _ in range(min(count_max, len(self.frames)))]
        return {"pkts": result, "pending": len(self.frames), "start_ts": self.start_s}


def _mask(ports: list[int]) -> int:
    return sum(1 << port for port in ports)
