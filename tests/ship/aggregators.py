"""Real aggregators: programs that others wrote, started for a test on a port of this machine."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).parent
START_S = 20.0
ARRIVE_S = 10.0


def build_forward_server(directory: Path) -> Path:
    """The OpenTelemetry Collector's receiver; gives the program."""
    program = directory / "fluent-forward-server"
    command = ["go", "build", "-o", str(program), "."]
    subprocess.run(command, cwd=HERE / "fluent-forward-server", check=True, timeout=570)
    return program


def install_secure_server(directory: Path) -> Path:
    """The server of the Fluent project's library for Node; gives its script."""
    home = directory / "fluent-secure-server"
    shutil.copytree(HERE / "fluent-secure-server", home)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--silent"], cwd=home, check=True, timeout=200)
    return home / "server.mjs"


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
        return port


class Aggregator:
    """A running server; ends with the block it is used in."""

    def __init__(self, command: list[str], output: Path) -> None:
        """Start it.

        Args:
            command: a program that says `listening` on standard error, and each record as JSON on standard output.
            output: file for that.
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
        """What it took, once it is that much; what came by then if it does not get there."""
        deadline_s = time.monotonic() + ARRIVE_S
        while len(lines := self._output.read_text().splitlines()) < count and time.monotonic() < deadline_s:
            time.sleep(0.02)
        return [json.loads(line) for line in lines]
