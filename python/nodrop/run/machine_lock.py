"""Who of nodrop is at work on this machine: runs that measure, and servers. And that only one run measures at a time.

Two runs that measure at once disturb each other, whoever started them. So a run takes the turn first: a socket with a
name in Linux's abstract namespace (unix(7)), which every user can bind, only one at a time, and which the kernel gives
back when its process ends, even by `kill -9`. Who has it, the kernel says as well (SO_PEERCRED).

What else there is to know of a run or a server, its user keeps in a file, which counts only while that very process
runs. It is seen by the same user; of others only what everybody may see in /proc.
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
from nodrop.stage.process_identity import Process, identify, is_running
from nodrop.stage.registry import StandingLab
from nodrop.system import runtime_dirs

TURN = "\0nodrop.measuring"
"""Abstract address of the turn; one for each network namespace nodrop is started in."""
ALONGSIDE = "NODROP_ALONGSIDE"
"""Environment variable: with `1` no run waits for its turn, as with `--alongside`."""
BACKLOG = 4096
"""How many may ask who has the turn while one has it; nobody is answered, the kernel knows."""
KIND = "present"
WAIT_S = 0.5
Role = Literal["run", "server"]


class Presence(Value):
    """A process of nodrop at work."""

    role: Role
    process: Process
    user: str
    since: str
    """UTC, ISO 8601."""
    command: str
    """As it was typed."""
    place: str | None = None
    """Where its results go or, for a server, where it listens; None where only its own user may know."""

    def text(self) -> str:
        """It in a line."""
        place = f", {'at' if self.role == 'server' else 'results go to'} {self.place}" if self.place else ""
        return f"{self.role} of {self.user} since {self.since}, process {self.process.pid}{place}: {self.command}"


class Found(NamedTuple):
    """What of nodrop is here."""

    presences: tuple[Presence, ...]
    labs: dict[str, StandingLab]
    """Every lab on record, by name."""
    unrecorded: tuple[Process, ...]
    """Processes of labs whose record is gone."""

    @property
    def runs(self) -> list[Presence]:
        """The runs that measure."""
        return [presence for presence in self.presences if presence.role == "run"]

    def lab_lines(self) -> Iterator[str]:
        """Every lab in a line."""
        for name, lab in self.labs.items():
            ending = lab.ending()
            standing = f"is up: {lab.facts.sut}, process {lab.holder.pid}"
            yield f"lab {name} {f'has fallen down: {ending}' if ending else standing}"
        for process in self.unrecorded:
            yield f"lab without a record, process {process.pid}"


def look_around() -> Found:
    """Everything of nodrop on this machine."""
    labs = {name: lab for name in registry.names() if (lab := registry.read(name))}
    return Found(presences(), labs, persistent_lab.unrecorded())


class _Turn:
    """The turn of this process. Whoever has it may take it again: a run of several runs has it throughout."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.socket: socket.socket | None = None
        self.holders = 0


_own = _Turn()


@contextlib.contextmanager
def measurement_lock(results_dir: str, *, alongside: bool = False, wait: bool = False) -> Iterator[None]:
    """Measure alone on this machine, and be seen to do so, until the block is left.

    Args:
        results_dir: where the results go.
        alongside: measure beside other runs.
        wait: until no other run measures.

    Raises: BusyError when another run measures.
    """
    beside = alongside or os.environ.get(ALONGSIDE) == "1"
    with present("run", str(Path(results_dir).resolve())), contextlib.ExitStack() as until_left:
        if not beside:
            until_left.enter_context(_taken(wait))
        yield


@contextlib.contextmanager
def present(role: Role, place: str) -> Iterator[None]:
    """Be seen by `presences` until the block is left."""
    path = None
    with contextlib.suppress(StageError, OSError):  # who cannot be seen can measure all the same
        path = _record(role, place)
    try:
        yield
    finally:
        if path:
            path.unlink(missing_ok=True)


def _record(role: Role, place: str) -> Path:
    process = identify(os.getpid())
    seen = Presence(
        role=role,
        process=process,
        user=_user(os.geteuid()),
        since=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        command=" ".join(_command(sys.argv)),
        place=place,
    )
    path = runtime_dirs.directory(KIND) / f"{process.pid}-{threading.get_native_id()}.json"
    path.write_text(seen.model_dump_json())
    return path


def presences() -> tuple[Presence, ...]:
    """Who is at work: every run and server of this user, and whoever has the turn."""
    seen = []
    with contextlib.suppress(StageError):  # no place for records: nobody is on record
        seen = [presence for path in sorted(runtime_dirs.directory(KIND).glob("*.json")) if (presence := _read(path))]
    holder = _holder()
    if holder and holder.process.pid not in {presence.process.pid for presence in seen}:
        seen.append(holder)
    return tuple(seen)


def is_busy() -> bool:
    """Whether any run measures."""
    return any(presence.role == "run" for presence in presences())


@contextlib.contextmanager
def _taken(wait: bool) -> Iterator[None]:
    with _own.lock:
        if not _own.holders:
            _own.socket = _bound(wait)
        _own.holders += 1
    try:
        yield
    finally:
        with _own.lock:
            _own.holders -= 1
            if not _own.holders and _own.socket:
                _own.socket.close()
                _own.socket = None


def _bound(wait: bool) -> socket.socket:
    turn_socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    while True:
        try:
            turn_socket.bind(TURN)
            turn_socket.listen(BACKLOG)
        except OSError:
            if wait:
                time.sleep(WAIT_S)
                continue
            turn_socket.close()
            raise BusyError(_refusal()) from None
        return turn_socket


def _refusal() -> str:
    holder = _holder()
    known = holder and next((one for one in presences() if one.process == holder.process), holder)
    found = f"another one is measuring: {known.text()}" if known else "another one is measuring"
    return f"a run of its own on this machine asked, {found}; wait for it (--wait), or measure beside it (--alongside)"


def _holder() -> Presence | None:
    """Who has the turn; None when nobody has, or its process cannot be seen from here."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(TURN)
            packed = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return None
    pid, uid, _ = struct.unpack("3i", packed)
    return _visible(pid, uid) if pid else None


def _visible(pid: int, uid: int) -> Presence | None:
    """What everybody may see of a process."""
    try:
        since = datetime.fromtimestamp(Path(f"/proc/{pid}").stat().st_ctime, UTC)
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        return Presence(
            role="run",
            process=identify(pid),
            user=_user(uid),
            since=f"{since:%Y-%m-%dT%H:%M:%SZ}",
            command=" ".join(word for word in words if word),
        )
    except (OSError, StageError):
        return None


def _read(path: Path) -> Presence | None:
    """A record, if its process still runs; one that outlived it is cleared away."""
    try:
        presence = Presence.model_validate_json(path.read_text())
    except (OSError, ValidationError):
        return None
    if is_running(presence.process):
        return presence
    path.unlink(missing_ok=True)
    return None


def _command(words: list[str]) -> list[str]:
    """The command line without the path of the program."""
    return ["nodrop", *words[1:]]


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
