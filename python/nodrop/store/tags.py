"""What people call a result: `<results dir>/<run id>/tags.txt`, one tag a line, beside the result and never in it."""

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
    """The tags of the result in a directory, sorted; none where there are none."""
    try:
        return tuple(sorted({line.strip() for line in (directory / TAGS_FILE).read_text("utf-8").splitlines()} - {""}))
    except (OSError, UnicodeDecodeError):
        return ()


def update_tags(directory: Path, add: Iterable[str], remove: Iterable[str]) -> tuple[str, ...]:
    """Give a result tags and take some from it; gives those it has then. Raises ConfigError."""
    adding = [validate_tag(tag) for tag in add]
    with _alone(directory):
        tags = tuple(sorted((set(read_tags(directory)) | set(adding)) - set(remove)))
        store.write_text(directory / TAGS_FILE, "".join(f"{tag}\n" for tag in tags))
    return tags


def validate_tag(tag: str) -> str:
    """The same, if it can be a tag. Raises ConfigError."""
    if not TAG.fullmatch(tag) or tag[0] in "+-":
        raise ConfigError(
            f"tag {tag[:80]!r} asked, up to 64 letters, digits and . : + = @ / - _ expected; write for example "
            "release-1.4"
        )
    return tag


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Nobody else changes the tags of this result until the block is left."""
    try:
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ConfigError(f"{directory}: its tags asked to be changed, {error.strerror}; name a result") from None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
