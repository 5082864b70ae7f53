"""Through DPDK, no kernel on the way: net_null, which takes all and keeps nothing, and net_memif, shared memory."""

import contextlib
import os
import time
from collections.abc import Iterator

from benchmarks.engine.contestant import RECEIVE_CPU, SEND_CPU
from benchmarks.engine.frame import Frame
from benchmarks.engine.nodrop import Nodrop
from benchmarks.engine.testpmd import TestpmdRun, TestpmdSend, start

FLOW_COUNT = 256
QUEUE_SLOTS = 1024
"""What net_memif has by default, for both sides."""
NULL = "net_null0,no-rx=1"
"""Without no-rx it makes up frames, which testpmd's flowgen would receive and throw away, at half its rate."""


def nodrop_null(name: str, stream_count: int = 1, flow_count: int = FLOW_COUNT) -> Nodrop:
    """nodrop, sending live frames into nothing."""
    return Nodrop(
        name,
        ports=(NULL,),
        backend="dpdk",
        queue_slots=QUEUE_SLOTS,
        stream_count=stream_count,
        flow_count=flow_count,
        cpus=(SEND_CPU,),
    )


def nodrop_memif(name: str) -> Nodrop:
    """nodrop at both ends of the shared memory. It sends from the client, which starts only once there is a server."""
    ports = (_memif(0, "server"), _memif(1, "client"))
    return Nodrop(name, ports=ports, backend="dpdk", queue_slots=QUEUE_SLOTS, first_sends=False)


class TestpmdFlowgen(TestpmdSend):
    """Sends flows into nothing: testpmd's nearest to what nodrop sends."""

    name = "testpmd flowgen null"
    does = f"{FLOW_COUNT} flows; no number, no time"

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator[TestpmdRun]:
        """One process in flowgen mode."""
        options = ("--forward-mode=flowgen", f"--txpkts={frame.buffer_bytes}", f"--flowgen-flows={FLOW_COUNT}")
        with start(NULL, SEND_CPU, options) as sender:
            yield TestpmdDpdkRun((sender,))


class TestpmdMemif(TestpmdSend):
    """Sends one fixed frame from one process to another, which counts."""

    name = "testpmd memif"
    does = "one fixed frame; the receiver counts and looks at nothing"

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator[TestpmdRun]:
        """The receiver first: it makes the socket."""
        options = ("--forward-mode=txonly", f"--txpkts={frame.buffer_bytes}")
        receiving = start(_memif(0, "server"), RECEIVE_CPU, ("--forward-mode=rxonly",))
        with receiving as receiver, start(_memif(0, "client"), SEND_CPU, options) as sender:
            yield TestpmdDpdkRun((sender, receiver), (receiver,))


class TestpmdDpdkRun(TestpmdRun):
    """testpmd at work; what it sent is known to itself alone."""

    def sent(self) -> tuple[float, int]:
        """As the port counts it."""
        count = self._count(self._tools[0], "TX-packets")
        return time.monotonic(), count


def _memif(number: int, role: str) -> str:
    return f"net_memif{number},role={role},socket=nodrop-bench-{os.getpid()}"
