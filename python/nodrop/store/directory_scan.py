"""Scan of a results directory for results."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nodrop import store


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
