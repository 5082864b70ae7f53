"""Persistent labs: brought up by one command, used by others, taken down by name."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from nodrop.errors import StageError
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.stage import registry
from nodrop.stage.base import FixedChains
from nodrop.stage.holder_client import HOLDER, LOG_LINES, STANDING, UP_TIMEOUT_S, LabLog, await_up, start_holder
from nodrop.stage.holder_protocol import STAY, LabRequest, LabUp
from nodrop.stage.process_identity import ProcessIdentity, await_end, identify_process, is_running, terminate_process
from nodrop.stage.registry import LabRecord
from nodrop.system.json_child import log_tail

END_TIMEOUT_S = 20.0
"""Time for each process of a lab to end."""


class PersistentLabStage(FixedChains):
    """The stage of a lab that is already up. Leaving it changes nothing."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lab: LabRecord | None = None

    def __enter__(self) -> Self:
        """Find the lab. Raises StageError if it is not up."""
        self._lab = find_lab(self._name)
        return self

    def __exit__(self, *exc: object) -> None:
        """Leave the lab up."""

    @property
    def facts(self) -> StageFacts:
        """Facts of the lab."""
        return self._get_record().facts

    @property
    def plan(self) -> LabPlan:
        """Plan that the lab was brought up from."""
        return self._get_record().plan

    def check_alive(self) -> None:
        """Raise StageError if a process of the lab has ended since it was brought up."""
        _check_up(self._name, self._get_record())

    def _get_record(self) -> LabRecord:
        if not self._lab:
            raise StageError(f"lab {self._name} has no facts before its stage is entered; enter the stage first")
        return self._lab


def bring_up(plan: LabPlan, name: str) -> LabRecord:
    """Bring up a persistent lab. Raises StageError, also if a lab of that name is up."""
    with registry.locked():
        lab = registry.read_record(name)
        if lab and is_running(lab.holder):
            raise StageError(f"lab {name} is already up; take it down first: nodrop lab down --name {name}")
        try:
            with registry.log_path(name).open("w+b") as log:
                return _start(LabRequest(name=name, plan=plan), log)
        except BaseException:
            registry.remove_record(name)
            raise


def take_down(name: str) -> bool:
    """Take a lab down and remove its record.

    Returns: whether it was still up.
    Raises: StageError if it has no record.
    """
    with registry.locked():
        lab = registry.read_record(name) or _refuse_unknown_lab(name)
        stood = is_running(lab.holder)
        terminate_process(lab.holder, END_TIMEOUT_S)
        for process in (lab.keeper, *lab.sut_processes):
            await_end(process, END_TIMEOUT_S)
        registry.remove_record(name)
        return stood


def find_unrecorded() -> tuple[ProcessIdentity, ...]:
    """Find the holders of this user's labs whose record was removed.

    Their command line, which only `bring_up` writes, and their separate network namespace identify them.
    """
    with registry.locked():  # a lab that is being brought up has no record yet
        recorded = {lab.holder for name in registry.list_names() if (lab := registry.read_record(name))}
        holders = tuple(identify_process(pid) for pid in _find_holders())
    return tuple(process for process in holders if process not in recorded)


def end_unrecorded(process: ProcessIdentity) -> None:
    """End a lab that `find_unrecorded` returned."""
    terminate_process(process, END_TIMEOUT_S)


def _find_holders() -> Iterator[int]:
    """Yield the holders among the lab processes, which share one command line: those whose parent is no lab process."""
    paths = {int(path.name): path for path in Path("/proc").glob("[0-9]*") if _is_holder(path)}
    for pid, path in paths.items():
        with contextlib.suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent not in paths:
                yield pid


def _is_holder(process: Path) -> bool:
    try:
        words = (process / "cmdline").read_text(errors="replace").split("\0")
        if tuple(words[1 : 1 + len(HOLDER)]) != HOLDER or STANDING not in words:
            return False
        is_separate = (process / "ns/net").readlink() != Path("/proc/self/ns/net").readlink()
        return is_separate and process.stat().st_uid == os.geteuid()
    except OSError:
        return False


def find_lab(name: str) -> LabRecord:
    """Return a lab that is up. Raises StageError if no lab has that name, or it has failed."""
    lab = registry.read_record(name) or _refuse_unknown_lab(name)
    _check_up(name, lab)
    return lab


def find_namespace_pid(name: str, namespace: str) -> int:
    """Return a process in a namespace of a lab, to be joined: `tester`, `sut`, or `left` and `right` for routers in the
    path. A failed SUT does not matter.

    Raises: StageError if the lab does not exist or its namespaces have ended.
    """
    lab = registry.read_record(name) or _refuse_unknown_lab(name)
    routers = lab.facts.router_pids
    if namespace in ("left", "right"):
        if namespace not in routers:
            raise StageError(
                f"lab {name} has no routers in the path, hence no namespace {namespace}; use tester or sut"
            )
        return routers[namespace]
    process = lab.holder if namespace == "tester" else lab.keeper
    if not is_running(process):
        _check_up(name, lab)
    return process.pid


def _start(request: LabRequest, log: LabLog) -> LabRecord:
    """Start and record a lab. If anything fails before STAY is sent, the holder's standard input closes and it ends."""
    holder = start_holder([STANDING], request, log)
    try:
        lab = _build_record(request.plan, await_up(holder, request.plan, log))
        registry.write_record(request.name, lab)
        holder.send(STAY)
    finally:
        holder.end(UP_TIMEOUT_S)
    return lab


def _build_record(plan: LabPlan, answer: LabUp) -> LabRecord:
    return LabRecord(
        facts=answer.facts,
        plan=plan,
        holder=identify_process(answer.facts.tester_pid),
        keeper=identify_process(answer.facts.sut_pid),
        sut_processes=tuple(identify_process(process.pid) for process in answer.facts.sut_processes),
    )


def _check_up(name: str, lab: LabRecord) -> None:
    ending = lab.describe_failure()
    if not ending:
        return
    with registry.log_path(name).open("rb") as log:
        raise StageError(
            f"lab {name} failed: {ending}; take it down and bring it up again: nodrop lab down --name {name}, nodrop "
            f"lab up --name {name}{log_tail(log, LOG_LINES)}"
        )


def _refuse_unknown_lab(name: str) -> LabRecord:
    labs = ", ".join(registry.list_names()) or "none"
    raise StageError(f"lab {name} does not exist (labs: {labs}); bring it up: nodrop lab up --name {name}")
