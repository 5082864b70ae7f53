"""A run in its own process: the request comes on standard input, events go to standard output.

The server starts `python -m nodrop.server.rest.worker SERVER_PID`. SIGINT and SIGTERM end it like `nodrop run`, with
the lab down and the result stored; the kernel kills it when the server is gone, and the lab with it.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any, TextIO

from nodrop.errors import NodropError
from nodrop.model.event import Event, OnEvent, RunStarted, TrialProgress
from nodrop.model.plan import Plan
from nodrop.run.cpu_choice import admit
from nodrop.run.event_sinks import open_sinks
from nodrop.run.execute import execute
from nodrop.run.machine_lock import LockWait
from nodrop.run.suite import execute_suite
from nodrop.search.goal_results import require_goal_loads
from nodrop.server.rest.event_codec import encode
from nodrop.server.rest.event_names import NOTE, WAIT, WORKER_DONE
from nodrop.server.rest.schemas import RunWait
from nodrop.server.rest.server_config import ServerConfig, make_request_plans
from nodrop.stage.namespace import die_with_parent
from nodrop.system.signals import interruptible

PROGRESS_EVERY_S = 0.25
"""Reporting takes CPU time from the measurement."""
INTERRUPTED = 130


class EventWriter:
    """Writes events as they come; without a requested interval, only some of a trial's progress."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._progress_s = 0.0
        self._every_s = PROGRESS_EVERY_S

    def write_event(self, event: Event) -> None:
        """Write an event, if it is due."""
        if isinstance(event, RunStarted):
            self._every_s = 0.0 if event.plan.interval_s else PROGRESS_EVERY_S
        if isinstance(event, TrialProgress):
            if time.monotonic() - self._progress_s < self._every_s:
                return
            self._progress_s = time.monotonic()
        self.write(*encode(event))

    def note(self, sentence: str) -> None:
        """Write a message to the user."""
        self.write(NOTE, {"text": sentence})

    def report_wait(self, reason: LockWait) -> None:
        """Write the reason of a wait."""
        owner = reason.owner
        wait = RunWait(
            run_id=owner.run_id if owner else None,
            user=owner.user if owner else None,
            process_id=owner.process.pid if owner else None,
            since=owner.since if owner else None,
            resource=reason.resource,
        )
        self.write(WAIT, wait.model_dump(mode="json"))

    def write(self, name: str, content: dict[str, Any]) -> None:
        """Write one line."""
        print(json.dumps({"event": name, "data": content}, allow_nan=False), file=self._out, flush=True)


def main(server_pid: int) -> int:
    """Read a request and carry it out; returns the exit code."""
    die_with_parent(server_pid)
    # Everything else that is printed goes to the log, not to the server.
    writer = EventWriter(os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8"))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with interruptible():  # also if the server runs in the background with SIGINT ignored
        exit_code, error = _run_request(writer)
        writer.write(WORKER_DONE, {"exit_code": exit_code, "error": error})
    return exit_code


def _run_request(writer: EventWriter) -> tuple[int, str | None]:
    """Carry out the request; returns exit code and error."""
    try:
        request = json.loads(sys.stdin.buffer.readline())
        config = ServerConfig.model_validate(request["config"])
        run_lock = admit(
            lambda cpus: make_request_plans(config, request["body"], cpus),
            writer.note,
            wait=True,
            on_wait=writer.report_wait,
        )
        with run_lock as admission, open_sinks(admission.plans[0], writer.note) as tell:
            plans = admission.plans

            def hear(event: Event) -> None:
                writer.write_event(event)
                tell(event)

            if any(plan.trex for plan in plans):
                plans = make_request_plans(config, request["body"], admission.cpus, query_trex=True)
            return _measure_plans(plans, hear)
    except NodropError as error:
        return error.exit_code, str(error)
    except KeyboardInterrupt as interrupt:
        return INTERRUPTED, str(interrupt)
    except Exception as fault:
        traceback.print_exc()
        return 1, f"internal error, {type(fault).__name__}: {fault}"


def _measure_plans(plans: Sequence[Plan], on_event: OnEvent) -> tuple[int, str | None]:
    if len(plans) == 1:
        require_goal_loads(execute(plans[0], on_event))
        return 0, None
    failures = execute_suite(plans, on_event).failures
    if not failures:
        return 0, None
    return failures[0].error.exit_code, "\n".join(f"frame size {failure.name}: {failure.error}" for failure in failures)


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1])))
