"""The initial RAM file system; equal files produce identical bytes.

Source: Linux, driver-api/early-userspace/buffer-format.rst (the format "newc").
"""

import gzip
import stat
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

COMPRESSION_LEVEL = 9
CONSOLE = (5, 1)
"""Device number. Without this node the first process has no standard output."""


class InitrdEntry(NamedTuple):
    """A file, a link, or a device node."""

    content: bytes = b""
    """Target, for a link."""
    mode: int = stat.S_IFREG | 0o644
    device: tuple[int, int] = (0, 0)


def make_executable_entry(content: bytes) -> InitrdEntry:
    """Return an executable file."""
    return InitrdEntry(content, stat.S_IFREG | 0o755)


def link_entry(target: str) -> InitrdEntry:
    """Return a symbolic link."""
    return InitrdEntry(target.encode(), stat.S_IFLNK | 0o777)


def build_archive(entries: Mapping[str, InitrdEntry], epoch_s: int) -> bytes:
    """Return the compressed archive; parent directories are added, root owns all files."""
    all_entries = {"dev/console": InitrdEntry(mode=stat.S_IFCHR | 0o600, device=CONSOLE), **entries}
    directories = {str(parent) for path in all_entries for parent in PurePosixPath(path).parents} - {"."}
    all_entries |= {path: InitrdEntry(mode=stat.S_IFDIR | 0o755) for path in directories}
    parts = [
        _format_entry(number, path, all_entries[path], epoch_s) for number, path in enumerate(sorted(all_entries), 1)
    ]
    parts.append(_format_entry(0, "TRAILER!!!", InitrdEntry(mode=0), 0))
    return gzip.compress(b"".join(parts), COMPRESSION_LEVEL, mtime=0)


def _format_entry(number: int, path: str, entry: InitrdEntry, epoch_s: int) -> bytes:
    name = path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (number, entry.mode, 0, 0, links, epoch_s, len(entry.content), 0, 0, *entry.device, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % each for each in fields)
    return _pad(head + name) + _pad(entry.content)


def _pad(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 4)
