"""The engine as a child process that is asked and answers, one JSON line each (`schema/engine.json`)."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

from nodrop.errors import GeneratorError
from nodrop.system.line_reader import LineReader
from nodrop.system.native_binaries import find_program

PROTOCOL_VERSION = 3
POLL_S = 0.1
"""Longest wait before `watch` is called again."""
END_TIMEOUT_S = 2.0
LAST_WORDS = 5

Reply = dict[str, Any]


class EngineDied(Exception):
    """The engine's process ended, or went silent, while an answer was due."""


class EngineProcess:
    """One running `nodrop-engine`, in the network namespace of another process where there is one."""

    def __init__(self, netns_pid: int | None, watch: Callable[[], None]) -> None:
        """Start it. `watch` is called several times a second while an answer is due, and may raise.

        Raises: GeneratorError when it is not installed, cannot start, or speaks another protocol.
        """
        self._watch = watch
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        program = find_program("nodrop-engine", GeneratorError)
        # A session of its own keeps the terminal's Ctrl-C from it: nodrop decides when it ends.
        self._process = subprocess.Popen(
            [program, *([] if netns_pid is None else ["--netns", str(netns_pid)])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdout
        self._reader = LineReader(self._process.stdout.fileno())
        self.hello = self._greet()

    def ask(self, request: dict[str, Any], timeout_s: float, on_window: Callable[[Reply], None] | None = None) -> Reply:
        """Send one request and wait for its answer.

        Raises: GeneratorError when the engine refuses; EngineDied when it ends or stays silent.
        """
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            raise EngineDied(self._ending()) from None
        return self._await_answer(timeout_s, on_window)

    def end(self) -> None:
        """Stop its traffic at once and see it gone; never raises."""
        with contextlib.suppress(OSError):
            assert self._process.stdin
            self._process.stdin.close()
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()
        self._log.close()

    def _greet(self) -> Reply:
        try:
            hello = self._await_answer(10.0, None)
        except (EngineDied, GeneratorError) as error:
            self.end()
            raise GeneratorError(f"the packet engine could not start: {error}") from None
        if hello.get("protocol") != PROTOCOL_VERSION:
            self.end()
            raise GeneratorError(
                f"engine protocol {PROTOCOL_VERSION} asked, nodrop-engine {hello.get('version')} speaks "
                f"{hello.get('protocol')}; install engine and nodrop from the same release"
            )
        return hello

    def _await_answer(self, timeout_s: float, on_window: Callable[[Reply], None] | None) -> Reply:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            self._watch()
            line = self._reader.next_line(POLL_S)
            if line is None:
                if self._reader.ended:
                    raise EngineDied(self._ending())
                continue
            reply: Reply = json.loads(line)
            if reply["reply"] == "error":
                raise GeneratorError(f"{reply['message']}{self._last_words()}")
            if reply["reply"] != "window":
                return reply
            if on_window:
                on_window(reply)
        raise EngineDied(f"the engine (process {self._process.pid}) gave no answer within {timeout_s:.1f} s")

    def _ending(self) -> str:
        """How it ended, as a sentence."""
        try:
            status = self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return f"the engine (process {self._process.pid}) closed its output but still runs"
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return f"the engine (process {self._process.pid}) {how}{self._last_words()}"

    def _last_words(self) -> str:
        self._log.seek(0, os.SEEK_SET)
        lines = self._log.read().decode(errors="replace").splitlines()[-LAST_WORDS:]
        return "; it said last: " + " | ".join(lines) if lines else ""
