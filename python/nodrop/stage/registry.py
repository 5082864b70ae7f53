"""Records of persistent labs: one file per lab, in a directory that only its user can write.

A record is trusted only if its pids and start times match running processes, so an outdated record does no harm.
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
"""Directory of the records."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class LabRecord(Value):
    """The record of a persistent lab."""

    facts: StageFacts
    plan: LabPlan
    holder: ProcessIdentity
    """In the tester's namespace; the lab lives as long as it does."""
    keeper: ProcessIdentity
    """In the SUT's namespace."""
    sut_processes: tuple[ProcessIdentity, ...]
    """The SUT's own processes, if it has any."""

    def describe_failure(self) -> str | None:
        """Return which process has ended; None while all run. Costs a few reads of /proc."""
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
    """Keep other nodrop processes of this user from changing the records while the block runs."""
    descriptor = os.open(runtime_dirs.ensure_runtime_subdir(SUBDIR), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read_record(name: str) -> LabRecord | None:
    """Return the record of a lab; None without one. Raises StageError if it is not readable."""
    path = _build_path(name, ".json")
    try:
        return LabRecord.model_validate_json(path.read_text())
    except FileNotFoundError:
        return None
    except ValidationError:
        raise StageError(
            f"lab {name}: this version cannot read its record {path}; end the lab's processes if they still run, and "
            "remove the file"
        ) from None


def write_record(name: str, lab: LabRecord) -> None:
    """Write the record of a lab atomically."""
    path = _build_path(name, ".json")
    draft = path.with_suffix(".json.new")
    draft.write_text(lab.model_dump_json())
    draft.replace(path)


def remove_record(name: str) -> None:
    """Remove the record and the log of a lab."""
    _build_path(name, ".json").unlink(missing_ok=True)
    log_path(name).unlink(missing_ok=True)


def list_names() -> tuple[str, ...]:
    """Return the names of all recorded labs, up or not."""
    return tuple(sorted(path.stem for path in runtime_dirs.ensure_runtime_subdir(SUBDIR).glob("*.json")))


def log_path(name: str) -> Path:
    """Return the path of the log of a lab's processes."""
    return _build_path(name, ".log")


def _build_path(name: str, suffix: str) -> Path:
    if not NAME.fullmatch(name):
        raise ConfigError(f"invalid lab name {name!r}; use 1 to 64 letters, digits, '.', '_' or '-'")
    return runtime_dirs.ensure_runtime_subdir(SUBDIR) / (name + suffix)
