"""A local program with the shared libraries it needs."""

import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

from nodrop.errors import ImageError

ELF_X86_64 = b"\x3e\x00"
"""Machine in an ELF header, at byte 18. Source: elf(5)."""
LOAD, DYNAMIC = 1, 2
"""Segment types."""
NEEDED, NAMES = 1, 5
"""Tags in the dynamic section: a library's name, and the string table."""
STATIC = ("statically linked", "not a dynamic executable")


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
    done = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=60, check=False)
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
