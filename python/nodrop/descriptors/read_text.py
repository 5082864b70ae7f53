"""Safe reading of untrusted text files of any size and content."""

import os
import stat
import sys
from pathlib import Path

from nodrop.errors import ConfigError

MIB = 2**20
STDIN = "-"


def read_text(file: Path | str, kind: str, bytes_max: int) -> str:
    """Return the text of a file, or of standard input for `-`.

    Args:
        kind: expected content, for messages: `VM Descriptor`.
        bytes_max: size limit, checked before reading more.

    Raises: ConfigError naming the file.
    """
    name = "standard input" if str(file) == STDIN else str(file)
    try:
        content = _read_bytes(file, bytes_max)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "invalid file name"
        raise ConfigError(f"{name}: cannot read {kind}: {reason}; name a readable file") from None
    if len(content) > bytes_max:
        size = f"{_get_file_size(file) / MIB:.0f} MiB" if _get_file_size(file) else "more"
        raise ConfigError(f"{name}: not {kind}: larger than {bytes_max / MIB:g} MiB ({size}); name another file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{name}: line {line}: not {kind}: invalid UTF-8; name a YAML or JSON file") from None


def _read_bytes(file: Path | str, bytes_max: int) -> bytes:
    if str(file) == STDIN:
        return sys.stdin.buffer.read(bytes_max + 1)
    with open(file, "rb") as opened:  # noqa: PTH123 - as many bytes as are wanted, no more
        return opened.read(bytes_max + 1)


def _get_file_size(file: Path | str) -> int:
    """Return the size of a regular file; 0 for anything else."""
    try:
        status = os.stat(file)  # noqa: PTH116
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
