"""nodrop-engine: every frame with a live sequence number and send time; every arrival checked and counted."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.engine import link
from benchmarks.engine.contestant import RECEIVE_CPU, SEND_CPU
from benchmarks.engine.frame import Frame
from benchmarks.engine.link import RECEIVE_PORT, SEND_PORT
from benchmarks.engine.session import Session, check_opens, engine_version, start_engine
from benchmarks.engine.tool import Tool

QUEUE_SLOTS = 65536
OUT_OF_REACH_PPS = 100e6
"""More than any CPU sends, so that the pacer never holds a frame back."""
DURATION_S = 120.0
WINDOW_S = 0.02
WIDE_WINDOW_S = 0.1
"""Of trials with so many streams that the account of narrow ones would grow long."""
STREAMS_OF_NARROW_WINDOWS = 16
PORTS_PER_ADDRESS = 16384
"""Flows beyond so many differ by source address, too."""
COUNTED_BY_KERNEL = frozenset({"af_packet", "af_xdp", "xdp_live"})


@dataclass(frozen=True)
class Nodrop:
    """One way to use it."""

    name: str
    ports: tuple[str, ...] = (SEND_PORT, RECEIVE_PORT)
    """One only sends; of two the first sends, unless said otherwise."""
    backend: str = "af_packet"
    queue_slots: int = QUEUE_SLOTS
    first_sends: bool = True
    both_ways: bool = False
    stream_count: int = 1
    """Each way."""
    flow_count: int = 256
    """Of each stream."""
    latency_every: int | None = None
    cpus: tuple[int, ...] = (SEND_CPU, RECEIVE_CPU)

    @property
    def does(self) -> str:
        """With each frame."""
        counting = "" if self.latency_every == 0 else ", latency"
        receiving = f"; checks every arrival for loss, duplication, order{counting}" if len(self.ports) > 1 else ""
        return f"live number, time and checksum, {self.flow_count} flows in {self.stream_count} streams{receiving}"

    def version(self) -> str:
        """Raises ContestantError, also when it was built without the back end."""
        if self.backend == "dpdk":
            check_opens(self.open_request(Frame(64)))
        return engine_version()

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator["NodropRun"]:
        """One trial at a load that cannot be reached."""
        with start_engine({SEND_CPU, RECEIVE_CPU}) as tool:
            session = Session(tool, self.open_request(frame))
            narrow = self.stream_count <= STREAMS_OF_NARROW_WINDOWS
            loads_pps = [OUT_OF_REACH_PPS / self.stream_count] * (self.stream_count * len(self._ways()))
            windows = {"window_s": WINDOW_S if narrow else WIDE_WINDOW_S}
            session.begin(loads_pps, DURATION_S, latency_every=self.latency_every, **windows)
            counted = self.ports if self.backend in COUNTED_BY_KERNEL else ()
            yield NodropRun(tool, session, counted, receives=len(self.ports) > 1)

    def open_request(self, frame: Frame) -> dict[str, Any]:
        """What the engine is to open for frames like this one."""
        port = {"backend": self.backend, "queue_slots": self.queue_slots}
        ways = [(way, frame if way == self._ways()[0] else frame.backwards()) for way in self._ways()]
        streams = [self._stream(one, way) for way, one in ways for _ in range(self.stream_count)]
        return {
            "op": "open",
            "ports": [{**port, "interface": name} for name in self.ports],
            "streams": [{"stream_id": number, **stream} for number, stream in enumerate(streams)],
            "cores": self.cpus,
        }

    def _ways(self) -> list[tuple[int, int]]:
        """Sending and receiving port of each."""
        last = len(self.ports) - 1
        way = (0, last) if self.first_sends else (last, 0)
        return [way, way[::-1]] if self.both_ways else [way]

    def _stream(self, frame: Frame, way: tuple[int, int]) -> dict[str, Any]:
        return {
            "tx_port": way[0],
            "rx_port": way[1],
            "sizes": [{"frame_bytes": frame.frame_bytes}],
            "layers": [
                {"kind": "ethernet", "src": frame.src_mac, "dst": frame.dst_mac},
                {"kind": "ipv4", "src": frame.src_ip, "dst": frame.dst_ip},
                {"kind": "udp", "src_port": frame.src_udp_port, "dst_port": frame.dst_udp_port},
            ],
            "ranges": _flows(self.flow_count),
        }


def _flows(count: int) -> list[dict[str, Any]]:
    """So many, as source ports and beyond them source addresses."""
    ports = min(count, PORTS_PER_ADDRESS)
    found: list[dict[str, Any]] = [
        {"layer": 2, "field": "src_port", "values": {"mode": "increment", "count": ports}},
    ]
    if count > ports:
        addresses = {"mode": "increment", "count": count // ports}
        found.append({"layer": 1, "field": "src", "values": addresses, "every": ports})
    return found


class NodropRun:
    """The engine in the middle of a trial."""

    def __init__(self, tool: Tool, session: Session, counted: tuple[str, ...], receives: bool) -> None:
        self._session = session
        self._counted = counted
        self._receives = receives
        self.cpu_s = tool.cpu_s
        self.check_running = tool.check_running

    def sent(self) -> tuple[float, int]:
        """As the kernel counts it, for all alike; where no kernel sees it, of the next window to end."""
        if self._counted:
            return link.sent(self._counted)
        window = self._session.next_window()
        return window["elapsed_s"], window["offered_count"]

    def received(self) -> tuple[float, int] | None:
        """Of the next window to end."""
        if not self._receives:
            return None
        window = self._session.next_window()
        return window["elapsed_s"], window["received_count"]

    def finish(self) -> dict[str, float]:
        """The trial's own account of every frame."""
        trial = self._session.stop()
        counts = ("offered_count", "received_count", "duplicate_count", "out_of_order_count")
        sums: dict[str, float] = {name: sum(stream[name] for stream in trial["streams"]) for name in counts}
        return sums | {"tester_drop_count": trial["tester_drop_count"]}
