"""The record of labs left standing: one file per lab, in a directory only its user can write.

A record is never trusted further than the pids and start times in it, so one that outlived its lab does no harm.
"""

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from nodrop.errors import ConfigError, StageError
from nodrop.model.base import Value
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.process_identity import ProcessIdentity, is_running
from nodrop.system import runtime_dirs

SUBDIR = "labs"
"""Kind of these records."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class LabRecord(Value):
    """What is kept of a lab that was left standing."""

    facts: StageFacts
    plan: LabPlan
    holder: ProcessIdentity
    """In the tester's namespace; the lab lives as long as it does."""
    keeper: ProcessIdentity
    """In the SUT's namespace."""
    sut_processes: tuple[ProcessIdentity, ...]
    """The SUT's own processes, where it has any."""

    def describe_failure(self) -> str | None:
        """What of it has died; None while all of it stands. Costs a few reads of /proc."""
        if not is_running(self.holder):
            return f"the lab's process {self.holder.pid} died and the lab with it"
        if not is_running(self.keeper):
            return f"the keeper of the SUT's namespace (process {self.keeper.pid}) died"
        for process in self.sut_processes:
            if not is_running(process):
                return f"the SUT's process {process.pid} died"
        return None


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Keep every other nodrop of this user from changing the records meanwhile."""
    descriptor = os.open(runtime_dirs.runtime_subdir(SUBDIR), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read(name: str) -> LabRecord | None:
    """The record of a lab; None when there is none. Raises StageError when it cannot be read."""
    path = _path(name, ".json")
    try:
        return LabRecord.model_validate_json(path.read_text())
    except FileNotFoundError:
        return None
    except ValidationError:
        raise StageError(
            f"lab {name} asked, its record {path} is not readable by this version; "
            "end that lab's processes if they still run, and remove the file"
        ) from None


def write(name: str, lab: LabRecord) -> None:
    """Keep the record of a lab, whole or not at all."""
    path = _path(name, ".json")
    draft = path.with_suffix(".json.new")
    draft.write_text(lab.model_dump_json())
    draft.replace(path)


def remove(name: str) -> None:
    """Forget a lab and its log."""
    _path(name, ".json").unlink(missing_ok=True)
    log_path(name).unlink(missing_ok=True)


def names() -> tuple[str, ...]:
    """Every lab on record, dead or alive."""
    return tuple(sorted(path.stem for path in runtime_dirs.runtime_subdir(SUBDIR).glob("*.json")))


def log_path(name: str) -> Path:
    """What the lab's processes write when something is wrong."""
    return _path(name, ".log")


def _path(name: str, suffix: str) -> Path:
    if not NAME.fullmatch(name):
        raise ConfigError(f"lab name {name!r} asked, names are 1 to 64 letters, digits, '.', '_' or '-'; use another")
    return runtime_dirs.runtime_subdir(SUBDIR) / (name + suffix)
