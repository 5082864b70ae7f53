"""Through DPDK, no kernel on the way: net_null, which takes all and keeps nothing, and net_memif, shared memory."""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.engine.contestant import RECEIVE_CPU, SEND_CPU
from benchmarks.engine.frame import Frame
from benchmarks.engine.nodrop import NodropRun, NodropSend
from benchmarks.engine.testpmd import TestpmdRun, TestpmdSend, start
from benchmarks.engine.tool import ContestantError, Tool

from nodrop.errors import GeneratorError
from nodrop.program import find_program

FLOW_COUNT = 256
QUEUE_SLOTS = 1024
"""What net_memif has by default, for both sides."""
OUT_OF_REACH_PPS = 100e6
NULL = "net_null0,no-rx=1"
"""Without no-rx it makes up frames, which testpmd's flowgen would receive and throw away, at half its rate."""


class NodropNull(NodropSend):
    """Sends live frames into nothing."""

    name = "nodrop dpdk null"

    def version(self) -> str:
        """Raises ContestantError, also when it was built without DPDK."""
        version = super().version()
        request = json.dumps(self._open_request(Frame(64)))
        program = find_program("nodrop-engine", GeneratorError)
        said = subprocess.run([program], input=request, capture_output=True, text=True, check=True).stdout
        answer = json.loads(said.splitlines()[-1])
        if answer["reply"] == "error":
            raise ContestantError(answer["message"])
        return version

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator["NodropDpdkRun"]:
        """One trial at a load that cannot be reached."""
        with Tool([find_program("nodrop-engine", GeneratorError)], {SEND_CPU, RECEIVE_CPU}) as tool:
            run = NodropDpdkRun(tool, receives=len(self._devices()) > 1)
            run.begin(self._open_request(frame), self._latency_every, OUT_OF_REACH_PPS)
            yield run

    def _devices(self) -> tuple[str, ...]:
        return (NULL,)

    def _open_request(self, frame: Frame) -> dict[str, Any]:
        port = {"backend": "dpdk", "queue_slots": QUEUE_SLOTS}
        ends = {"tx_port": len(self._devices()) - 1, "rx_port": 0}
        flows = {"layer": 2, "field": "src_port", "values": {"mode": "increment", "count": FLOW_COUNT}}
        request = super()._open_request(frame)
        stream = request["streams"][0] | ends | {"ranges": [flows]}
        return request | {
            "ports": [{**port, "interface": device} for device in self._devices()],
            "streams": [stream],
            "cores": [SEND_CPU, RECEIVE_CPU][: len(self._devices())],
        }


class NodropMemif(NodropNull):
    """Sends on one end of the shared memory, receives on the other and accounts for every frame."""

    name = "nodrop dpdk memif"

    def _devices(self) -> tuple[str, ...]:
        return _memif(0, "server"), _memif(1, "client")  # a client starts only once there is a server


class NodropDpdkRun(NodropRun):
    """The engine in the middle of a trial; what it sent is known to itself alone."""

    def sent(self) -> tuple[float, int]:
        """Of the next window to end."""
        window = self._next_window()
        return window["elapsed_s"], window["offered_count"]


class TestpmdFlowgen(TestpmdSend):
    """Sends flows into nothing: testpmd's nearest to what nodrop sends."""

    name = "testpmd flowgen null"

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator[TestpmdRun]:
        """One process in flowgen mode."""
        options = ("--forward-mode=flowgen", f"--txpkts={frame.buffer_bytes}", f"--flowgen-flows={FLOW_COUNT}")
        with start(NULL, SEND_CPU, options) as sender:
            yield TestpmdDpdkRun(sender, None)


class TestpmdMemif(TestpmdSend):
    """Sends one fixed frame from one process to another, which counts."""

    name = "testpmd memif"

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator[TestpmdRun]:
        """The receiver first: it makes the socket."""
        options = ("--forward-mode=txonly", f"--txpkts={frame.buffer_bytes}")
        receiving = start(_memif(0, "server"), RECEIVE_CPU, ("--forward-mode=rxonly",))
        with receiving as receiver, start(_memif(0, "client"), SEND_CPU, options) as sender:
            yield TestpmdDpdkRun(sender, receiver)


class TestpmdDpdkRun(TestpmdRun):
    """testpmd at work; what it sent is known to itself alone."""

    def sent(self) -> tuple[float, int]:
        """As the port counts it."""
        count = self._count(self._tools[0], "TX-packets")
        return time.monotonic(), count


def _memif(number: int, role: str) -> str:
    return f"net_memif{number},role={role},socket=nodrop-bench-{os.getpid()}"
