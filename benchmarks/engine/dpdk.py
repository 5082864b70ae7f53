"""Generators on DPDK ports without a kernel: net_null, which discards all frames, and net_memif, shared memory."""

import contextlib
import os
import time
from collections.abc import Iterator

from benchmarks.engine.frame import Frame
from benchmarks.engine.nodrop import NodropGenerator
from benchmarks.engine.packet_generator import RECEIVE_CPU, SEND_CPU
from benchmarks.engine.testpmd import TestpmdRun, TestpmdSend, start_testpmd

FLOW_COUNT = 256
QUEUE_SLOTS = 1024
"""The default of net_memif, used for both generators."""
NULL = "net_null0,no-rx=1"
"""Without no-rx the driver generates frames, which testpmd's flowgen would receive and discard, at half its rate."""


def create_nodrop_null(name: str, stream_count: int = 1, flow_count: int = FLOW_COUNT) -> NodropGenerator:
    """Return nodrop sending live frames to net_null."""
    return NodropGenerator(
        name,
        ports=(NULL,),
        backend="dpdk",
        queue_slots=QUEUE_SLOTS,
        stream_count=stream_count,
        flow_count=flow_count,
        cpus=(SEND_CPU,),
    )


def create_nodrop_memif(name: str) -> NodropGenerator:
    """Return nodrop at both ends of net_memif. It sends from the client, which only starts once there is a server."""
    ports = (_memif_device(0, "server"), _memif_device(1, "client"))
    return NodropGenerator(name, ports=ports, backend="dpdk", queue_slots=QUEUE_SLOTS, sends_from_first=False)


class TestpmdFlowgen(TestpmdSend):
    """testpmd sending flows to net_null, its mode closest to nodrop's frames."""

    name = "testpmd flowgen null"
    work_per_frame = f"{FLOW_COUNT} flows; no sequence number, no time stamp"

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator[TestpmdRun]:
        """Start one process in flowgen mode."""
        options = ("--forward-mode=flowgen", f"--txpkts={frame.buffer_bytes}", f"--flowgen-flows={FLOW_COUNT}")
        with start_testpmd(NULL, SEND_CPU, options) as sender:
            yield TestpmdDpdkRun((sender,))


class TestpmdMemif(TestpmdSend):
    """testpmd sending one fixed frame from one process to another, which counts."""

    name = "testpmd memif"
    work_per_frame = "one fixed frame; the receiver counts frames without inspecting them"

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator[TestpmdRun]:
        """Start the receiver, which creates the socket, then the sender."""
        options = ("--forward-mode=txonly", f"--txpkts={frame.buffer_bytes}")
        receiving = start_testpmd(_memif_device(0, "server"), RECEIVE_CPU, ("--forward-mode=rxonly",))
        with receiving as receiver, start_testpmd(_memif_device(0, "client"), SEND_CPU, options) as sender:
            yield TestpmdDpdkRun((sender, receiver), (receiver,))


class TestpmdDpdkRun(TestpmdRun):
    """A run of testpmd on ports that the kernel does not count."""

    def read_sent(self) -> tuple[float, int]:
        """Return the time and the frames sent, by the port's counter."""
        count = self._read_port_counter(self._processes[0], "TX-packets")
        return time.monotonic(), count


def _memif_device(number: int, role: str) -> str:
    return f"net_memif{number},role={role},socket=nodrop-bench-{os.getpid()}"
