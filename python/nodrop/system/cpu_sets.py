"""Which CPUs: those of this process, and lists of them as the kernel writes them."""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator

_LISTED = re.compile(r"\s*(\d{1,6})(?:-(\d{1,6})(?::(\d{1,6})/(\d{1,6}))?)?\s*", re.ASCII)
_MOST = 1 << 14
"""Twice what Linux can be built for; a list that names more is not one."""


@contextlib.contextmanager
def pinned_to(cores: tuple[int, ...]) -> Iterator[None]:
    """Keep this process on some CPUs for a while; none named leaves it where it is."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def parse_cpu_list(text: str) -> tuple[int, ...] | None:
    """CPUs (or nodes) of a list as the kernel writes it: `0-3,8`, `0-10:2/4`; in order, each once. None: not a list.

    Source: Linux, Documentation/admin-guide/cputopology.rst, kernel-parameters.rst.
    """
    found: set[int] = set()
    for part in text.split(",") if text.strip() else ():
        match = _LISTED.fullmatch(part)
        if match is None:
            return None
        first = int(match[1])
        last = int(match[2] or first)
        used, group = int(match[3] or 1), int(match[4] or 1)
        if last < first or last >= _MOST or not 0 < used <= group:
            return None
        found.update(each for each in range(first, last + 1) if (each - first) % group < used)
    return tuple(sorted(found))


def format_cpu_list(cpus: Iterable[int]) -> str:
    """CPUs as the kernel writes them: `0-3,8`; empty for none."""
    parts: list[list[int]] = []
    for each in sorted(set(cpus)):
        if parts and each == parts[-1][-1] + 1:
            parts[-1][1:] = [each]
        else:
            parts.append([each])
    return ",".join("-".join(map(str, part)) for part in parts)
