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
        found = os.scandir(results_dir)
    except OSError:
        return
    with found:
        for each in found:
            if each.is_dir() and (known := _stamp(each.path, each.stat().st_mtime_ns)):
                yield each.name, known


def read_stamp(directory: Path) -> ResultStamp | None:
    """Return the stamp of the result in a directory; None without a result."""
    try:
        return _stamp(str(directory), directory.stat().st_mtime_ns)
    except OSError:
        return None


def _stamp(directory: str, directory_mtime_ns: int) -> ResultStamp | None:
    for file in store.RESULT_FILES:
        try:
            found = os.stat(f"{directory}/{file}")  # noqa: PTH116, for thousands of them
        except OSError:
            continue
        return ResultStamp(file, directory_mtime_ns, found.st_mtime_ns, found.st_size)
    return None
