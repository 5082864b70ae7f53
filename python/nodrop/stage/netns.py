"""The private lab: unnamed network namespaces on this host that end with the process that created them."""

import contextlib
import os
import tempfile
import time
from collections.abc import Sequence
from typing import Self

from nodrop.errors import StageError
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.base import FixedChains
from nodrop.stage.holder_client import LOG_LINES, LabLog, await_up, start_holder
from nodrop.stage.holder_protocol import (
    ChangeRequest,
    InstanceChange,
    InstanceChanged,
    InstanceChanges,
    LabRequest,
    LabUp,
    SutExited,
    parse_message,
)
from nodrop.system.json_child import JsonChild, log_tail

DOWN_TIMEOUT_S, DOWN_TIMEOUT_EACH_S = 4.0, 0.15
"""Time to take the lab down by itself, and for each chain; the kernel then takes it down with its process."""

CHANGE_TIMEOUT_S, CHANGE_STEP_S = 60.0, 0.001


class NetnsStage(FixedChains):
    """A lab that is up between `__enter__` and `__exit__`, which the same thread must call.

    The kernel ends the lab when that thread ends, for whatever reason (PR_SET_PDEATHSIG is bound to the thread).
    """

    def __init__(self, plan: LabPlan, name: str) -> None:
        self._plan = plan
        self._name = name
        self._holder: JsonChild | None = None
        self._up: LabUp | None = None
        self._log: LabLog | None = None
        self._fallen: str | None = None
        self._changes: InstanceChanges | None = None

    def __enter__(self) -> Self:
        """Bring the lab up. Raises StageError with the problem and its fix."""
        request = LabRequest(name=self._name, plan=self._plan)
        self._log = tempfile.TemporaryFile()
        try:
            self._holder = start_holder(["--parent", str(os.getpid())], request, self._log)
            self._up = await_up(self._holder, self._plan, self._log)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        """Take the lab down; never raises."""
        if self._holder:
            timeout_s = DOWN_TIMEOUT_S + DOWN_TIMEOUT_EACH_S * self._plan.chain_count
            self._holder.end(timeout_s, drain_s=timeout_s)
        if self._log:
            self._log.close()

    @property
    def facts(self) -> StageFacts:
        """Facts of the lab while it is up."""
        if not self._up:
            raise StageError(f"lab {self._name} has no facts before its stage is entered; enter the stage first")
        return self._up.facts

    def check_alive(self) -> None:
        """Raise StageError if the lab or its SUT has ended."""
        if not self._fallen:
            self._fallen = self._describe_ending()
        if self._fallen:
            raise StageError(self._fallen)

    def schedule_changes(
        self, changes: Sequence[InstanceChange], begin_ns: int | None = None
    ) -> tuple[InstanceChanged, ...]:
        """Let instances change, as `Stage.schedule_changes`. Raises StageError if the lab has ended."""
        assert self._holder
        if not self._plan.balancer:
            return super().schedule_changes(changes)
        self._changes = None
        with contextlib.suppress(BrokenPipeError):  # it has ended: check_alive reports why
            request = ChangeRequest(changes=tuple(changes), begin_ns=begin_ns)
            self._holder.send(request.model_dump_json().encode() + b"\n")
        deadline_s = time.monotonic() + CHANGE_TIMEOUT_S
        while self._changes is None:
            self.check_alive()
            if time.monotonic() > deadline_s:
                raise StageError(f"lab {self._name}: its process does not reply within {CHANGE_TIMEOUT_S:g} s")
            time.sleep(CHANGE_STEP_S)
        return self._changes.changes

    def _describe_ending(self) -> str | None:
        assert self._holder and self._log
        line = self._holder.read_line(0)
        if line is not None:
            message = parse_message(line)
            if isinstance(message, InstanceChanges):
                self._changes = message
            if isinstance(message, SutExited):
                return f"the SUT of lab {self._name} failed: {message.message}{log_tail(self._log, LOG_LINES)}"
        status = self._holder.poll()
        if status is None:
            return None
        return (
            f"the lab's process {self._holder.pid} died (status {status}) and the lab with it; run "
            f"again{log_tail(self._log, LOG_LINES)}"
        )
