"""Counters that a process of nodrop-vnf publishes: lines in a memory file among its open files."""

from collections.abc import Iterator
from pathlib import Path

LINK = "/memfd:nodrop-counters"


def read_published_counters(pid: int) -> list[tuple[str, int]]:
    """Return the counters of a process by their labels, `INTERFACE/COUNTER`; none if it has ended."""
    try:
        return list(_iter_counters(Path(f"/proc/{pid}/fd")))
    except OSError:
        return []


def _iter_counters(files: Path) -> Iterator[tuple[str, int]]:
    for file in files.iterdir():
        if str(file.readlink()).startswith(LINK):
            for line in file.read_text(encoding="utf-8").splitlines():
                label, _, count = line.rpartition(" ")
                yield label, int(count)
            return
