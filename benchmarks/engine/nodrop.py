"""nodrop-engine: every frame with a live sequence number and send time; every arrival checked and counted."""

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.engine import link
from benchmarks.engine.contestant import RECEIVE_CPU, SEND_CPU
from benchmarks.engine.frame import Frame
from benchmarks.engine.link import RECEIVE_PORT, SEND_PORT
from benchmarks.engine.tool import ContestantError, Tool

from nodrop.errors import GeneratorError
from nodrop.program import find_program

QUEUE_SLOTS = 65536
OUT_OF_REACH_PPS = 50e6
"""More than any CPU sends, so that the pacer never holds a frame back."""
DURATION_S = 120.0
WINDOW_S = 0.02
FLOWS = {"layer": 2, "field": "src_port", "values": {"mode": "increment", "count": 256}}
ANSWER_TIMEOUT_S = 10.0


class NodropSend:
    """Sends only: nothing is attached to the far end."""

    name = "nodrop send"
    _ports: tuple[str, ...] = (SEND_PORT,)
    _backend = "af_packet"
    _latency_every: int | None = None

    def version(self) -> str:
        """With the commit it was built from."""
        try:
            program = find_program("nodrop-engine", GeneratorError)
        except GeneratorError as error:
            raise ContestantError(str(error)) from None
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        return said.stdout.strip().removeprefix("nodrop-engine ")

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator["NodropRun"]:
        """One trial at a load that cannot be reached."""
        with Tool([find_program("nodrop-engine", GeneratorError)], {SEND_CPU, RECEIVE_CPU}) as tool:
            run = NodropRun(tool, receives=len(self._ports) > 1)
            run.begin(self._open_request(frame), self._latency_every)
            yield run

    def _open_request(self, frame: Frame) -> dict[str, Any]:
        port = {"backend": self._backend, "queue_slots": QUEUE_SLOTS}
        stream = {
            "stream_id": 1,
            "tx_port": 0,
            "rx_port": len(self._ports) - 1,
            "sizes": [{"frame_bytes": frame.frame_bytes}],
            "layers": [
                {"kind": "ethernet", "src": frame.src_mac, "dst": frame.dst_mac},
                {"kind": "ipv4", "src": frame.src_ip, "dst": frame.dst_ip},
                {"kind": "udp", "src_port": frame.src_udp_port, "dst_port": frame.dst_udp_port},
            ],
            "ranges": [FLOWS],
        }
        return {
            "op": "open",
            "ports": [{**port, "interface": name} for name in self._ports],
            "streams": [stream],
            "cores": [SEND_CPU, RECEIVE_CPU],
        }


class NodropSendReceive(NodropSend):
    """Sends, receives and accounts for every frame."""

    name = "nodrop send+receive"
    _ports = (SEND_PORT, RECEIVE_PORT)


class NodropCounting(NodropSendReceive):
    """The same, without measuring latency."""

    name = "nodrop counting"
    _latency_every = 0


class NodropXdpSend(NodropSend):
    """Through AF_XDP."""

    name = "nodrop af_xdp send"
    _backend = "af_xdp"


class NodropXdpSendReceive(NodropSendReceive):
    """Through AF_XDP at both ends."""

    name = "nodrop af_xdp send+receive"
    _backend = "af_xdp"


class NodropLive(NodropSendReceive):
    """Sent by an XDP program in the kernel, received through AF_XDP."""

    name = "nodrop xdp_live send+receive"
    _backend = "xdp_live"


class NodropRun:
    """The engine in the middle of a trial."""

    def __init__(self, tool: Tool, receives: bool) -> None:
        self._tool = tool
        self._receives = receives
        self.cpu_s = tool.cpu_s
        self.check_running = tool.check_running

    def begin(
        self, open_request: dict[str, Any], latency_every: int | None, load_pps: float = OUT_OF_REACH_PPS
    ) -> None:
        """Open the ports and start the trial."""
        self._await_reply("hello")
        self._ask(open_request)
        self._await_reply("opened")
        trial = {"op": "trial", "trial_id": 1, "loads_pps": [load_pps], "duration_s": DURATION_S}
        self._ask(trial | {"window_s": WINDOW_S, "latency_every": latency_every})

    def sent(self) -> tuple[float, int]:
        """As the kernel counts it, for all alike."""
        return link.sent()

    def received(self) -> tuple[float, int] | None:
        """Of the next window to end."""
        if not self._receives:
            return None
        window = self._next_window()
        return window["elapsed_s"], window["received_count"]

    def _next_window(self) -> dict[str, Any]:
        """To end from now on; the older ones are behind the times."""
        while self._tool.lines.next_line(0) is not None:
            pass
        return self._await_reply("window")

    def finish(self) -> dict[str, float]:
        """The trial's own account of every frame."""
        self._ask({"op": "stop"})
        trial = self._await_reply("trial")
        stream = trial["streams"][0]
        counts = ("offered_count", "received_count", "duplicate_count", "out_of_order_count")
        return {name: stream[name] for name in counts} | {"tester_drop_count": trial["tester_drop_count"]}

    def _ask(self, request: dict[str, Any]) -> None:
        self._tool.write(json.dumps(request))

    def _await_reply(self, kind: str) -> dict[str, Any]:
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while time.monotonic() < deadline:
            line = self._tool.lines.next_line(0.1)
            if line is None:
                self._tool.check_running()
                continue
            reply: dict[str, Any] = json.loads(line)
            if reply["reply"] == kind:
                return reply
            if reply["reply"] == "error":
                raise ContestantError(f"nodrop-engine refuses: {reply['message']}")
        raise ContestantError(f"nodrop-engine has not said {kind} within {ANSWER_TIMEOUT_S:g} s")
