"""Active nodrop processes on this machine, and the locks by which runs share it.

Runs that measure on the same CPUs or ports disturb each other, whichever users started them. A run therefore first
takes a lock for each of its CPUs, and for its ports or its persistent lab: a socket bound to a name in Linux's abstract
namespace (unix(7)). Every user can bind it, only one process at a time, and the kernel releases it when the process
ends, even by SIGKILL. The kernel also names the owner (SO_PEERCRED). Runs that need different CPUs measure at the same
time.

Each run and server describes itself in a file, which is valid only while that process runs and is readable only by the
same user. Of other users' processes only the public part of /proc is known.
"""

import contextlib
import os
import pwd
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from nodrop.errors import BusyError, StageError
from nodrop.model.base import Value
from nodrop.model.plan import Plan
from nodrop.plan.backend import KERNEL_SUTS
from nodrop.stage import persistent_lab, registry
from nodrop.stage.process_identity import ProcessIdentity, identify_process, is_running
from nodrop.stage.registry import LabRecord
from nodrop.system import runtime_dirs

LOCK_ADDRESS = "\0nodrop.measuring"
"""Abstract address of the locks, before the name of a resource; each network namespace has its own."""
ALONGSIDE = "NODROP_ALONGSIDE"
"""Environment variable; `1` makes runs ignore the lock, like `--alongside`."""
BACKLOG = 4096
"""Connections that may be pending on a lock's socket: each query for the owner leaves one, none is accepted."""
KIND = "present"
WAIT_S = 0.5
Role = Literal["run", "server"]


class ActiveProcess(Value):
    """An active nodrop process."""

    role: Role
    process: ProcessIdentity
    user: str
    since: str
    """UTC, ISO 8601."""
    command: str
    """The command line as typed."""
    place: str | None = None
    """Results directory or, for a server, address; None for another user's process."""
    run_id: str | None = None
    """The run that it measures; None for a server, another user's process, and before the run begins."""

    def text(self) -> str:
        """Return a description in one line."""
        place = f", {'at' if self.role == 'server' else 'results go to'} {self.place}" if self.place else ""
        name = f"{self.role} {self.run_id}" if self.run_id else self.role
        return f"{name} of {self.user} since {self.since}, process {self.process.pid}{place}: {self.command}"


class LockWait(NamedTuple):
    """The reason for which a run waits."""

    resource: str
    """The resource that both runs need: `CPU 0`, `port eth1`."""
    owner: ActiveProcess | None
    """The process that measures; None if it is not visible in this PID namespace."""

    def text(self) -> str:
        """Return the reason in one line."""
        owner = f" ({self.owner.text()})" if self.owner else ""
        return f"waiting for {self.resource} of another run{owner}"


class MachineActivity(NamedTuple):
    """Everything of nodrop on this machine."""

    processes: tuple[ActiveProcess, ...]
    labs: dict[str, LabRecord]
    """All recorded labs by name."""
    unrecorded: tuple[ProcessIdentity, ...]
    """Processes of labs without a record."""

    @property
    def runs(self) -> list[ActiveProcess]:
        """The measuring runs."""
        return [process for process in self.processes if process.role == "run"]

    def lab_lines(self) -> Iterator[str]:
        """Yield a line for each lab."""
        for name, lab in self.labs.items():
            ending = lab.describe_failure()
            state = f"is down: {ending}" if ending else f"is up: {lab.facts.sut}, process {lab.holder.pid}"
            yield f"lab {name} {state}"
        for process in self.unrecorded:
            yield f"lab without a record, process {process.pid}"


def find_activity() -> MachineActivity:
    """Find all runs, servers and labs on this machine."""
    labs = {name: lab for name in registry.list_names() if (lab := registry.read_record(name))}
    return MachineActivity(list_active_processes(), labs, persistent_lab.find_unrecorded())


class _ProcessLocks:
    """The locks as held by this process; reentrant, as a suite holds them around its runs."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sockets: dict[str, socket.socket] = {}
        self.depth = 0


class _ProcessRecord(NamedTuple):
    """The record of this process as a measuring run."""

    path: Path
    entry: ActiveProcess


_process_locks = _ProcessLocks()
_run_records: list[_ProcessRecord] = []


def list_resources(plans: Sequence[Plan]) -> frozenset[str]:
    """Return the resources that runs of these plans do not share with other runs."""
    resources: set[str] = set()
    for plan in plans:
        lab_cores = set(plan.lab.cores)
        if plan.lab.sut in (*KERNEL_SUTS, "ext"):
            lab_cores.discard(None)  # no processes of nodrop's
        cores = lab_cores.union(plan.engine.cores or (None,))
        if None in cores or plan.trex or plan.cloud:
            cores = {*_list_all_cpus()}
        resources |= {f"CPU {core}" for core in cores}
        if plan.standing_lab:
            resources.add(f"lab {plan.standing_lab}")
        if plan.lab.sut == "ext":
            resources |= {f"port {interface}" for interface in plan.lab.tester_interfaces}
    return frozenset(resources)


def list_locked_cpus() -> frozenset[int]:
    """Return the CPUs on which other runs measure."""
    return frozenset(cpu for cpu in _list_all_cpus() if _find_owner(f"CPU {cpu}"))


def is_alongside() -> bool:
    """Return whether the environment asks to measure even while other runs hold the lock."""
    return os.environ.get(ALONGSIDE) == "1"


@contextlib.contextmanager
def measurement_lock(
    results_dir: str,
    resources: frozenset[str] | None = None,
    *,
    alongside: bool = False,
    wait: bool = False,
    on_wait: Callable[[LockWait], None] = lambda _: None,
) -> Iterator[None]:
    """Hold the locks of resources, and be listed as a measuring run, until the block exits.

    Args:
        results_dir: directory of the results.
        resources: see `list_resources`; by default all CPUs.
        alongside: measure even while other runs hold them.
        wait: wait for the locks instead of raising.
        on_wait: receives the reason when a wait begins, and when another run becomes its reason.

    Raises: BusyError if another run measures.
    """
    ignores_locks = alongside or is_alongside()
    if resources is None:
        resources = frozenset(f"CPU {cpu}" for cpu in _list_all_cpus())
    with contextlib.ExitStack() as stack:
        if not ignores_locks:
            stack.enter_context(_locked(resources, on_wait if wait else None))
        stack.enter_context(registered_process("run", str(Path(results_dir).resolve())))
        yield


@contextlib.contextmanager
def registered_process(role: Role, place: str) -> Iterator[None]:
    """List this process among `list_active_processes` until the block exits."""
    record = None
    with contextlib.suppress(StageError, OSError):  # a process that cannot be listed can still measure
        record = _record_process(role, place)
    if record and role == "run":
        _run_records.append(record)
    try:
        yield
    finally:
        if record in _run_records:
            _run_records.remove(record)
        if record:
            record.path.unlink(missing_ok=True)


def record_run_id(run_id: str) -> None:
    """Add the id of the current run to the record of this process, for runs that wait for it."""
    with contextlib.suppress(OSError):
        for record in _run_records[-1:]:
            draft = record.path.with_suffix(".new")
            draft.write_text(record.entry.replace(run_id=run_id).model_dump_json())
            draft.replace(record.path)


def _record_process(role: Role, place: str) -> _ProcessRecord:
    process = identify_process(os.getpid())
    entry = ActiveProcess(
        role=role,
        process=process,
        user=get_user_name(os.geteuid()),
        since=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        command=" ".join(_format_command(sys.argv)),
        place=place,
    )
    path = runtime_dirs.ensure_runtime_subdir(KIND) / f"{process.pid}-{threading.get_native_id()}.json"
    path.write_text(entry.model_dump_json())
    return _ProcessRecord(path, entry)


def list_active_processes() -> tuple[ActiveProcess, ...]:
    """Return every run and server of this user, and the owner of the lock."""
    processes = []
    with contextlib.suppress(StageError):  # without a directory there are no records
        processes = [
            each for path in sorted(runtime_dirs.ensure_runtime_subdir(KIND).glob("*.json")) if (each := _read(path))
        ]
    for owner in {owner for cpu in _list_all_cpus() if (owner := _find_owner(f"CPU {cpu}"))}:
        if owner.process.pid not in {each.process.pid for each in processes}:
            processes.append(owner)
    return tuple(processes)


def find_other_runs() -> frozenset[ActiveProcess]:
    """Return the runs of other processes that measure on this machine now."""
    return frozenset(each for each in list_active_processes() if each.role == "run" and each.process.pid != os.getpid())


def _list_all_cpus() -> set[int]:
    return set(range(os.cpu_count() or 1)) | os.sched_getaffinity(0)


@contextlib.contextmanager
def _locked(resources: frozenset[str], on_wait: Callable[[LockWait], None] | None) -> Iterator[None]:
    with _process_locks.lock:
        _process_locks.sockets |= _bind_locks(sorted(resources - _process_locks.sockets.keys()), on_wait)
        _process_locks.depth += 1
    try:
        yield
    finally:
        with _process_locks.lock:
            _process_locks.depth -= 1
            if not _process_locks.depth:
                _close(_process_locks.sockets)


def _bind_locks(resources: Sequence[str], on_wait: Callable[[LockWait], None] | None) -> dict[str, socket.socket]:
    """Return a socket for each resource: all of them, so that no run waits with locks that another needs."""
    reason: LockWait | None = None
    while True:
        sockets: dict[str, socket.socket] = {}
        for resource in resources:
            sockets[resource] = lock_socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                lock_socket.bind(_format_address(resource))
                lock_socket.listen(BACKLOG)
            except OSError:
                _close(sockets)
                break
        else:
            return sockets
        owner = _find_described_owner(resource)
        if not on_wait:
            raise BusyError(
                f"another run is measuring on this machine{f' ({owner.text()})' if owner else ''} and uses {resource}; "
                "use --wait to queue or --alongside to run anyway"
            )
        if reason != (reason := LockWait(resource, owner)):
            on_wait(reason)
        time.sleep(WAIT_S)


def _close(sockets: dict[str, socket.socket]) -> None:
    for each in sockets.values():
        each.close()
    sockets.clear()


def _format_address(resource: str) -> str:
    return f"{LOCK_ADDRESS}.{resource}"


def _find_described_owner(resource: str) -> ActiveProcess | None:
    """Return the owner of a lock as it describes itself, if this user may read that."""
    owner = _find_owner(resource)
    return owner and next((each for each in list_active_processes() if each.process == owner.process), owner)


def _find_owner(resource: str) -> ActiveProcess | None:
    """Return the owner of a lock; None if it is free, or its owner is not visible in this PID namespace."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as query:
        query.setblocking(False)
        try:
            query.connect(_format_address(resource))
            packed = query.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return None
    pid, uid, _ = struct.unpack("3i", packed)
    return _read_process(pid, uid) if pid else None


def _read_process(pid: int, uid: int) -> ActiveProcess | None:
    """Return the public description of a process."""
    try:
        since = datetime.fromtimestamp(Path(f"/proc/{pid}").stat().st_ctime, UTC)
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        return ActiveProcess(
            role="run",
            process=identify_process(pid),
            user=get_user_name(uid),
            since=f"{since:%Y-%m-%dT%H:%M:%SZ}",
            command=" ".join(word for word in words if word),
        )
    except (OSError, StageError):
        return None


def _read(path: Path) -> ActiveProcess | None:
    """Return a record whose process still runs; remove one that outlived its process."""
    try:
        entry = ActiveProcess.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None
    if is_running(entry.process):
        return entry
    path.unlink(missing_ok=True)
    return None


def _format_command(words: list[str]) -> list[str]:
    """Return the command line without the path of the program."""
    return ["nodrop", *words[1:]]


def get_user_name(uid: int) -> str:
    """Return the name of a user, or the id of one without a name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
