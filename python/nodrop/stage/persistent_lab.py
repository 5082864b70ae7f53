"""Labs left standing: brought up by one command, used by others, taken down by name."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from nodrop.errors import StageError
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.stage import registry
from nodrop.stage.holder_client import HOLDER, LOG_LINES, STANDING, UP_TIMEOUT_S, LabLog, await_up, start_holder
from nodrop.stage.holder_protocol import STAY, LabRequest, LabUp
from nodrop.stage.process_identity import ProcessIdentity, await_end, identify, is_running, terminate
from nodrop.stage.registry import LabRecord
from nodrop.system.json_child import log_tail

END_TIMEOUT_S = 20.0
"""Time each process of a lab gets to go."""


class PersistentLabStage:
    """A lab that is up already. Leaving it changes nothing about it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lab: LabRecord | None = None

    def __enter__(self) -> Self:
        """Find the lab. Raises StageError when it does not stand."""
        self._lab = find_lab(self._name)
        return self

    def __exit__(self, *exc: object) -> None:
        """Leave it as it stands."""

    @property
    def facts(self) -> StageFacts:
        """What stands."""
        return self._entered().facts

    @property
    def plan(self) -> LabPlan:
        """What it was brought up from."""
        return self._entered().plan

    def restage(self, chains: Sequence[int]) -> bool:  # noqa: ARG002 - there is nothing to gain by it
        """It stands as it stands."""
        return False

    def check_alive(self) -> None:
        """Raise StageError when a process of the lab has died since it was brought up."""
        _check_up(self._name, self._entered())

    def _entered(self) -> LabRecord:
        if not self._lab:
            raise StageError(f"facts of lab {self._name} asked, it is not entered; enter the stage first")
        return self._lab


def bring_up(plan: LabPlan, name: str) -> LabRecord:
    """Bring up a lab and leave it standing. Raises StageError, also when one of that name stands already."""
    with registry.locked():
        lab = registry.read(name)
        if lab and is_running(lab.holder):
            raise StageError(
                f"lab {name} asked, one of that name stands already; take it down first: nodrop lab down --name {name}"
            )
        try:
            with registry.log_path(name).open("w+b") as log:
                return _start(LabRequest(name=name, plan=plan), log)
        except BaseException:
            registry.remove(name)
            raise


def take_down(name: str) -> bool:
    """Take a lab down and forget it.

    Returns: whether it still stood.
    Raises: StageError when there is no record of it.
    """
    with registry.locked():
        lab = registry.read(name) or _unknown_lab(name)
        stood = is_running(lab.holder)
        terminate(lab.holder, END_TIMEOUT_S)
        for process in (lab.keeper, *lab.sut_processes):
            await_end(process, END_TIMEOUT_S)
        registry.remove(name)
        return stood


def find_unrecorded() -> tuple[ProcessIdentity, ...]:
    """The processes of this user's labs that stand without a record, because somebody removed it.

    What they are is proven by their command line, which only `up` writes, and by standing in another network namespace.
    """
    with registry.locked():  # a lab that is being brought up has no record yet
        recorded = {lab.holder for name in registry.names() if (lab := registry.read(name))}
        found = tuple(identify(pid) for pid in _find_holders())
    return tuple(process for process in found if process not in recorded)


def end_unrecorded(process: ProcessIdentity) -> None:
    """End a lab that `find_unrecorded` gave."""
    terminate(process, END_TIMEOUT_S)


def _find_holders() -> Iterator[int]:
    """Of a lab's processes, which all have the same command line, the one that is nobody's child."""
    found = {int(path.name): path for path in Path("/proc").glob("[0-9]*") if _is_holder(path)}
    for pid, path in found.items():
        with contextlib.suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent not in found:
                yield pid


def _is_holder(process: Path) -> bool:
    try:
        words = (process / "cmdline").read_text(errors="replace").split("\0")
        if tuple(words[1 : 1 + len(HOLDER)]) != HOLDER or STANDING not in words:
            return False
        is_apart = (process / "ns/net").readlink() != Path("/proc/self/ns/net").readlink()
        return is_apart and process.stat().st_uid == os.geteuid()
    except OSError:
        return False


def find_lab(name: str) -> LabRecord:
    """A lab that stands. Raises StageError when there is none of that name, or it has fallen down."""
    lab = registry.read(name) or _unknown_lab(name)
    _check_up(name, lab)
    return lab


def find_namespace_pid(name: str, namespace: str) -> int:
    """A process in a namespace of a lab, to be joined: `tester`, `sut`, or `left` and `right` where routers stand in
    the path; that the SUT has died does not matter.

    Raises: StageError when there is no such lab or its namespaces are gone.
    """
    lab = registry.read(name) or _unknown_lab(name)
    routers = lab.facts.router_pids
    if namespace in ("left", "right"):
        if namespace not in routers:
            raise StageError(f"{namespace} asked, lab {name} has no routers in the path; look into tester or sut")
        return routers[namespace]
    process = lab.holder if namespace == "tester" else lab.keeper
    if not is_running(process):
        _check_up(name, lab)
    return process.pid


def _start(request: LabRequest, log: LabLog) -> LabRecord:
    """A lab on record. Should anything fail before STAY is said, the holder's standard input closes and it ends."""
    holder = start_holder([STANDING], request, log)
    try:
        lab = _build_record(request.plan, await_up(holder, request.plan, log))
        registry.write(request.name, lab)
        holder.send(STAY)
    finally:
        holder.end(UP_TIMEOUT_S)
    return lab


def _build_record(plan: LabPlan, answer: LabUp) -> LabRecord:
    return LabRecord(
        facts=answer.facts,
        plan=plan,
        holder=identify(answer.facts.tester_pid),
        keeper=identify(answer.facts.sut_pid),
        sut_processes=tuple(identify(process.pid) for process in answer.facts.sut_processes),
    )


def _check_up(name: str, lab: LabRecord) -> None:
    ending = lab.describe_failure()
    if not ending:
        return
    with registry.log_path(name).open("rb") as log:
        raise StageError(
            f"lab {name} asked, {ending}; clear it away and bring it up again: nodrop lab down --name {name}, "
            f"nodrop lab up --name {name}{log_tail(log, LOG_LINES)}"
        )


def _unknown_lab(name: str) -> LabRecord:
    standing = ", ".join(registry.names()) or "none"
    raise StageError(f"lab {name} asked, labs on record: {standing}; bring it up: nodrop lab up --name {name}")
