"""Runs a program for as long as somebody holds the other end of its standard input, then ends all of it.

`python -m nodrop.generator.trex.supervisor COMMAND...`: the program gets a session of its own; what it starts in turn is in
its process group. When nodrop ends, however it does, its end of the pipe closes, and nothing is left behind.
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
    """Run it; its exit status."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(
            number, _ignore_signal
        )  # the pipe says when it is over; a program that is started forgets handlers
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    is_held = True
    while is_held and process.poll() is None:
        readable, _, _ = select.select([0], [], [], POLL_S)
        is_held = not readable or bool(os.read(0, 1))
    end_group(process)
    return process.returncode


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a process and its group: asked first, then made to."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_TIMEOUT_S)
    process.wait()


def _ignore_signal(*_: object) -> None:
    """Take no notice."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
