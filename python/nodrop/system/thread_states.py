"""States of the threads of a process, and their waits for a CPU."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

FOR_CPU = "R"
"""Running, or waiting for a CPU."""
IN_KERNEL = "D"
"""Waiting in the kernel, without reacting to signals."""


def read_thread_states(pid: int) -> str:
    """Return the state of each thread as one letter (proc_pid_stat(5)), sorted; empty if the process has ended."""
    return "".join(sorted(_parse_state(stat) for stat in _iter_texts(pid, "stat")))


def read_cpu_waits_s(pid: int) -> float:
    """Return the time that the threads have waited for a CPU so far, in seconds; 0 if the process has ended."""
    return sum(int(schedstat.split()[1]) for schedstat in _iter_texts(pid, "schedstat")) / 1e9


def describe_threads(pid: int) -> str:
    """Return the state of each thread and the kernel function in which it sleeps: `S hrtimer_nanosleep, R`."""
    places = zip(_iter_texts(pid, "stat"), _iter_texts(pid, "wchan"), strict=False)
    return ", ".join(sorted(_parse_state(stat) + (f" {place}" if place != "0" else "") for stat, place in places))


def _parse_state(stat: str) -> str:
    # The name, in parentheses, may contain anything.
    return stat.rpartition(")")[2].split()[0]


def _iter_texts(pid: int, name: str) -> Iterator[str]:
    """Yield a file of each thread, without those that have ended."""
    for file in sorted(Path(f"/proc/{pid}/task").glob(f"*/{name}")):
        with contextlib.suppress(OSError):
            yield file.read_text(encoding="utf-8", errors="replace")
