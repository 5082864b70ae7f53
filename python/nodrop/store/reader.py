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
from nodrop.store.directory_scan import ResultStamp
from nodrop.store.summaries import summarize_result


class ResultEntry(NamedTuple):
    """A result as it was read."""

    name: str
    stamp: ResultStamp
    summaries: tuple[Summary, ...]
    """Of other testers it may be several runs."""
    tags: tuple[str, ...]
    sha256: str | None
    """As it was when the file was written."""
    altered: bool
    problem: str | None
    """Why it cannot be read."""


def read_entry(directory: Path, known: ResultStamp) -> ResultEntry:
    """What a directory's result says; one that cannot be read says why."""
    file = directory / known.file
    sha256, altered, problem = checksums.read_recorded(file), False, None
    found: tuple[Summary, ...] = ()
    try:
        content = file.read_bytes()
        altered = sha256 is not None and checksums.compute_sha256(content) != sha256
        found = summarize_file(file, content)
    except (OSError, ConfigError) as error:
        problem = str(error)
    return ResultEntry(directory.name, known, found, tags.read_tags(directory), sha256, altered, problem)


def summarize_file(file: Path, content: bytes) -> tuple[Summary, ...]:
    """What a result of whoever says of runs. Raises ConfigError."""
    if file.name == store.IMPORTED_FILE:
        return imported.summarize_import(file)
    try:
        return (summarize_result(RunResult.model_validate_json(content)),)
    except ValidationError:
        if b'"schema_version"' not in content:
            with contextlib.suppress(ConfigError):
                return imported.summarize_import(file)
        return (summarize_result(store.load(file)),)  # which says what is wrong with it
