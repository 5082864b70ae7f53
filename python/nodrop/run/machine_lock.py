"""Active nodrop processes on this machine, and the lock that admits one measuring run.

Two runs that measure at once disturb each other, whichever users started them. A run therefore first takes a lock: a
socket bound to a name in Linux's abstract namespace (unix(7)). Every user can bind it, only one process at a time, and
the kernel releases it when the process ends, even by SIGKILL. The kernel also names the owner (SO_PEERCRED).

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
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from nodrop.errors import BusyError, StageError
from nodrop.model.base import Value
from nodrop.stage import persistent_lab, registry
from nodrop.stage.process_identity import ProcessIdentity, identify_process, is_running
from nodrop.stage.registry import LabRecord
from nodrop.system import runtime_dirs

LOCK_ADDRESS = "\0nodrop.measuring"
"""Abstract address of the lock; each network namespace has its own."""
ALONGSIDE = "NODROP_ALONGSIDE"
"""Environment variable; `1` makes runs ignore the lock, like `--alongside`."""
BACKLOG = 4096
"""Connections that may be pending on the lock's socket: each query for the owner leaves one, none is accepted."""
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

    def text(self) -> str:
        """Return a description in one line."""
        place = f", {'at' if self.role == 'server' else 'results go to'} {self.place}" if self.place else ""
        return f"{self.role} of {self.user} since {self.since}, process {self.process.pid}{place}: {self.command}"


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


class _ProcessLock:
    """The lock as held by this process; reentrant, as a suite holds it around its runs."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.socket: socket.socket | None = None
        self.depth = 0


_process_lock = _ProcessLock()


@contextlib.contextmanager
def measurement_lock(results_dir: str, *, alongside: bool = False, wait: bool = False) -> Iterator[None]:
    """Hold the lock, and be listed as a measuring run, until the block exits.

    Args:
        results_dir: directory of the results.
        alongside: measure even while other runs do.
        wait: wait for the lock instead of raising.

    Raises: BusyError if another run measures.
    """
    ignores_lock = alongside or os.environ.get(ALONGSIDE) == "1"
    with registered_process("run", str(Path(results_dir).resolve())), contextlib.ExitStack() as stack:
        if not ignores_lock:
            stack.enter_context(_locked(wait))
        yield


@contextlib.contextmanager
def registered_process(role: Role, place: str) -> Iterator[None]:
    """List this process among `list_active_processes` until the block exits."""
    path = None
    with contextlib.suppress(StageError, OSError):  # a process that cannot be listed can still measure
        path = _record_process(role, place)
    try:
        yield
    finally:
        if path:
            path.unlink(missing_ok=True)


def _record_process(role: Role, place: str) -> Path:
    process = identify_process(os.getpid())
    entry = ActiveProcess(
        role=role,
        process=process,
        user=_get_user_name(os.geteuid()),
        since=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        command=" ".join(_format_command(sys.argv)),
        place=place,
    )
    path = runtime_dirs.ensure_runtime_subdir(KIND) / f"{process.pid}-{threading.get_native_id()}.json"
    path.write_text(entry.model_dump_json())
    return path


def list_active_processes() -> tuple[ActiveProcess, ...]:
    """Return every run and server of this user, and the owner of the lock."""
    processes = []
    with contextlib.suppress(StageError):  # without a directory there are no records
        processes = [
            each for path in sorted(runtime_dirs.ensure_runtime_subdir(KIND).glob("*.json")) if (each := _read(path))
        ]
    owner = _lock_owner()
    if owner and owner.process.pid not in {each.process.pid for each in processes}:
        processes.append(owner)
    return tuple(processes)


@contextlib.contextmanager
def _locked(wait: bool) -> Iterator[None]:
    with _process_lock.lock:
        if not _process_lock.depth:
            _process_lock.socket = _bind_lock(wait)
        _process_lock.depth += 1
    try:
        yield
    finally:
        with _process_lock.lock:
            _process_lock.depth -= 1
            if not _process_lock.depth and _process_lock.socket:
                _process_lock.socket.close()
                _process_lock.socket = None


def _bind_lock(wait: bool) -> socket.socket:
    lock_socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    while True:
        try:
            lock_socket.bind(LOCK_ADDRESS)
            lock_socket.listen(BACKLOG)
        except OSError:
            if wait:
                time.sleep(WAIT_S)
                continue
            lock_socket.close()
            raise BusyError(_format_busy()) from None
        return lock_socket


def _format_busy() -> str:
    owner = _lock_owner()
    owner = owner and next((each for each in list_active_processes() if each.process == owner.process), owner)
    details = f" ({owner.text()})" if owner else ""
    return f"another run is measuring on this machine{details}; use --wait to queue or --alongside to run anyway"


def _lock_owner() -> ActiveProcess | None:
    """Return the owner of the lock; None if it is free, or its owner is not visible in this PID namespace."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as query:
        query.setblocking(False)
        try:
            query.connect(LOCK_ADDRESS)
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
            user=_get_user_name(uid),
            since=f"{since:%Y-%m-%dT%H:%M:%SZ}",
            command=" ".join(word for word in words if word),
        )
    except (OSError, StageError):
        return None


def _read(path: Path) -> ActiveProcess | None:
    """Return a record whose process still runs; remove one that outlived its process."""
    try:
        entry = ActiveProcess.model_validate_json(path.read_text())
    except (OSError, ValidationError):
        return None
    if is_running(entry.process):
        return entry
    path.unlink(missing_ok=True)
    return None


def _format_command(words: list[str]) -> list[str]:
    """Return the command line without the path of the program."""
    return ["nodrop", *words[1:]]


def _get_user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
