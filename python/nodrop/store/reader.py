"""Reader of stored results of nodrop and other testers."""

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


class StoredResult(NamedTuple):
    """A stored result as read."""

    name: str
    stamp: ResultStamp
    summaries: tuple[Summary, ...]
    """One summary per run; results of other testers may contain several runs."""
    tags: tuple[str, ...]
    sha256: str | None
    """The hash recorded when the file was written."""
    altered: bool
    problem: str | None
    """Reason why the result cannot be read."""


def read_entry(directory: Path, stamp: ResultStamp) -> StoredResult:
    """Read the result in a directory; an unreadable result has a `problem`."""
    file = directory / stamp.file
    sha256, altered, problem = checksums.read_recorded(file), False, None
    summaries: tuple[Summary, ...] = ()
    try:
        content = file.read_bytes()
        altered = sha256 is not None and checksums.compute_sha256(content) != sha256
        summaries = summarize_file(file, content)
    except (OSError, ConfigError) as error:
        problem = str(error)
    return StoredResult(directory.name, stamp, summaries, tags.read_tags(directory), sha256, altered, problem)


def summarize_file(file: Path, content: bytes) -> tuple[Summary, ...]:
    """Summarize the runs of a result of any tester. Raises ConfigError."""
    if file.name == store.IMPORTED_FILE:
        return imported.summarize_import(file)
    try:
        return (summarize_result(RunResult.model_validate_json(content)),)
    except ValidationError:
        if b'"schema_version"' not in content:
            with contextlib.suppress(ConfigError):
                return imported.summarize_import(file)
        return (summarize_result(store.load(file)),)  # raises with the problem
