"""Waiting for a condition, without an assertion about the time that passes."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = float(os.environ.get("NODROP_TEST_PATIENCE", "1"))
"""Factor of all time limits of the tests: a machine that runs several suites at a time is slow."""
MAX_S = 60.0 * PATIENCE
INTERVAL_S = 0.02

Found = TypeVar("Found")


def stretch(limit_s: float) -> float:
    """Return a time limit of a quiet machine for this one."""
    return limit_s * PATIENCE


def await_true(condition: Callable[[], Found], why: str | Callable[[], str]) -> Found:
    """Return the value of a condition as soon as it is true; fail with what was awaited after a minute."""
    end_s = time.monotonic() + MAX_S
    while not (found := condition()):
        assert time.monotonic() < end_s, f"not within {MAX_S:.0f} s: {why if isinstance(why, str) else why()}"
        time.sleep(INTERVAL_S)
    return found
