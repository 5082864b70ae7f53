"""States of the threads of a process."""

import contextlib
from pathlib import Path

FOR_CPU = "R"
"""Running, or waiting for a CPU."""
IN_KERNEL = "D"
"""Waiting in the kernel, without reacting to signals."""


def read_thread_states(pid: int) -> str:
    """Return the state of each thread as one letter (proc_pid_stat(5)), sorted; empty if the process has ended."""
    states = []
    for thread in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # the thread ended
            # The name, in parentheses, may contain anything.
            states.append(thread.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0])
    return "".join(sorted(states))
