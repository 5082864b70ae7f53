"""Real aggregators of other projects, started for a test on a local port."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Self

DIRECTORY = Path(__file__).parent
START_S = 20.0
ARRIVE_S = 10.0


def build_forward_server(directory: Path) -> Path:
    """Build the OpenTelemetry Collector's receiver; return the program."""
    program = directory / "fluent-forward-server"
    command = ["go", "build", "-o", str(program), "."]
    subprocess.run(command, cwd=DIRECTORY / "fluent-forward-server", check=True, timeout=570)
    return program


def install_secure_server(directory: Path) -> Path:
    """Install the server of the Fluent project's library for Node; return its script."""
    home = directory / "fluent-secure-server"
    shutil.copytree(DIRECTORY / "fluent-secure-server", home)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--silent"], cwd=home, check=True, timeout=200)
    return home / "server.mjs"


def free_port() -> int:
    """Return a port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Aggregator:
    """A running server, ended at the end of the block."""

    def __init__(self, command: list[str], output: Path) -> None:
        """Start it.

        Args:
            command: a program that writes `listening` to standard error, and each record as JSON to standard output.
            output: file for standard output.
        """
        self._output = output
        errors = output.with_suffix(".err")
        with output.open("a") as out, errors.open("w") as err:
            self._process = subprocess.Popen(command, stdout=out, stderr=err)
        deadline_s = time.monotonic() + START_S
        while "listening" not in errors.read_text():
            assert self._process.poll() is None and time.monotonic() < deadline_s, errors.read_text()
            time.sleep(0.02)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        os.kill(self._process.pid, signal.SIGTERM)
        self._process.wait(timeout=10)

    def records(self, count: int) -> list[dict[str, Any]]:
        """Return the received records once there are so many, or those received before the timeout."""
        deadline_s = time.monotonic() + ARRIVE_S
        while len(lines := self._output.read_text().splitlines()) < count and time.monotonic() < deadline_s:
            time.sleep(0.02)
        return [json.loads(line) for line in lines]
