"""A session with one nodrop-engine: requests to its standard input, replies from its standard output."""

import json
import subprocess
import time
from typing import Any

from benchmarks.engine.tool_process import BenchmarkError, ToolProcess

from nodrop.errors import GeneratorError
from nodrop.system.native_binaries import find_binary

REPLY_TIMEOUT_S = 10.0

Message = dict[str, Any]


def read_engine_version() -> str:
    """Return the engine's version with its commit. Raises BenchmarkError if it is not installed."""
    process = subprocess.run([_find_engine(), "--version"], capture_output=True, text=True, check=True)
    return process.stdout.strip().removeprefix("nodrop-engine ")


def check_opens(request: Message) -> None:
    """Raise BenchmarkError with the engine's message if it cannot open these ports."""
    process = subprocess.run([_find_engine()], input=json.dumps(request), capture_output=True, text=True, check=True)
    reply = json.loads(process.stdout.splitlines()[-1])
    if reply["reply"] == "error":
        raise BenchmarkError(reply["message"])


def start_engine(cpus: set[int]) -> ToolProcess:
    """Start an engine on these CPUs."""
    return ToolProcess([_find_engine()], cpus)


def _find_engine() -> str:
    try:
        return str(find_binary("nodrop-engine", GeneratorError))
    except GeneratorError as error:
        raise BenchmarkError(str(error)) from None


class EngineSession:
    """An engine with open ports."""

    def __init__(self, process: ToolProcess, open_request: Message) -> None:
        self._process = process
        self._await_reply("hello")
        self._send(open_request)
        self._await_reply("opened")

    def start_trial(self, loads_pps: list[float], duration_s: float, **options: Any) -> None:
        """Start a trial; `options` are further fields of the request."""
        trial = {"op": "trial", "trial_id": 1, "loads_pps": loads_pps, "duration_s": duration_s}
        self._send(trial | options)

    def await_next_window(self) -> Message:
        """Return the next window that ends from now on, and discard those that are already reported."""
        while self._process.lines.read_line(0) is not None:
            pass
        return self._await_reply("window")

    def read_reply(self, timeout_s: float) -> Message | None:
        """Return the next reply; None after the timeout. Raises BenchmarkError if the engine reports an error."""
        line = self._process.lines.read_line(timeout_s)
        if line is None:
            self._process.check_running()
            return None
        reply: Message = json.loads(line)
        if reply["reply"] == "error":
            raise BenchmarkError(f"nodrop-engine: {reply['message']}")
        return reply

    def stop_trial(self) -> Message:
        """Stop the trial and return its result."""
        self._send({"op": "stop"})
        return self._await_reply("trial")

    def _send(self, request: Message) -> None:
        self._process.write_line(json.dumps(request))

    def _await_reply(self, kind: str) -> Message:
        deadline = time.monotonic() + REPLY_TIMEOUT_S
        while time.monotonic() < deadline:
            reply = self.read_reply(0.1)
            if reply and reply["reply"] == kind:
                return reply
        raise BenchmarkError(f"nodrop-engine: no reply {kind!r} within {REPLY_TIMEOUT_S:g} s")
