"""Where nodrop's own native programs are: `nodrop-engine`, `nodrop-vnf`, `nodrop-observe`."""

import os
import shutil
import sysconfig
from pathlib import Path

from nodrop.errors import NodropError


def find_binary(name: str, error: type[NodropError]) -> Path:
    """Path of one of nodrop's native programs.

    Looked for in `$NODROP_BIN_DIR`, then where pip installs the scripts of this Python, then on `PATH`.

    Raises: the error class given, saying where it was looked for.
    """
    directories = _own_directories()
    found = shutil.which(name, path=os.pathsep.join(directories)) or shutil.which(name)
    if found:
        return Path(found)
    raise error(
        f"program {name} asked, not found in {', '.join(directories)} or on PATH; "
        "install nodrop from its wheel, or build it (`make build`) and set NODROP_BIN_DIR to the directory it is in"
    )


def _own_directories() -> list[str]:
    schemes = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
    scripts = [sysconfig.get_path("scripts", scheme) for scheme in schemes]
    override = os.environ.get("NODROP_BIN_DIR")
    return [override, *scripts] if override else scripts
