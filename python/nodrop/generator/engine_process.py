"""`nodrop-engine` as a child process that answers requests, each a line of JSON (`schema/engine.json`)."""

import json
import math
import tempfile
import time
from collections.abc import Callable
from typing import Any

from nodrop.errors import GeneratorError
from nodrop.system.json_child import JsonChild, log_tail
from nodrop.system.native_binaries import find_binary
from nodrop.system.thread_states import (
    FOR_CPU,
    IN_KERNEL,
    describe_threads,
    read_cpu_waits_s,
    read_thread_states,
)

PROTOCOL_VERSION = 7
POLL_S = 1.0
"""Longest wait before `check_alive` is called again."""
CPU_WAIT_MIN_S = 0.1 * POLL_S
"""Time that its threads wait for a CPU within `POLL_S`, from which a silent engine is slow, not stuck."""
HELLO_TIMEOUT_S = 30.0
END_TIMEOUT_S = 2.0
LOG_LINES = 5

Reply = dict[str, Any]


class EngineDied(Exception):
    """The engine ended, or went silent, while a reply was due."""


class EngineProcess:
    """One running `nodrop-engine`, in the network namespace of another process if one is given."""

    def __init__(self, netns_pid: int | None, check_alive: Callable[[], None]) -> None:
        """Start the engine. `check_alive` is called several times a second while a reply is due, and may raise.

        Raises: GeneratorError if the engine is not installed, cannot start, or speaks another protocol version.
        """
        self._check_alive = check_alive
        program = find_binary("nodrop-engine", GeneratorError)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        self._child = JsonChild([program, *([] if netns_pid is None else ["--netns", str(netns_pid)])], self._log)
        self.hello = self._read_hello()

    def request(
        self,
        message: dict[str, Any],
        timeout_s: float,
        on_window: Callable[[Reply], None] | None = None,
        silence_max_s: float = math.inf,
    ) -> Reply:
        """Send one request and return its reply.

        Args:
            message: the request.
            timeout_s: time to the reply after which the engine is killed.
            on_window: receives the reports of a trial before the reply.
            silence_max_s: time without any report after which the engine is killed, unless it waits for a CPU.

        Raises: GeneratorError if the engine refuses; EngineDied if it ends or stays silent.
        """
        try:
            self._child.send(json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            raise EngineDied(self._describe_end()) from None
        return self._await_reply(timeout_s, on_window, silence_max_s)

    def end(self) -> None:
        """Stop its traffic at once and wait for its end; never raises."""
        self._child.end(END_TIMEOUT_S)
        self._log.close()

    def _read_hello(self) -> Reply:
        try:
            hello = self._await_reply(HELLO_TIMEOUT_S, None)
        except (EngineDied, GeneratorError) as error:
            self.end()
            raise GeneratorError(f"the packet engine could not start: {error}") from None
        if hello.get("protocol") != PROTOCOL_VERSION:
            self.end()
            raise GeneratorError(
                f"nodrop-engine {hello.get('version')} speaks protocol {hello.get('protocol')} instead of "
                f"{PROTOCOL_VERSION}; install engine and nodrop from the same release"
            )
        return hello

    def _await_reply(
        self, timeout_s: float, on_window: Callable[[Reply], None] | None, silence_max_s: float = math.inf
    ) -> Reply:
        now_s = time.monotonic()
        end_s, limit_s = now_s + timeout_s, now_s + silence_max_s
        while True:
            self._check_alive()
            # Wait once more after the limit: beside threads that poll at a high priority, this process may get no CPU
            # time for seconds, and a virtual machine may pause as a whole.
            is_overdue = time.monotonic() >= min(end_s, limit_s)
            waits_s = read_cpu_waits_s(self._child.pid) if is_overdue else 0.0
            line = self._child.read_line(POLL_S)
            if line is None:
                if self._child.has_closed_output:
                    raise EngineDied(self._describe_end())
                if is_overdue:
                    waited_s = read_cpu_waits_s(self._child.pid) - waits_s
                    self._check_progress(timeout_s, silence_max_s, waited_s, is_late=time.monotonic() >= end_s)
                continue
            limit_s = time.monotonic() + silence_max_s
            reply: Reply = json.loads(line)
            if reply["reply"] == "error":
                raise GeneratorError(f"{reply['message']}{log_tail(self._log, LOG_LINES)}")
            if reply["reply"] != "window":
                return reply
            if on_window:
                on_window(reply)

    def _check_progress(self, timeout_s: float, silence_max_s: float, waited_s: float, *, is_late: bool) -> None:
        """Kill an engine whose reply is late, or which is silent although none of its threads waits for the machine.

        Args:
            timeout_s: limit of the reply.
            silence_max_s: limit of the time without a report.
            waited_s: time for which its threads waited for a CPU since a moment before.
            is_late: whether the reply is late.
        """
        states = read_thread_states(self._child.pid)
        if not is_late and (FOR_CPU in states or IN_KERNEL in states or waited_s >= CPU_WAIT_MIN_S):
            return
        threads = describe_threads(self._child.pid)
        self._child.kill()
        problem = (
            f"did not reply within {timeout_s:.1f} s"
            if is_late
            else f"did not report for {silence_max_s:.1f} s and waited for no CPU (its threads: {threads})"
        )
        raise EngineDied(f"the engine (process {self._child.pid}) {problem}")

    def _describe_end(self) -> str:
        return f"the engine {self._child.describe_end(END_TIMEOUT_S)}{log_tail(self._log, LOG_LINES)}"


def request_once(message: dict[str, Any], timeout_s: float) -> Reply:
    """Return the reply of an engine that is started for one request and opens no port.

    Raises: GeneratorError if the engine refuses or cannot be started; EngineDied.
    """
    engine = EngineProcess(None, lambda: None)
    try:
        return engine.request(message, timeout_s)
    finally:
        engine.end()
