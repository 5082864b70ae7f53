"""One run in a process of its own: what to do comes on standard input, events go out on standard output.

`python -m nodrop.server.rest.worker SERVER_PID` is what the server starts. It ends by SIGINT or SIGTERM as `nodrop run` does,
with the lab down and the result stored; the kernel kills it when the server is gone, and with it the lab.
"""

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, TextIO

from nodrop.errors import BusyError, NodropError
from nodrop.model.event import Event, OnEvent, RunStarted, TrialProgress
from nodrop.model.plan import Plan
from nodrop.run.event_sinks import listeners
from nodrop.run.execute import execute
from nodrop.run.machine_lock import measurement_lock
from nodrop.run.suite import execute_suite
from nodrop.search.goal_results import require_found
from nodrop.server.rest.event_codec import NOTE, WORKER_DONE, encode
from nodrop.server.rest.server_config import Base, plans_of
from nodrop.stage.namespace import die_with_parent

PROGRESS_EVERY_S = 0.25
"""Telling takes CPU time that the measurement may want."""
INTERRUPTED = 130


class Teller:
    """Tells events as they come, of a trial's progress only some, where no interval is to be kept."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._progress_s = 0.0
        self._every_s = PROGRESS_EVERY_S

    def hear(self, event: Event) -> None:
        """Say it, if it is time."""
        if isinstance(event, RunStarted):
            self._every_s = 0.0 if event.plan.interval_s else PROGRESS_EVERY_S
        if isinstance(event, TrialProgress):
            if time.monotonic() - self._progress_s < self._every_s:
                return
            self._progress_s = time.monotonic()
        self.say(*encode(event))

    def note(self, sentence: str) -> None:
        """Say what whoever follows the run should know."""
        self.say(NOTE, {"text": sentence})

    def say(self, name: str, content: dict[str, Any]) -> None:
        """One line."""
        print(json.dumps({"event": name, "data": content}, allow_nan=False), file=self._out, flush=True)


def main(server_pid: int) -> int:
    """Read a request, carry it out, tell of it. Gives the exit code."""
    die_with_parent(server_pid)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)  # a server in the background may have left SIGINT ignored
    # What anything else prints is for the log, not for the server.
    teller = Teller(os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8"))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    exit_code, error = _run(teller)
    teller.say(WORKER_DONE, {"exit_code": exit_code, "error": error})
    return exit_code


def _run(teller: Teller) -> tuple[int, str | None]:
    """Exit code, and what went wrong."""
    try:
        request = json.loads(sys.stdin.buffer.readline())
        base = Base.model_validate(request["base"])
        plans = plans_of(base, request["body"])
        with _turn(base.results_dir, teller), listeners(plans[0], teller.note) as tell:

            def hear(event: Event) -> None:
                teller.hear(event)
                tell(event)

            if any(plan.trex for plan in plans):
                plans = plans_of(base, request["body"], asks_trex=True)
            return _measure(plans, hear)
    except NodropError as error:
        return error.exit_code, str(error)
    except KeyboardInterrupt as interrupt:
        return INTERRUPTED, str(interrupt)
    except Exception as mishap:
        traceback.print_exc()
        return 1, f"the run ended by a fault of nodrop's own, {type(mishap).__name__}: {mishap}"


@contextlib.contextmanager
def _turn(results_dir: str, teller: Teller) -> Iterator[None]:
    """Measure alone on this machine until the block is left, and say so when that has to be waited for."""
    with contextlib.ExitStack() as until_left:
        try:
            until_left.enter_context(measurement_lock(results_dir))
        except BusyError:
            teller.note("another run is measuring on this machine; this one waits for it")
            until_left.enter_context(measurement_lock(results_dir, wait=True))
        yield


def _measure(plans: Sequence[Plan], hear: OnEvent) -> tuple[int, str | None]:
    if len(plans) == 1:
        require_found(execute(plans[0], hear))
        return 0, None
    failures = execute_suite(plans, hear).failures
    if not failures:
        return 0, None
    return failures[0].error.exit_code, "\n".join(f"frame size {failure.name}: {failure.error}" for failure in failures)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """The first signal ends what goes on; further ones shall not disturb the clearing up."""
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_IGN)
    raise KeyboardInterrupt(f"stopped by {signal.Signals(number).name}")


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1])))
