"""What there is on disk: directories with a result, and what each says."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.model.summary import Summary
from nodrop.store import hashes, imported, tags
from nodrop.store.summaries import summary_of


class Stamp(NamedTuple):
    """By which it is seen that a result is another than it was."""

    file: str
    directory_mtime_ns: int
    """Changes with the files in it: tags, hash."""
    mtime_ns: int
    size_bytes: int


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


def stamps(results_dir: Path) -> Iterator[tuple[str, Stamp]]:
    """Every directory with a result in it, by name."""
    try:
        found = os.scandir(results_dir)
    except OSError:
        return
    with found:
        for each in found:
            if each.is_dir() and (known := _stamp(each.path, each.stat().st_mtime_ns)):
                yield each.name, known


def stamp_of(directory: Path) -> Stamp | None:
    """That of the result in a directory; None where there is none."""
    try:
        return _stamp(str(directory), directory.stat().st_mtime_ns)
    except OSError:
        return None


def _stamp(directory: str, directory_mtime_ns: int) -> Stamp | None:
    for file in store.RESULT_FILES:
        try:
            found = os.stat(f"{directory}/{file}")  # noqa: PTH116, for thousands of them
        except OSError:
            continue
        return Stamp(file, directory_mtime_ns, found.st_mtime_ns, found.st_size)
    return None


def read(directory: Path, known: Stamp) -> Entry:
    """What a directory's result says; one that cannot be read says why."""
    file = directory / known.file
    sha256, altered, problem = hashes.recorded(file), False, None
    found: tuple[Summary, ...] = ()
    try:
        content = file.read_bytes()
        altered = sha256 is not None and hashes.digest(content) != sha256
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
