"""Frames on the lab's links during a trial, captured by tcpdump and read by tshark, independently of nodrop."""

import contextlib
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.lab.bench import Bench
from tests.waiting import stretch

QUIET_S, QUIET_MAX_S = 1.0, 20.0


@contextlib.contextmanager
def tapped(
    lab: Bench, tcpdump: Path, folder: Path, interfaces: Sequence[str], namespace: str = "sut"
) -> Iterator[list[Path]]:
    """Capture the frames received on these interfaces during the block; the files are complete after it."""
    captures = [folder / f"{interface}.pcap" for interface in interfaces]
    with contextlib.ExitStack() as taps:
        running = []
        for interface, capture in zip(interfaces, captures, strict=True):
            options = (
                "-i",
                interface,
                "-Q",
                "in",
                "--immediate-mode",
                "-B",
                "8192",
                "-s",
                "256",
                "-Z",
                "root",
                "-U",
                "-w",
            )
            command = lab.inside(namespace, tcpdump, *options, capture)
            running.append(taps.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, text=True)))
            errors = running[-1].stderr
            assert errors and "listening" in errors.readline()
        yield captures
        _await_quiet(captures)
        for tap in running:
            tap.terminate()
            tap.wait(stretch(10))


def _await_quiet(captures: Sequence[Path]) -> None:
    """Wait until the files stop growing: on a busy machine tcpdump lags behind."""
    size, since_s, end_s = -1, time.monotonic(), time.monotonic() + QUIET_MAX_S
    while time.monotonic() < min(since_s + QUIET_S, end_s):
        total_bytes = sum(capture.stat().st_size for capture in captures)
        if total_bytes != size:
            size, since_s = total_bytes, time.monotonic()
        time.sleep(0.05)


def read_fields(
    tshark: Path, capture: Path, display_filter: str, fields: Sequence[str], *options: str
) -> list[tuple[tuple[str, ...], ...]]:
    """Return all values of these fields of every matching frame, outermost first."""
    columns = [word for field in fields for word in ("-e", field)]
    command = [tshark, "-n", "-r", capture, *options, "-Y", display_filter, "-T", "fields", *columns]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=stretch(60), check=True).stdout.splitlines()
    return [tuple(tuple(filter(None, column.split(","))) for column in line.split("\t")) for line in lines]
