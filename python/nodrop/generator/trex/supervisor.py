"""Runs a program until the other end of its standard input closes, then ends the program's process group.

`python -m nodrop.generator.trex.supervisor COMMAND...`: the program gets its own session; its children are in its
process group. However nodrop ends, its end of the pipe closes, and no process is left behind.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys

END_TIMEOUT_S = 5.0
POLL_S = 0.2


def main(command: list[str]) -> int:
    """Run the command; return its exit status."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, _ignore_signal)  # the pipe signals the end; exec resets these handlers in the program
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    is_held = True
    while is_held and process.poll() is None:
        readable, _, _ = select.select([0], [], [], POLL_S)
        is_held = not readable or bool(os.read(0, 1))
    end_group(process)
    return process.returncode


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a process and its group: SIGTERM, then SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_TIMEOUT_S)
    process.wait()


def _ignore_signal(*_: object) -> None:
    """Ignore a signal."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
