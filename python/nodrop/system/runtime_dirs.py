"""Directories for what nodrop keeps for this user while the machine is up: records, logs, files for what it starts."""

import os
import stat
from pathlib import Path

from nodrop.errors import StageError


def runtime_subdir(kind: str) -> Path:
    """Where what is of a kind is. Raises StageError when somebody else could have written it."""
    path = runtime_root() / kind
    try:
        for part in (path.parent, path):
            part.mkdir(mode=0o700, exist_ok=True)
            _check(part)
    except OSError as error:
        raise StageError(f"directory {path} for records asked: {error.strerror}; make it writable") from error
    return path


def runtime_root() -> Path:
    """Root's is always the same, so that sudo finds what a root shell left."""
    uid = os.geteuid()
    offered = Path("/run") if uid == 0 else Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent")
    return offered / "nodrop" if os.access(offered, os.W_OK) else Path(f"/tmp/nodrop-{uid}")


def _check(path: Path) -> None:
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise StageError(
            f"directory {path} for records asked, it is not a directory that belongs to this user and that only "
            "this user can write; remove it or mend its owner and mode"
        )
