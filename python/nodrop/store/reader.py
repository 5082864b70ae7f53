"""What a result on disk says, whoever wrote it."""

import contextlib
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.model.summary import Summary
from nodrop.store import checksums, imported, tags
from nodrop.store.directory_scan import Stamp
from nodrop.store.summaries import summary_of


class Entry(NamedTuple):
    """A result as it was read."""

    name: str
    stamp: Stamp
    summaries: tuple[Summary, ...]
    """Of other testers it may be several runs."""
    tags: tuple[str, ...]
    sha256: str | None
    """As it was when the file was written."""
    altered: bool
    problem: str | None
    """Why it cannot be read."""


def read(directory: Path, known: Stamp) -> Entry:
    """What a directory's result says; one that cannot be read says why."""
    file = directory / known.file
    sha256, altered, problem = checksums.recorded(file), False, None
    found: tuple[Summary, ...] = ()
    try:
        content = file.read_bytes()
        altered = sha256 is not None and checksums.digest(content) != sha256
        found = summaries_of(file, content)
    except (OSError, ConfigError) as error:
        problem = str(error)
    return Entry(directory.name, known, found, tags.read(directory), sha256, altered, problem)


def summaries_of(file: Path, content: bytes) -> tuple[Summary, ...]:
    """What a result of whoever says of runs. Raises ConfigError."""
    if file.name == store.IMPORTED_FILE:
        return imported.summaries(file)
    try:
        return (summary_of(RunResult.model_validate_json(content)),)
    except ValidationError:
        if b'"schema_version"' not in content:
            with contextlib.suppress(ConfigError):
                return imported.summaries(file)
        return (summary_of(store.load(file)),)  # which says what is wrong with it
