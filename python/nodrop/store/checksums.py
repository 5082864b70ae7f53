"""Hashes of results: `<results dir>/<run id>/result.json.sha256`, which `sha256sum -c` reads."""

import hashlib
from pathlib import Path
from typing import Literal, NamedTuple

ChecksumState = Literal["intact", "altered", "not hashed", "missing"]


class ChecksumResult(NamedTuple):
    """What became of a result since it was written."""

    state: ChecksumState
    text: str
    """As a sentence."""


def checksum_path(file: Path) -> Path:
    """Where the hash of a file is kept."""
    return file.with_name(f"{file.name}.sha256")


def compute_sha256(content: bytes) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def format_line(file: Path, content: bytes) -> str:
    """What is kept of a file."""
    return f"{compute_sha256(content)}  {file.name}\n"


def read_recorded(file: Path) -> str | None:
    """The hash a file had when it was written; None where none was kept."""
    try:
        found, _, name = checksum_path(file).read_text("ascii").strip().partition("  ")
    except (OSError, UnicodeDecodeError):
        return None
    return found if name == file.name else None


def check_file(file: Path) -> ChecksumResult:
    """Whether a result is what was written."""
    expected = read_recorded(file)
    try:
        found = compute_sha256(file.read_bytes())
    except FileNotFoundError:
        return ChecksumResult("missing", f"{file} is missing")
    except OSError as error:
        return ChecksumResult("missing", f"{file} cannot be read: {error.strerror}")
    if expected is None:
        return ChecksumResult("not hashed", f"{file} was never hashed, as by releases before this one")
    if found == expected:
        return ChecksumResult("intact", f"{file} is as it was written")
    return ChecksumResult("altered", f"{file} was changed: its hash is {found[:12]}..., written was {expected[:12]}...")
