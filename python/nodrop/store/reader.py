"""Reader of a results directory: its results, of nodrop and other testers, and the version of each."""

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
from nodrop.store import checksums, imported, tags
from nodrop.store.summaries import summarize_result


class ResultStamp(NamedTuple):
    """Identifies a stored version of a result."""

    file: str
    directory_mtime_ns: int
    """Changes with the files in the directory: tags, hash."""
    mtime_ns: int
    size_bytes: int


def scan_stamps(results_dir: Path) -> Iterator[tuple[str, ResultStamp]]:
    """Yield every directory with a result, by name."""
    try:
        entries = os.scandir(results_dir)
    except OSError:
        return
    with entries:
        for each in entries:
            if each.is_dir() and (stamp := _read_stamp(each.path, each.stat().st_mtime_ns)):
                yield each.name, stamp


def read_stamp(directory: Path) -> ResultStamp | None:
    """Return the stamp of the result in a directory; None without a result."""
    try:
        return _read_stamp(str(directory), directory.stat().st_mtime_ns)
    except OSError:
        return None


def _read_stamp(directory: str, directory_mtime_ns: int) -> ResultStamp | None:
    for file in store.RESULT_FILES:
        try:
            status = os.stat(f"{directory}/{file}")  # noqa: PTH116, for thousands of them
        except OSError:
            continue
        return ResultStamp(file, directory_mtime_ns, status.st_mtime_ns, status.st_size)
    return None


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
