"""Noisy neighbors: stress-ng pinned to CPUs while a lab is up.

stress-ng is the usual load generator for CPUs, memory and caches. It ends with the lab, with the holder process even
if that is killed, and by itself after a day.

Source: ETSI GS NFV-PER 001 clause 8.2.2.5, option 1; stress-ng(1).
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from nodrop.errors import StageError
from nodrop.model.choices import AntagonistKind
from nodrop.model.lab_plan import Antagonist
from nodrop.stage.namespace import signal_on_parent_exit
from nodrop.stage.sut_process import SutChild, raise_priority, stop_all

PROGRAM = "stress-ng"
INSTALL = "apt install stress-ng"
STRESSORS: dict[AntagonistKind, tuple[str, ...]] = {
    "cpu": ("--cpu", "1", "--cpu-method", "int64"),
    "memory": ("--stream", "1", "--stream-madvise", "hugepage"),
    "cache": ("--cache", "1", "--cache-level", "3"),
}
DURATION_MAX = "24h"
READY_TIMEOUT_S = 30.0
POLL_S = 0.02
BUSY_TICKS = 2
"""CPU time of a stressor, in clock ticks, from which it counts as started."""


def is_installed() -> bool:
    """Return whether stress-ng is installed."""
    return shutil.which(PROGRAM) is not None


def find_program(antagonist: Antagonist) -> str:
    """Return the path of stress-ng. Raises StageError that says what to install."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise StageError(f"antagonist {antagonist.kind}: {PROGRAM} is not installed; {INSTALL}")
    return program


@contextlib.contextmanager
def running_antagonists(antagonists: Sequence[Antagonist]) -> Iterator[tuple[SutChild, ...]]:
    """Start antagonists, wait until they are busy, and end them on exit. Raises StageError with the cause."""
    children: list[SutChild] = []
    try:
        for each in antagonists:
            children.append(_start(each))
        deadline = time.monotonic() + READY_TIMEOUT_S
        for child in children:
            _await_busy(child, deadline)
        yield tuple(children)
    finally:
        stop_all(children)


def _start(antagonist: Antagonist) -> SutChild:
    program = find_program(antagonist)
    parent = os.getpid()

    def enter() -> None:
        raise_priority()  # competes with the SUT on equal terms
        signal_on_parent_exit(parent, signal.SIGTERM)  # on SIGKILL stress-ng would leave its stressors behind

    command = [
        program,
        *STRESSORS[antagonist.kind],
        "--taskset",
        str(antagonist.core),
        "--timeout",
        DURATION_MAX,
        "--quiet",
    ]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd="/tmp",  # stress-ng creates a directory of its own in its working directory
        preexec_fn=enter,  # noqa: PLW1509  # safe: the holder has one thread
    )
    return SutChild(
        f"antagonist {antagonist.kind} {antagonist.core}",
        f"the {antagonist.kind} antagonist on CPU {antagonist.core}",
        process,
    )


def _await_busy(child: SutChild, deadline: float) -> None:
    while not _is_busy(child.pid):
        if child.has_ended():
            raise StageError(
                f"{child.description} did not start: {child.describe_end()}; run {PROGRAM} by hand to see why"
            )
        if time.monotonic() > deadline:
            raise StageError(f"{child.description} used no CPU time within {READY_TIMEOUT_S:g} s; free CPU time")
        time.sleep(POLL_S)


def _is_busy(pid: int) -> bool:
    """Return whether its stressors have used CPU time."""
    return any(
        _read_ticks(int(stressor)) >= BUSY_TICKS for stressor in _read(f"/proc/{pid}/task/{pid}/children").split()
    )


def _read_ticks(pid: int) -> int:
    """Return CPU time so far (fields 14 and 15 of /proc/<pid>/stat), its descendants included."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    ticks = sum(map(int, fields[11:13])) if fields else 0
    return ticks + sum(_read_ticks(int(child)) for child in _read(f"/proc/{pid}/task/{pid}/children").split())


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
