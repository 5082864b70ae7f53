"""dpdk-testpmd without huge pages on kernel interfaces: txonly, and rxonly in a separate process, or flowgen."""

import contextlib
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.engine import link
from benchmarks.engine.frame import Frame
from benchmarks.engine.link import RECEIVE_PORT, SEND_PORT
from benchmarks.engine.packet_generator import RECEIVE_CPU, SEND_CPU
from benchmarks.engine.tool_process import BenchmarkError, ToolProcess, find_program, read_package_version

PACKAGE = "dpdk-dev"
START_TIMEOUT_S = 15.0
RECEIVE_RING_FRAMES = 4096
"""The driver's default of 512 overflows if its reader is off the CPU for a millisecond; 16384 are slower."""
RUNTIME_DIRECTORY = Path("/var/run/dpdk")
"""Parent of the directory that each DPDK process creates and does not remove."""


class Driver(NamedTuple):
    """A DPDK driver and its device arguments in addition to the interface."""

    name: str
    sending: str = ""
    receiving: str = ""


AF_PACKET = Driver("net_af_packet0", ",qdisc_bypass=1", f",framecnt={RECEIVE_RING_FRAMES}")
AF_XDP = Driver("net_af_xdp0")


class TestpmdSend:
    """testpmd that only sends."""

    name = "testpmd send"
    work_per_frame = "one fixed frame, txonly"
    _driver = AF_PACKET

    def read_version(self) -> str:
        """Return the version of the Debian package."""
        find_program("dpdk-testpmd", PACKAGE)
        return read_package_version(PACKAGE)

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator["TestpmdRun"]:
        """Start one process in txonly mode."""
        with _start_sender(self._driver, frame) as sender:
            yield TestpmdRun((sender,))


class TestpmdSendReceive:
    """testpmd that sends in one process and receives in another."""

    name = "testpmd send+receive"
    work_per_frame = "one fixed frame, txonly; the receiver counts frames without inspecting them, rxonly"
    read_version = TestpmdSend.read_version
    _driver = AF_PACKET

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator["TestpmdRun"]:
        """Start the receiver, then the sender, so that no frame is missed."""
        with _start_receiver(self._driver) as receiver, _start_sender(self._driver, frame) as sender:
            yield TestpmdRun((sender, receiver), (receiver,))


class TestpmdXdpSend(TestpmdSend):
    """testpmd that only sends, through AF_XDP."""

    name = "testpmd af_xdp send"
    _driver = AF_XDP


class TestpmdXdpSendReceive(TestpmdSendReceive):
    """testpmd that sends and receives through AF_XDP."""

    name = "testpmd af_xdp send+receive"
    _driver = AF_XDP


class TestpmdBidirectional:
    """A testpmd process at each end that sends and receives alternately, in one thread."""

    name = "testpmd both ways"
    work_per_frame = "256 flows, no sequence number or time stamp, flowgen; received frames are counted and discarded"
    read_version = TestpmdSend.read_version
    _driver = AF_PACKET

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator["TestpmdRun"]:
        """Start both processes in flowgen mode."""
        options = ("--forward-mode=flowgen", f"--txpkts={frame.buffer_bytes}", "--flowgen-flows=256")
        settings = self._driver.sending + self._driver.receiving
        near, far = (f"{self._driver.name},iface={port}{settings}" for port in (SEND_PORT, RECEIVE_PORT))
        with (
            start_testpmd(far, RECEIVE_CPU, options) as far_process,
            start_testpmd(near, SEND_CPU, options) as near_process,
        ):
            processes = (near_process, far_process)
            yield TestpmdRun(processes, processes, (SEND_PORT, RECEIVE_PORT))


class TestpmdXdpBidirectional(TestpmdBidirectional):
    """testpmd in both directions through AF_XDP."""

    name = "testpmd af_xdp both ways"
    _driver = AF_XDP


class TestpmdRun:
    """A run of testpmd in one or two processes."""

    def __init__(
        self,
        processes: Sequence[ToolProcess],
        receivers: Sequence[ToolProcess] = (),
        sending_ports: Collection[str] = (SEND_PORT,),
    ) -> None:
        self._processes = processes
        self._receivers = receivers
        self._sending_ports = sending_ports

    def read_cpu_s(self) -> float:
        """Return the CPU time of all processes."""
        return sum(process.read_cpu_s() for process in self._processes)

    def read_received(self) -> tuple[float, int] | None:
        """Return the time and the frames received, by the ports' counters."""
        if not self._receivers:
            return None
        count = sum(self._read_port_counter(process, "RX-packets") for process in self._receivers)
        return time.monotonic(), count

    def read_sent(self) -> tuple[float, int]:
        """Return the time and the frames sent, by the kernel's counter."""
        return link.read_sent(self._sending_ports)

    def _read_port_counter(self, process: ToolProcess, counter: str) -> int:
        process.write_line("show port stats 0")
        return int(_await_line(process, counter + r": +(\d+)"))

    def check_running(self) -> None:
        """Raise BenchmarkError if a process has exited."""
        for process in self._processes:
            process.check_running()

    def stop(self) -> dict[str, float]:
        """Return no counters: those of the ports suffice."""
        return {}


def _start_sender(driver: Driver, frame: Frame) -> contextlib.AbstractContextManager[ToolProcess]:
    options = ("--forward-mode=txonly", f"--txpkts={frame.buffer_bytes}", f"--eth-peer=0,{frame.dst_mac}")
    return start_testpmd(f"{driver.name},iface={SEND_PORT}{driver.sending}", SEND_CPU, options)


def _start_receiver(driver: Driver) -> contextlib.AbstractContextManager[ToolProcess]:
    device = f"{driver.name},iface={RECEIVE_PORT}{driver.receiving}"
    return start_testpmd(device, RECEIVE_CPU, ("--forward-mode=rxonly",))


@contextlib.contextmanager
def start_testpmd(device: str, cpu: int, options: tuple[str, ...]) -> Iterator[ToolProcess]:
    """Start testpmd with its forwarding thread on `cpu` and its main thread, which only reads commands, on the other.

    Raises BenchmarkError if it does not start forwarding.
    """
    idle_cpu = SEND_CPU + RECEIVE_CPU - cpu
    prefix = f"nodrop-bench-{os.getpid()}-{cpu}"
    host = ("--no-pci", "--no-telemetry", "--no-shconf", "--file-prefix", prefix, "--no-huge", "-m", "256")
    threads = ("-l", f"{SEND_CPU},{RECEIVE_CPU}", "--main-lcore", str(idle_cpu))
    port = (f"--vdev={device}", "--", "-i", "--nb-cores=1", "--total-num-mbufs=32768")
    # Without a terminal, testpmd's standard output would be buffered.
    command = ("stdbuf", "-oL", find_program("dpdk-testpmd", PACKAGE), *host, *threads, *port, *options)
    try:
        with ToolProcess(command, {SEND_CPU, RECEIVE_CPU}) as process:
            process.write_line("start")
            _await_line(process, r"packet forwarding - ports=(\d+)")
            yield process
    finally:
        shutil.rmtree(RUNTIME_DIRECTORY / prefix, ignore_errors=True)


def _await_line(process: ToolProcess, pattern: str) -> str:
    """Return the first group of the pattern in the first line that matches it."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        line = process.lines.read_line(0.1)
        if line is None:
            process.check_running()
        elif match := re.search(pattern, line):
            return match[1]
    raise BenchmarkError(f"dpdk-testpmd printed no line with {pattern!r} within {START_TIMEOUT_S:g} s")
