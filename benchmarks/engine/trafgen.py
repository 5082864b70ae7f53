"""trafgen of netsniff-ng: one fixed frame through an AF_PACKET TX_RING, with the queueing discipline bypassed."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.engine import link
from benchmarks.engine.frame import Frame
from benchmarks.engine.link import SEND_PORT
from benchmarks.engine.packet_generator import SEND_CPU
from benchmarks.engine.tool_process import ToolProcess, find_program, read_package_version

PACKAGE = "netsniff-ng"


class TrafgenSend:
    """trafgen, which only sends."""

    name = "trafgen send"
    work_per_frame = "one fixed frame; no receiver"

    def read_version(self) -> str:
        """Return the version of the Debian package."""
        find_program("trafgen", PACKAGE)
        return read_package_version(PACKAGE)

    @contextlib.contextmanager
    def run(self, frame: Frame) -> Iterator["TrafgenRun"]:
        """Start it in a PID namespace: trafgen forks its sender, which would survive the end of trafgen itself."""
        with tempfile.TemporaryDirectory() as directory:
            config = frame.write_trafgen(Path(directory, "frame.cfg"))
            pid_namespace = ("unshare", "--pid", "--fork", "--kill-child")
            options = ("--dev", SEND_PORT, "--conf", config, "--cpus", "1", "--num", "0")
            keep_host_settings = ("--no-sock-mem", "--notouch-irq", "--no-cpu-stats")
            command = (*pid_namespace, find_program("trafgen", PACKAGE), *options, *keep_host_settings)
            with ToolProcess(command, {SEND_CPU}) as process:
                yield TrafgenRun(process)


class TrafgenRun:
    """A run of trafgen."""

    def __init__(self, process: ToolProcess) -> None:
        self.read_cpu_s = process.read_cpu_s
        self.check_running = process.check_running

    def read_sent(self) -> tuple[float, int]:
        """Return the time and the frames sent, by the kernel's counter."""
        return link.read_sent()

    def read_received(self) -> None:
        """Return None: trafgen does not receive."""

    def stop(self) -> dict[str, float]:
        """Return no counters: the kernel's suffice."""
        return {}
