"""The initial RAM file system, with the libraries of its programs; equal files produce identical bytes.

Source: Linux, driver-api/early-userspace/buffer-format.rst (the format "newc").
"""

import gzip
import stat
import struct
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from nodrop.errors import ImageError

COMPRESSION_LEVEL = 9
CONSOLE = (5, 1)
"""Device number. Without this node the first process has no standard output."""
ELF_X86_64 = b"\x3e\x00"
"""Machine in an ELF header, at byte 18. Source: elf(5)."""
LOAD, DYNAMIC = 1, 2
"""Segment types."""
NEEDED, NAMES = 1, 5
"""Tags in the dynamic section: a library's name, and the string table."""
STATIC = ("statically linked", "not a dynamic executable")


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


def find_libraries(program: Path) -> dict[str, bytes]:
    """Return the shared libraries of a program by local path, including its loader; empty for a static program.

    Raises: ImageError if it is not a program for x86-64, or lacks a library.
    """
    try:
        head = program.read_bytes()[:20]
    except OSError as error:
        raise ImageError(f"{program}: cannot read nodrop-vnf: {error.strerror}") from error
    if head[:4] != b"\x7fELF" or head[18:20] != ELF_X86_64:
        raise ImageError(f"{program}: not a program for x86-64; select one with --vnf FILE")
    done = subprocess.run(
        ["ldd", program], capture_output=True, encoding="utf-8", errors="replace", timeout=60, check=False
    )
    if any(words in done.stdout + done.stderr for words in STATIC):
        return {}
    libraries = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if "not found" in line:
            raise ImageError(f"{program}: library {words[0]} is missing; install it")
        path = next((word for word in words if word.startswith("/")), None)
        if path:
            libraries[path] = Path(path).read_bytes()
    return libraries


def list_needed(program: bytes) -> Iterator[str]:
    """Yield the shared libraries that a program or library needs directly.

    Source: elf(5). The program header table locates the dynamic section and maps addresses to file offsets.
    """
    at, size, count = struct.unpack_from("<Q", program, 32)[0], *struct.unpack_from("<HH", program, 54)
    segments = [struct.unpack_from("<IIQQQQ", program, at + size * number) for number in range(count)]
    loaded = [(address, address + length, offset) for kind, _, offset, address, _, length in segments if kind == LOAD]
    for kind, _, offset, _, _, length in segments:
        if kind == DYNAMIC:
            pairs = list(struct.iter_unpack("<QQ", program[offset : offset + length]))
            pairs = pairs[: pairs.index((0, 0))] if (0, 0) in pairs else pairs
            names = next(value for tag, value in pairs if tag == NAMES)
            begin = next(names - first + place for first, last, place in loaded if first <= names < last)
            for tag, value in pairs:
                if tag == NEEDED:
                    yield program[begin + value : program.index(b"\0", begin + value)].decode()
