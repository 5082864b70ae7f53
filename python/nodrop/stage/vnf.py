"""Our loopback VNF as a child process: started on the SUT's interfaces, awaited and ended."""

import json
import signal
import subprocess
from typing import Self

from nodrop.errors import StageError
from nodrop.lines import LineReader
from nodrop.model.plan import LabPlan
from nodrop.program import find_program

READY_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 1.0


class Vnf:
    """A running `nodrop-vnf l2`. It also ends by itself when its standard input closes.

    Its standard error goes where its parent's goes.
    """

    def __init__(self, plan: LabPlan, sut_pid: int) -> None:
        """Start it and wait until it forwards. Raises StageError with what it said."""
        self._process = subprocess.Popen(
            _arguments(plan, sut_pid), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        try:
            self._await_ready()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        """It forwards already."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop it."""
        self.stop()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def ending(self) -> str:
        """How it ended, once it has."""
        status = self._process.wait()
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
        return f"the loopback VNF (process {self.pid}) {how}"

    def stop(self) -> None:
        """End it, gently if it listens."""
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _await_ready(self) -> None:
        assert self._process.stdout
        stdout = LineReader(self._process.stdout.fileno())
        line = stdout.next_line(READY_TIMEOUT_S)
        said = _parse(line)
        if said.get("event") == "ready":
            return
        if said.get("event") == "error":
            raise StageError(f"SUT vnf-l2 asked, the loopback VNF says: {said.get('message')}")
        if stdout.ended:
            raise StageError(f"SUT vnf-l2 asked, {self.ending()} before it was ready")
        raise StageError(
            f"SUT vnf-l2 asked, the loopback VNF is not ready after {READY_TIMEOUT_S:g} s: it says {line!r}"
        )


def _arguments(plan: LabPlan, sut_pid: int) -> list[str]:
    arguments = [str(find_program("nodrop-vnf", StageError)), "l2", "--netns", str(sut_pid)]
    for name, mac in zip(plan.sut_interfaces, plan.peer_macs, strict=True):
        arguments += ["--port", f"{name},peer={mac}"]
    arguments += ["--queue-slots", str(plan.sut_queue_slots), "--mtu", str(plan.mtu_bytes)]
    if plan.sut_core is not None:
        arguments += ["--core", str(plan.sut_core)]
    return arguments


def _parse(line: str | None) -> dict[str, object]:
    try:
        said = json.loads(line or "{}")
    except json.JSONDecodeError:
        return {}
    return said if isinstance(said, dict) else {}
