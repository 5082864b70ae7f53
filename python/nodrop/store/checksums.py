"""Hashes of results: `<results dir>/<run id>/result.json.sha256`, which `sha256sum -c` reads."""

import hashlib
from pathlib import Path
from typing import Literal, NamedTuple

State = Literal["intact", "altered", "not hashed", "missing"]


class Checked(NamedTuple):
    """What became of a result since it was written."""

    state: State
    text: str
    """As a sentence."""


def hash_file(file: Path) -> Path:
    """Where the hash of a file is kept."""
    return file.with_name(f"{file.name}.sha256")


def digest(content: bytes) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def line(file: Path, content: bytes) -> str:
    """What is kept of a file."""
    return f"{digest(content)}  {file.name}\n"


def recorded(file: Path) -> str | None:
    """The hash a file had when it was written; None where none was kept."""
    try:
        found, _, name = hash_file(file).read_text("ascii").strip().partition("  ")
    except (OSError, UnicodeDecodeError):
        return None
    return found if name == file.name else None


def check(file: Path) -> Checked:
    """Whether a result is what was written."""
    expected = recorded(file)
    try:
        found = digest(file.read_bytes())
    except FileNotFoundError:
        return Checked("missing", f"{file} is missing")
    except OSError as error:
        return Checked("missing", f"{file} cannot be read: {error.strerror}")
    if expected is None:
        return Checked("not hashed", f"{file} was never hashed, as by releases before this one")
    if found == expected:
        return Checked("intact", f"{file} is as it was written")
    return Checked("altered", f"{file} was changed: its hash is {found[:12]}..., written was {expected[:12]}...")
