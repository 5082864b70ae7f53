"""Time limits for calls that may block forever: a daemon, a driver of a failed card."""

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def call_with_timeout(seconds: float, query: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """Return the result of a call, or of `otherwise` after this time; the blocked daemon thread is abandoned.

    The call must not raise.
    """
    answers: list[T] = []
    asking = threading.Thread(target=lambda: answers.append(query()), name="asking", daemon=True)
    asking.start()
    asking.join(seconds)
    return answers[0] if answers else otherwise()
