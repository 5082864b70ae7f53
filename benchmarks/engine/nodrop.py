"""nodrop-engine: sends frames with a live sequence number and time stamp; checks and counts every received frame."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.engine import link
from benchmarks.engine.frame import Frame
from benchmarks.engine.link import RECEIVE_PORT, SEND_PORT
from benchmarks.engine.packet_generator import RECEIVE_CPU, SEND_CPU
from benchmarks.engine.session import EngineSession, check_opens, read_engine_version, start_engine
from benchmarks.engine.tool_process import ToolProcess

from nodrop.units import format_count

QUEUE_SLOTS = 65536
UNREACHABLE_PPS = 100e6
"""A load above the rate of any CPU, so that the pacer never delays a frame."""
DURATION_S = 120.0
WINDOW_S = 0.02
WIDE_WINDOW_S = 0.1
"""Window of trials with many streams, whose reports of narrow windows would be long."""
STREAMS_OF_NARROW_WINDOWS = 16
PORTS_PER_ADDRESS = 16384
"""Number of flows from which source addresses vary in addition to source ports."""
BACKENDS_COUNTED_BY_KERNEL = frozenset({"af_packet", "af_xdp", "xdp_live"})


@dataclass(frozen=True)
class NodropGenerator:
    """nodrop-engine in one mode of operation."""

    name: str
    ports: tuple[str, ...] = (SEND_PORT, RECEIVE_PORT)
    """A single port only sends; of two ports the first sends, unless `sends_from_first` is False."""
    backend: str = "af_packet"
    queue_slots: int = QUEUE_SLOTS
    sends_from_first: bool = True
    bidirectional: bool = False
    stream_count: int = 1
    """Streams per direction."""
    flow_count: int = 256
    """Flows per stream."""
    latency_every: int | None = None
    cpus: tuple[int, ...] = (SEND_CPU, RECEIVE_CPU)

    @property
    def work_per_frame(self) -> str:
        """The work it does per frame."""
        latency = "" if self.latency_every == 0 else ", latency"
        receiving = f"; checks every frame for loss, duplication, order{latency}" if len(self.ports) > 1 else ""
        streams = format_count(self.stream_count, "stream")
        flows = format_count(self.flow_count, "flow")
        return f"live sequence number, time stamp and checksum, {flows} in {streams}{receiving}"

    def read_version(self) -> str:
        """Return the engine's version. Raises BenchmarkError, also if it was built without the back end."""
        if self.backend == "dpdk":
            check_opens(self.create_open_request(Frame(64)))
        return read_engine_version()

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator["NodropRun"]:
        """Start one trial at an unreachable load."""
        with start_engine({SEND_CPU, RECEIVE_CPU}) as process:
            session = EngineSession(process, self.create_open_request(frame))
            is_narrow = self.stream_count <= STREAMS_OF_NARROW_WINDOWS
            loads_pps = [UNREACHABLE_PPS / self.stream_count] * (self.stream_count * len(self._directions()))
            windows = {"window_s": WINDOW_S if is_narrow else WIDE_WINDOW_S}
            session.start_trial(loads_pps, DURATION_S, latency_every=self.latency_every, **windows)
            kernel_ports = self.ports if self.backend in BACKENDS_COUNTED_BY_KERNEL else ()
            yield NodropRun(process, session, kernel_ports, receives=len(self.ports) > 1)

    def create_open_request(self, frame: Frame) -> dict[str, Any]:
        """Return the request that opens the ports for these frames."""
        port = {"backend": self.backend, "queue_slots": self.queue_slots}
        forward, *reverse = self._directions()
        frames = [(forward, frame), *((direction, frame.reverse()) for direction in reverse)]
        streams = [self._create_stream(each, direction) for direction, each in frames for _ in range(self.stream_count)]
        return {
            "op": "open",
            "ports": [{**port, "interface": name} for name in self.ports],
            "streams": [{"stream_id": number, **stream} for number, stream in enumerate(streams)],
            "cores": self.cpus,
        }

    def _directions(self) -> list[tuple[int, int]]:
        """Return the sending and the receiving port of each direction."""
        last = len(self.ports) - 1
        forward = (0, last) if self.sends_from_first else (last, 0)
        return [forward, forward[::-1]] if self.bidirectional else [forward]

    def _create_stream(self, frame: Frame, direction: tuple[int, int]) -> dict[str, Any]:
        return {
            "tx_port": direction[0],
            "rx_port": direction[1],
            "sizes": [{"frame_bytes": frame.frame_bytes}],
            "layers": [
                {"kind": "ethernet", "src": frame.src_mac, "dst": frame.dst_mac},
                {"kind": "ipv4", "src": frame.src_ip, "dst": frame.dst_ip},
                {"kind": "udp", "src_port": frame.src_udp_port, "dst_port": frame.dst_udp_port},
            ],
            "ranges": _create_flow_ranges(self.flow_count),
        }


def _create_flow_ranges(count: int) -> list[dict[str, Any]]:
    """Return ranges of source ports, and of source addresses if ports do not suffice for this number of flows."""
    ports = min(count, PORTS_PER_ADDRESS)
    ranges: list[dict[str, Any]] = [
        {"layer": 2, "field": "src_port", "values": {"mode": "increment", "count": ports}},
    ]
    if count > ports:
        addresses = {"mode": "increment", "count": count // ports}
        ranges.append({"layer": 1, "field": "src", "values": addresses, "every": ports})
    return ranges


class NodropRun:
    """A run of the engine during a trial."""

    def __init__(
        self, process: ToolProcess, session: EngineSession, kernel_ports: tuple[str, ...], receives: bool
    ) -> None:
        self._session = session
        self._kernel_ports = kernel_ports
        self._receives = receives
        self.read_cpu_s = process.read_cpu_s
        self.check_running = process.check_running

    def read_sent(self) -> tuple[float, int]:
        """Return the time and the frames sent, by the kernel's counter, else by the end of the engine's next window."""
        if self._kernel_ports:
            return link.read_sent(self._kernel_ports)
        window = self._session.await_next_window()
        return window["elapsed_s"], window["offered_count"]

    def read_received(self) -> tuple[float, int] | None:
        """Return the time and the frames received by the end of the engine's next window."""
        if not self._receives:
            return None
        window = self._session.await_next_window()
        return window["elapsed_s"], window["received_count"]

    def stop(self) -> dict[str, float]:
        """Stop the trial and return its frame counters."""
        trial = self._session.stop_trial()
        counts = ("offered_count", "received_count", "duplicate_count", "out_of_order_count")
        sums: dict[str, float] = {name: sum(stream[name] for stream in trial["streams"]) for name in counts}
        return sums | {"tester_drop_count": trial["tester_drop_count"]}
