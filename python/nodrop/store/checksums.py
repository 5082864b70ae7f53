"""Checksums of results: `<results dir>/<run id>/result.json.sha256`, in the format of `sha256sum -c`."""

import hashlib
from pathlib import Path
from typing import Literal, NamedTuple

ChecksumState = Literal["intact", "altered", "not hashed", "missing"]


class ChecksumResult(NamedTuple):
    """The integrity of a stored result."""

    state: ChecksumState
    text: str
    """Description of the state."""


def get_checksum_path(file: Path) -> Path:
    """Return the path of a file's checksum file."""
    return file.with_name(f"{file.name}.sha256")


def compute_sha256(content: bytes) -> str:
    """Return the SHA-256 of a content, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def format_line(file: Path, content: bytes) -> str:
    """Format the line of a checksum file."""
    return f"{compute_sha256(content)}  {file.name}\n"


def read_recorded(file: Path) -> str | None:
    """Return the recorded hash of a file; None without a checksum file."""
    try:
        actual, _, name = get_checksum_path(file).read_text("ascii").strip().partition("  ")
    except (OSError, UnicodeDecodeError):
        return None
    return actual if name == file.name else None


def check_file(file: Path) -> ChecksumResult:
    """Check whether a result is unchanged."""
    expected = read_recorded(file)
    try:
        actual = compute_sha256(file.read_bytes())
    except FileNotFoundError:
        return ChecksumResult("missing", f"{file} is missing")
    except OSError as error:
        return ChecksumResult("missing", f"{file} cannot be read: {error.strerror}")
    if expected is None:
        return ChecksumResult("not hashed", f"{file} has no checksum: it was written by an earlier release")
    if actual == expected:
        return ChecksumResult("intact", f"{file} is unchanged")
    return ChecksumResult("altered", f"{file} was altered: hash {actual[:12]}..., recorded {expected[:12]}...")
