"""A program of this machine, with what it needs to run elsewhere."""

import subprocess
from pathlib import Path

from nodrop.errors import ImageError

ELF_X86_64 = b"\x3e\x00"
"""Machine in an ELF header, at byte 18. Source: elf(5)."""
STATIC = ("statically linked", "not a dynamic executable")


def libraries(program: Path) -> dict[str, bytes]:
    """Shared libraries of a program by their paths on this machine, its loader among them; none for a static one.

    Raises: ImageError where it is no program for x86-64, or lacks a library.
    """
    try:
        head = program.read_bytes()[:20]
    except OSError as error:
        raise ImageError(f"{program}: nodrop-vnf asked, it cannot be read: {error.strerror}") from error
    if head[:4] != b"\x7fELF" or head[18:20] != ELF_X86_64:
        raise ImageError(f"{program}: a program for x86-64 asked, it is none; name one: --vnf FILE")
    done = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=60, check=False)
    if any(words in done.stdout + done.stderr for words in STATIC):
        return {}
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if "not found" in line:
            raise ImageError(f"{program}: {words[0]} asked, this machine has no such library; install it")
        path = next((word for word in words if word.startswith("/")), None)
        if path:
            found[path] = Path(path).read_bytes()
    return found
