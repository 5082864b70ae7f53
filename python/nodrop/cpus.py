"""Which CPUs this process may run on."""

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def on_cpus(cores: tuple[int, ...]) -> Iterator[None]:
    """Keep this process on some CPUs for a while; none named leaves it where it is."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
