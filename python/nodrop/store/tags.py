"""Tags of results: `<results dir>/<run id>/tags.txt`, one tag per line, outside the result file."""

import contextlib
import fcntl
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from nodrop import store
from nodrop.errors import ConfigError

TAGS_FILE = "tags.txt"
TAG = re.compile(r"[\w.:+=@/-]{1,64}")


def read_tags(directory: Path) -> tuple[str, ...]:
    """Return the sorted tags of the result in a directory."""
    try:
        return tuple(sorted({line.strip() for line in (directory / TAGS_FILE).read_text("utf-8").splitlines()} - {""}))
    except (OSError, UnicodeDecodeError):
        return ()


def update_tags(directory: Path, add: Iterable[str], remove: Iterable[str]) -> tuple[str, ...]:
    """Add and remove tags of a result, and return its tags. Raises ConfigError."""
    adding = [validate_tag(tag) for tag in add]
    with _lock(directory):
        tags = tuple(sorted((set(read_tags(directory)) | set(adding)) - set(remove)))
        store.write_text(directory / TAGS_FILE, "".join(f"{tag}\n" for tag in tags))
    return tags


def validate_tag(tag: str) -> str:
    """Return a valid tag. Raises ConfigError."""
    if not TAG.fullmatch(tag) or tag[0] in "+-":
        raise ConfigError(
            f"tag: invalid tag ({tag[:80]!r}); use up to 64 letters, digits and . : + = @ / - _, e.g. release-1.4"
        )
    return tag


@contextlib.contextmanager
def _lock(directory: Path) -> Iterator[None]:
    """Lock the tags of a result against concurrent changes."""
    try:
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ConfigError(f"{directory}: tags cannot be changed ({error.strerror}); name a result") from None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
