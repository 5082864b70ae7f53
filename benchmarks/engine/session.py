"""Conversation with one nodrop-engine: requests in, replies out."""

import json
import subprocess
import time
from typing import Any

from benchmarks.engine.tool import ContestantError, Tool

from nodrop.errors import GeneratorError
from nodrop.system.native_binaries import find_binary

ANSWER_TIMEOUT_S = 10.0

Reply = dict[str, Any]


def engine_version() -> str:
    """With the commit it was built from. Raises ContestantError when it is not installed."""
    said = subprocess.run([_program(), "--version"], capture_output=True, text=True, check=True)
    return said.stdout.strip().removeprefix("nodrop-engine ")


def check_opens(request: Reply) -> None:
    """Raises ContestantError with the engine's words when it refuses to open such ports."""
    said = subprocess.run([_program()], input=json.dumps(request), capture_output=True, text=True, check=True)
    answer = json.loads(said.stdout.splitlines()[-1])
    if answer["reply"] == "error":
        raise ContestantError(answer["message"])


def start_engine(cpus: set[int]) -> Tool:
    """A process of it."""
    return Tool([_program()], cpus)


def _program() -> str:
    try:
        return str(find_binary("nodrop-engine", GeneratorError))
    except GeneratorError as error:
        raise ContestantError(str(error)) from None


class Session:
    """An engine with its ports open."""

    def __init__(self, tool: Tool, open_request: Reply) -> None:
        self._tool = tool
        self._await_reply("hello")
        self._ask(open_request)
        self.opened = self._await_reply("opened")

    def begin(self, loads_pps: list[float], duration_s: float, **options: Any) -> None:
        """Start a trial; `options` are further fields of the request."""
        trial = {"op": "trial", "trial_id": 1, "loads_pps": loads_pps, "duration_s": duration_s}
        self._ask(trial | options)

    def next_window(self) -> Reply:
        """To end from now on; the older ones are behind the times."""
        while self._tool.lines.next_line(0) is not None:
            pass
        return self._await_reply("window")

    def next_reply(self, timeout_s: float) -> Reply | None:
        """Whatever it says next; None when it says nothing for so long. Raises ContestantError when it refuses."""
        line = self._tool.lines.next_line(timeout_s)
        if line is None:
            self._tool.check_running()
            return None
        reply: Reply = json.loads(line)
        if reply["reply"] == "error":
            raise ContestantError(f"nodrop-engine refuses: {reply['message']}")
        return reply

    def stop(self) -> Reply:
        """End the trial; its account of every frame."""
        self._ask({"op": "stop"})
        return self._await_reply("trial")

    def _ask(self, request: Reply) -> None:
        self._tool.write(json.dumps(request))

    def _await_reply(self, kind: str) -> Reply:
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while time.monotonic() < deadline:
            reply = self.next_reply(0.1)
            if reply and reply["reply"] == kind:
                return reply
        raise ContestantError(f"nodrop-engine has not said {kind} within {ANSWER_TIMEOUT_S:g} s")
