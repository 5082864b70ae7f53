"""trafgen of netsniff-ng: AF_PACKET TX_RING past the queueing discipline, one fixed frame."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.engine import link
from benchmarks.engine.contestant import SEND_CPU
from benchmarks.engine.frame import Frame
from benchmarks.engine.link import SEND_PORT
from benchmarks.engine.tool import Tool, find, package_version

PACKAGE = "netsniff-ng"


class TrafgenSend:
    """Sends only."""

    name = "trafgen send"
    does = "one fixed frame, never received or counted"

    def version(self) -> str:
        """Of the Debian package."""
        find("trafgen", PACKAGE)
        return package_version(PACKAGE)

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator["TrafgenRun"]:
        """It forks its sender, which its own end would leave behind: a process namespace takes that along."""
        with tempfile.TemporaryDirectory() as directory:
            config = frame.write_trafgen(Path(directory, "frame.cfg"))
            enclosure = ("unshare", "--pid", "--fork", "--kill-child")
            options = ("--dev", SEND_PORT, "--conf", config, "--cpus", "1", "--num", "0")
            leave_host_alone = ("--no-sock-mem", "--notouch-irq", "--no-cpu-stats")
            command = (*enclosure, find("trafgen", PACKAGE), *options, *leave_host_alone)
            with Tool(command, {SEND_CPU}) as tool:
                yield TrafgenRun(tool)


class TrafgenRun:
    """trafgen, sending."""

    def __init__(self, tool: Tool) -> None:
        self.cpu_s = tool.cpu_s
        self.check_running = tool.check_running

    def sent(self) -> tuple[float, int]:
        """As the kernel counts it, for all alike."""
        return link.sent()

    def received(self) -> None:
        """It does not receive."""

    def finish(self) -> dict[str, float]:
        """It says nothing that the kernel's counters do not."""
        return {}
