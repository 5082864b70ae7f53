"""dpdk-testpmd without huge pages; on net_af_packet ports txonly, and rxonly in a process of its own."""

import contextlib
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.engine import link
from benchmarks.engine.contestant import RECEIVE_CPU, SEND_CPU
from benchmarks.engine.frame import Frame
from benchmarks.engine.link import RECEIVE_PORT, SEND_PORT
from benchmarks.engine.tool import ContestantError, Tool, find, package_version

PACKAGE = "dpdk-dev"
START_TIMEOUT_S = 15.0
RECEIVE_RING_FRAMES = 4096
"""The driver's default of 512 overflows as soon as its reader is off the CPU for a millisecond; 16384 are slower."""
RUNTIME_DIRECTORY = Path("/var/run/dpdk")
"""Where DPDK makes a directory for each of its processes, and leaves it."""


class Driver(NamedTuple):
    """A driver of DPDK's, and its arguments in addition to the interface."""

    name: str
    sending: str = ""
    receiving: str = ""


AF_PACKET = Driver("net_af_packet0", ",qdisc_bypass=1", f",framecnt={RECEIVE_RING_FRAMES}")
AF_XDP = Driver("net_af_xdp0")


class TestpmdSend:
    """Sends only."""

    name = "testpmd send"
    does = "one fixed frame, txonly"
    _driver = AF_PACKET

    def version(self) -> str:
        """Of the Debian package."""
        find("dpdk-testpmd", PACKAGE)
        return package_version(PACKAGE)

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator["TestpmdRun"]:
        """One process in txonly mode."""
        with _sender(self._driver, frame) as sender:
            yield TestpmdRun((sender,))


class TestpmdSendReceive:
    """Sends in one process and receives in another."""

    name = "testpmd send+receive"
    does = "one fixed frame, txonly; the receiver counts and looks at nothing, rxonly"
    version = TestpmdSend.version
    _driver = AF_PACKET

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator["TestpmdRun"]:
        """The receiver first, so that it misses nothing."""
        with _receiver(self._driver) as receiver, _sender(self._driver, frame) as sender:
            yield TestpmdRun((sender, receiver), (receiver,))


class TestpmdXdpSend(TestpmdSend):
    """Through AF_XDP."""

    name = "testpmd af_xdp send"
    _driver = AF_XDP


class TestpmdXdpSendReceive(TestpmdSendReceive):
    """Through AF_XDP at both ends."""

    name = "testpmd af_xdp send+receive"
    _driver = AF_XDP


class TestpmdBothWays:
    """A process at each end that sends and receives by turns, in one thread."""

    name = "testpmd both ways"
    does = "256 flows, no number or time, flowgen; what arrives is counted and thrown away"
    version = TestpmdSend.version
    _driver = AF_PACKET

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator["TestpmdRun"]:
        """Both in flowgen mode."""
        options = ("--forward-mode=flowgen", f"--txpkts={frame.buffer_bytes}", "--flowgen-flows=256")
        settings = self._driver.sending + self._driver.receiving
        near, far = (f"{self._driver.name},iface={port}{settings}" for port in (SEND_PORT, RECEIVE_PORT))
        with start(far, RECEIVE_CPU, options) as there, start(near, SEND_CPU, options) as here:
            yield TestpmdRun((here, there), (here, there), (SEND_PORT, RECEIVE_PORT))


class TestpmdXdpBothWays(TestpmdBothWays):
    """Through AF_XDP."""

    name = "testpmd af_xdp both ways"
    _driver = AF_XDP


class TestpmdRun:
    """One or two processes of testpmd at work."""

    def __init__(
        self, tools: Sequence[Tool], receivers: Sequence[Tool] = (), counted: Collection[str] = (SEND_PORT,)
    ) -> None:
        self._tools = tools
        self._receivers = receivers
        self._counted = counted

    def cpu_s(self) -> float:
        """Of both processes."""
        return sum(tool.cpu_s() for tool in self._tools)

    def received(self) -> tuple[float, int] | None:
        """What receiving processes say they have taken from their ports."""
        if not self._receivers:
            return None
        count = sum(self._count(tool, "RX-packets") for tool in self._receivers)
        return time.monotonic(), count

    def sent(self) -> tuple[float, int]:
        """As the kernel counts it, for all alike."""
        return link.sent(self._counted)

    def _count(self, tool: Tool, counter: str) -> int:
        tool.write("show port stats 0")
        return int(_await_line(tool, counter + r": +(\d+)"))

    def check_running(self) -> None:
        """Of both processes."""
        for tool in self._tools:
            tool.check_running()

    def finish(self) -> dict[str, float]:
        """It says nothing that the counters do not."""
        return {}


def _sender(driver: Driver, frame: Frame) -> contextlib.AbstractContextManager[Tool]:
    options = ("--forward-mode=txonly", f"--txpkts={frame.buffer_bytes}", f"--eth-peer=0,{frame.dst_mac}")
    return start(f"{driver.name},iface={SEND_PORT}{driver.sending}", SEND_CPU, options)


def _receiver(driver: Driver) -> contextlib.AbstractContextManager[Tool]:
    device = f"{driver.name},iface={RECEIVE_PORT}{driver.receiving}"
    return start(device, RECEIVE_CPU, ("--forward-mode=rxonly",))


@contextlib.contextmanager
def start(device: str, cpu: int, options: tuple[str, ...]) -> Iterator[Tool]:
    """Its forwarding thread on `cpu`; the main thread, which only reads commands, on the other one."""
    idle_cpu = SEND_CPU + RECEIVE_CPU - cpu
    prefix = f"nodrop-bench-{os.getpid()}-{cpu}"
    host = ("--no-pci", "--no-telemetry", "--no-shconf", "--file-prefix", prefix, "--no-huge", "-m", "256")
    threads = ("-l", f"{SEND_CPU},{RECEIVE_CPU}", "--main-lcore", str(idle_cpu))
    port = (f"--vdev={device}", "--", "-i", "--nb-cores=1", "--total-num-mbufs=32768")
    # Without a terminal its answers would wait in a buffer.
    command = ("stdbuf", "-oL", find("dpdk-testpmd", PACKAGE), *host, *threads, *port, *options)
    try:
        with Tool(command, {SEND_CPU, RECEIVE_CPU}) as tool:
            tool.write("start")
            _await_line(tool, r"packet forwarding - ports=(\d+)")
            yield tool
    finally:
        shutil.rmtree(RUNTIME_DIRECTORY / prefix, ignore_errors=True)


def _await_line(tool: Tool, pattern: str) -> str:
    """The first group of the first line to come that has the pattern."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        line = tool.lines.next_line(0.1)
        if line is None:
            tool.check_running()
        elif found := re.search(pattern, line):
            return found[1]
    raise ContestantError(f"dpdk-testpmd has not said {pattern!r} within {START_TIMEOUT_S:g} s")
