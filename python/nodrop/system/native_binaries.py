"""Paths of nodrop's native programs: `nodrop-engine`, `nodrop-vnf`, `nodrop-observe`."""

import os
import shutil
import sysconfig
from pathlib import Path

from nodrop.errors import NodropError


def find_binary(name: str, error: type[NodropError]) -> Path:
    """Return the path of one of nodrop's native programs.

    Searches `$NODROP_BIN_DIR`, then the scripts directory of this Python, then `PATH`.

    Raises: the given error class, with the directories that were searched.
    """
    directories = _list_own_directories()
    path = shutil.which(name, path=os.pathsep.join(directories)) or shutil.which(name)
    if path:
        return Path(path)
    raise error(
        f"program {name} not found in {', '.join(directories)} or on PATH; install nodrop from its wheel, or build it "
        "(`make build`) and set NODROP_BIN_DIR to the directory of the build"
    )


def _list_own_directories() -> list[str]:
    schemes = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
    scripts = [sysconfig.get_path("scripts", scheme) for scheme in schemes]
    override = os.environ.get("NODROP_BIN_DIR")
    return [override, *scripts] if override else scripts
