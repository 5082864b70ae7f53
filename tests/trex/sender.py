"""The sender: nodrop's engine, which replays the frames of TRex's streams from files.

Frames carry the engine's signature and are thereby distinct, as TRex's are by its own marks. A sender that cannot
keep up is late and sends everything, as TRex does: it takes longer and skips nothing.
"""

import random
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tests.trex import vm
from tests.trex.streams import TrexStream
from tests.trex.wire import Refusal

from nodrop.errors import GeneratorError
from nodrop.generator.engine_process import EngineDied, EngineProcess

CACHE_MAX = 65536
"""Maximum of different frames per stream, the engine's limit for a replay."""
STOP_TOGETHER_S = 0.02
"""Ports stopped within this time of one another stop together."""
BEGIN_MAX_S = 0.2
SETTLE_MAX_S = 4.0
WINDOW_S = 0.02
DAY_S = 86_400.0
CATCH_UP_MAX_S = 60.0
ANSWER_TIMEOUT_S = 15.0
COUNTED_STREAMS_MAX = 16
"""Maximum of streams for which the engine reports progress per stream, else per pair of ports."""
PCAP = struct.Struct("<IHHiIII")
RECORD = struct.Struct("<IIII")
PCAP_MAGIC, SNAP_BYTES, ETHERNET = 0xA1B2C3D4, 65535, 1


Streams = list[tuple[int, TrexStream]]
"""Streams with their ports."""


class PortCounts(NamedTuple):
    """Frames of a port by the kernel's counters, which are always current."""

    sent: int
    received: int


class FlowsChanged(Exception):
    """The set of frames to be sent has changed."""


@dataclass
class Flow:
    """A stream in progress."""

    port: int
    stream: TrexStream
    load_pps: float
    remaining: float
    """Frames not yet sent; infinite for an endless stream."""
    is_frozen: bool = False
    """Whether received frames are not counted."""
    is_stopped: bool = False
    sent: int = 0
    """In the running trial."""
    received: int = 0
    """In the running trial."""

    @property
    def way(self) -> tuple[int, int]:
        """From port, to port: 0 and 1 are wired, 2 and 3, and so on."""
        return self.port, self.port ^ 1

    @property
    def is_due(self) -> bool:
        """Whether at least one frame is to be sent."""
        return self.remaining >= 1 and not self.is_stopped

    @property
    def key(self) -> tuple[int, int]:
        """Port and stream."""
        return self.port, self.stream.number

    def resumed(self, ratio: float) -> "Flow":
        """Return the rest of the flow at this share of its load, over the same time."""
        return Flow(self.port, self.stream, self.load_pps * ratio, self.remaining * ratio, self.is_frozen)


class RunningFlow(NamedTuple):
    """A flow with its counts so far in the running trial."""

    flow: Flow
    sent: int
    received: int


class ResultReceiver(Protocol):
    """The receiver of the sender's results."""

    def settle(self, flow: Flow, counts: dict[str, Any], latency: dict[str, Any] | None) -> None:
        """Receive the engine's counts of a flow."""

    def drops(self, drop_count: int, cpu_ratio: float, flows: list[Flow]) -> None:
        """Receive the drops of the engine's receiver while these flows were sent."""

    def passed(self) -> "list[PortCounts]":
        """Return the total counts of each port."""


class Sender(threading.Thread):
    """Sends the current flows until none is left."""

    def __init__(
        self,
        netns_pid: int | None,
        interfaces: Sequence[str],
        backend: str,
        queue_slots: int,
        *,
        stretch: float,
        receiver: ResultReceiver,
    ) -> None:
        """Start the engine without flows. Everything takes `stretch` times as long as it should."""
        super().__init__(daemon=True)
        self._ports = [{"backend": backend, "interface": name, "queue_slots": queue_slots} for name in interfaces]
        self._stretch, self._receiver = stretch, receiver
        self._ended = self._is_trial = False
        self._engine = EngineProcess(netns_pid, self._watch)
        self._folder = tempfile.TemporaryDirectory(prefix="nodrop-trex-")
        self._files: dict[Any, Path] = {}
        self._streams: Streams = []
        self._opened: Streams = []
        self.changed = threading.Condition(threading.RLock())
        self._flows: dict[tuple[int, int], Flow] = {}
        self._running: set[tuple[int, int]] = set()
        self._before: list[PortCounts] = []
        self._begin_s = 0.0
        self._halt_s = 0.0
        self._odd = random.Random(1)

    def prepare(self, streams: Streams) -> None:
        """Open the engine for all streams that may be started; this wait saves one later."""
        with self.changed:
            if not self._flows:
                self._open(streams)

    def send(self, flows: list[Flow], begin_s: float, streams: Streams) -> None:
        """Send these flows too, from a time of the monotonic clock on."""
        with self.changed:
            self._flows |= {flow.key: flow for flow in flows}
            self._begin_s, self._streams = begin_s, streams
            self.changed.notify_all()

    def await_first_frames(self) -> None:
        """Wait until frames leave: the engine takes a moment to start, which TRex does not."""
        ports = {flow.port for flow in self.flows() if flow.is_due}
        before = self._receiver.passed()
        end_s = time.monotonic() + BEGIN_MAX_S
        while time.monotonic() < end_s and all(
            self._receiver.passed()[port].sent == before[port].sent for port in ports
        ):
            time.sleep(0.001)

    def stop(self, port: int) -> None:
        """Stop a port."""
        with self.changed:
            for flow in self.flows(port):
                flow.is_stopped = True
            self._halt_s = time.monotonic() + STOP_TOGETHER_S
            self.changed.notify_all()

    def flows(self, port: int | None = None) -> list[Flow]:
        """Return the current flows, with their rests before the running trial."""
        with self.changed:
            return [flow for flow in self._flows.values() if port in (None, flow.port)]

    def is_sending(self, port: int) -> bool:
        """Return whether a port has frames to send."""
        with self.changed:
            due = [flow for flow in self.flows(port) if flow.is_due]
            if not due or not {flow.key for flow in due} <= self._running:
                return bool(due)
            left = sum(flow.remaining for flow in due) - len(due)
            return self._receiver.passed()[port].sent - self._before[port].sent < left

    def running(self) -> list[RunningFlow]:
        """Return the running flows with their current counts.

        The engine reports each flow at intervals, the kernel each port at any time: frames since the engine's last
        report are divided by load.
        """
        with self.changed:
            flows = [flow for flow in self._flows.values() if flow.key in self._running]
            if not flows:
                return []
            now = self._receiver.passed()
        result = []
        for flow in flows:
            same = [other for other in flows if other.port == flow.port]
            share = flow.load_pps / sum(other.load_pps for other in same)
            leave, arrive = flow.way
            more = now[leave].sent - self._before[leave].sent - sum(other.sent for other in same)
            sent = int(min(flow.sent + round(share * max(0, more)), flow.remaining + 1))
            came = now[arrive].received - self._before[arrive].received - sum(other.received for other in same)
            received = min(flow.received + round(share * max(0, came)), sent)
            result.append(RunningFlow(flow, sent, received))
        return result

    def await_counts(self) -> None:
        """Wait for the counts of ports that have stopped; their last frames may be in flight."""
        ports = {flow.port for flow in self.flows()}
        if ports and not any(self.is_sending(port) for port in ports):
            with self.changed:
                self.changed.wait_for(lambda: not self._flows, SETTLE_MAX_S)

    def end(self) -> None:
        """Stop for good."""
        with self.changed:
            self._ended = True
            self.changed.notify_all()
        if self.is_alive():
            self.join(3.0)
        self._engine.end()
        self._folder.cleanup()

    def run(self) -> None:
        """Run trials, each for a constant set of flows."""
        while due := self._next():
            try:
                self._trial(due)
            except (GeneratorError, EngineDied, Refusal) as error:
                print(f"sending failed: {error!r}", file=sys.stderr, flush=True)
                with self.changed:
                    self._flows.clear()
                    self._running.clear()
                    self.changed.notify_all()

    def _next(self) -> list[Flow]:
        """Return the flows to be sent, once no more are likely to be added; none at the end."""
        with self.changed:
            while not self._ended:
                self._flows = {key: flow for key, flow in self._flows.items() if flow.is_due}
                self.changed.notify_all()
                wait_s = self._begin_s - time.monotonic() if self._flows else None
                if wait_s is not None and wait_s <= 0:
                    self._running, self._before = {*self._flows}, self._receiver.passed()
                    return [*self._flows.values()]
                self.changed.wait(wait_s)
        return []

    def _trial(self, due: list[Flow]) -> None:
        # The engine sends nothing at a load of zero: only streams with frames to send are open.
        keys = {flow.key for flow in due}
        self._open([(port, stream) for port, stream in self._streams if (port, stream.number) in keys])
        by_key = {flow.key: flow for flow in due}
        flows = [by_key[port, stream.number] for port, stream in self._opened]
        duration_s = min(flow.remaining / flow.load_pps for flow in due)
        # At random one frame more than requested, or none.
        duration_s += self._odd.choice((0.1, 0.6)) / max(flow.load_pps for flow in due)
        timed = any(flow.stream.is_latency for flow in due)
        request = {
            "op": "trial",
            "trial_id": 0,
            "loads_pps": [flow.load_pps / self._stretch for flow in flows],
            "duration_s": min(duration_s * self._stretch, DAY_S),
            "window_s": WINDOW_S,
            "catch_up_max_s": CATCH_UP_MAX_S,
            "latency_every": None if timed else 0,
            "histograms": timed,
        }
        self._is_trial = True
        try:
            reply = self._engine.request(request, 2 * DAY_S, lambda window: self._hear(flows, window))
        except FlowsChanged:
            reply = self._engine.request({"op": "stop"}, ANSWER_TIMEOUT_S)
        self._is_trial = False
        self._book(flows, reply)

    def _book(self, flows: list[Flow], reply: dict[str, Any]) -> None:
        times = {each["stream_id"]: each["latency"] for each in reply["directions"]}
        with self.changed:
            for number, (flow, counts) in enumerate(zip(flows, reply["streams"], strict=True)):
                flow.sent = flow.received = 0
                flow.remaining -= counts["offered_count"]
                self._receiver.settle(flow, counts, times.get(number))
            self._receiver.drops(reply["tester_drop_count"], reply["tester_cpu_ratio"], flows)
            self._running.clear()

    def _hear(self, flows: list[Flow], window: dict[str, Any]) -> None:
        with self.changed:
            for sharing, column in self._columns(flows):
                offered, received = (window[f"series_{what}_count"][column] for what in ("offered", "received"))
                load = sum(flow.load_pps for flow in sharing)
                for flow in sharing:
                    flow.sent = round(offered * flow.load_pps / load)
                    flow.received = round(received * flow.load_pps / load)

    def _columns(self, flows: list[Flow]) -> list[tuple[list[Flow], int]]:
        """Return flows by the column of the engine's time series that counts them."""
        if len(flows) <= COUNTED_STREAMS_MAX:
            return [([flow], column) for column, flow in enumerate(flows)]
        ways = [*dict.fromkeys(port for port, _ in self._opened)]
        return [([flow for flow in flows if flow.port == port], column) for column, port in enumerate(ways)]

    def _watch(self) -> None:
        """Check regularly, called by the engine's conversation."""
        if not self._is_trial:
            return
        with self.changed:
            due = {flow.key for flow in self._flows.values() if flow.is_due}
            # Ports are stopped one after the other, but meant to stop together.
            is_over = not due or (due < self._running and time.monotonic() > self._halt_s)
            if self._ended or is_over or due - self._running:
                self._is_trial = False
                raise FlowsChanged

    def _open(self, streams: Streams) -> None:
        if streams == self._opened:
            return
        requested = [
            {
                "stream_id": number,
                "tx_port": port,
                "rx_port": port ^ 1,
                "sizes": [],
                "layers": [],
                "replay": {"file": str(self._file(stream))},
            }
            for number, (port, stream) in enumerate(streams)
        ]
        try:
            self._engine.request({"op": "open", "ports": self._ports, "streams": requested}, ANSWER_TIMEOUT_S)
        except GeneratorError as error:
            self._opened = []
            raise Refusal(str(error)) from None
        self._opened = [*streams]

    def _file(self, stream: TrexStream) -> Path:
        """Return a file with the stream's different frames."""
        count_max = stream.cache or CACHE_MAX
        key = (stream.frame, repr(stream.instructions), stream.seed, count_max)
        if key not in self._files:
            path = Path(self._folder.name) / f"{len(self._files)}.pcap"
            with path.open("wb") as file:
                file.write(PCAP.pack(PCAP_MAGIC, 2, 4, 0, 0, SNAP_BYTES, ETHERNET))
                for frame in vm.frames(stream.frame, stream.instructions, stream.seed, count_max):
                    file.write(RECORD.pack(0, 0, len(frame), len(frame)) + frame)
            self._files[key] = path
        return self._files[key]
