"""Runtime directories of the current user, which last until reboot: lab records, logs, files of started programs."""

import os
import stat
from pathlib import Path

from nodrop.errors import StageError


def ensure_runtime_subdir(kind: str) -> Path:
    """Return the directory for one kind of files. Raises StageError if another user could have written to it."""
    path = find_runtime_root() / kind
    try:
        for part in (path.parent, path):
            part.mkdir(mode=0o700, exist_ok=True)
            _check(part)
    except OSError as error:
        raise StageError(f"cannot create directory {path} ({error.strerror}); make it writable") from error
    return path


def find_runtime_root() -> Path:
    """Return the parent directory; root's does not depend on the environment, so that sudo finds the files of a root
    shell."""
    uid = os.geteuid()
    offered = Path("/run") if uid == 0 else Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent")
    return offered / "nodrop" if os.access(offered, os.W_OK) else Path(f"/tmp/nodrop-{uid}")


def _check(path: Path) -> None:
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise StageError(
            f"{path} is not a directory that belongs to this user and that only this user can write; remove it or fix "
            "its owner and mode"
        )
