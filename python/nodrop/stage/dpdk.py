"""DPDK on this machine: support in the engine, the library to build it with, huge pages."""

import json
import subprocess
from pathlib import Path

from nodrop.errors import GeneratorError
from nodrop.stage.host_facts import read_text
from nodrop.system.native_binaries import find_binary

HUGE_PAGES = Path("/sys/kernel/mm/hugepages")
TIMEOUT_S = 5.0


def describe_dpdk() -> str:
    """Describe DPDK support in a few words."""
    built = "built in" if has_dpdk() else "not built in"
    return f"{built}; {describe_library()}; {describe_huge_pages()}"


def has_dpdk() -> bool:
    """Return whether nodrop-engine was built with DPDK; False if it does not run."""
    try:
        program = find_binary("nodrop-engine", GeneratorError)
        process = subprocess.run(
            [program],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT_S,
            check=True,
        )
        return bool(json.loads(process.stdout.splitlines()[0]).get("dpdk"))
    except (GeneratorError, OSError, subprocess.SubprocessError, ValueError, IndexError):
        return False


def describe_library() -> str:
    """Return the version of the libdpdk that pkg-config finds, which is the one to build with."""
    try:
        requested = ["pkg-config", "--modversion", "libdpdk"]
        process = subprocess.run(
            requested, capture_output=True, encoding="utf-8", errors="replace", timeout=TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return "no libdpdk to build with"
    return f"libdpdk {process.stdout.strip()}"


def describe_huge_pages(directory: Path = HUGE_PAGES) -> str:
    """Return the reserved huge pages by size."""
    descriptions = []
    for size in sorted(directory.glob("hugepages-*")):
        reserved = read_text(size / "nr_hugepages")
        if reserved not in ("", "0"):
            kib = int(size.name.removeprefix("hugepages-").removesuffix("kB"))
            descriptions.append(
                f"{read_text(size / 'free_hugepages')} of {reserved} huge pages of {kib // 1024} MiB free"
            )
    return ", ".join(descriptions) or "no huge pages (needed for network cards only)"
