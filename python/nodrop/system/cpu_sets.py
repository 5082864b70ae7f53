"""Lists of CPUs in the kernel's format, and the CPU affinity of this process."""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator

_LISTED = re.compile(r"\s*(\d{1,6})(?:-(\d{1,6})(?::(\d{1,6})/(\d{1,6}))?)?\s*", re.ASCII)
_MOST = 1 << 14
"""Twice the CPUs that Linux can be built for; a list that names more is not a list of CPUs."""


@contextlib.contextmanager
def pinned_to(cores: tuple[int, ...]) -> Iterator[None]:
    """Bind this process to the given CPUs while the block runs; without CPUs, keep its affinity."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def parse_cpu_list(text: str) -> tuple[int, ...] | None:
    """Parse a list of CPUs or nodes in the kernel's format: `0-3,8`, `0-10:2/4`.

    Returns: the numbers in order, each once; None if the text is no such list.

    Source: Linux, Documentation/admin-guide/cputopology.rst, kernel-parameters.rst.
    """
    cpus: set[int] = set()
    for part in text.split(",") if text.strip() else ():
        match = _LISTED.fullmatch(part)
        if match is None:
            return None
        first = int(match[1])
        last = int(match[2] or first)
        used, group = int(match[3] or 1), int(match[4] or 1)
        if last < first or last >= _MOST or not 0 < used <= group:
            return None
        cpus.update(each for each in range(first, last + 1) if (each - first) % group < used)
    return tuple(sorted(cpus))


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Format CPUs as the kernel does: `0-3,8`; an empty string for no CPU."""
    parts: list[list[int]] = []
    for each in sorted(set(cpus)):
        if parts and each == parts[-1][-1] + 1:
            parts[-1][1:] = [each]
        else:
            parts.append([each])
    return ",".join("-".join(map(str, part)) for part in parts)
