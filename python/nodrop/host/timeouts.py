"""Asking what may never answer: a daemon, a driver whose card has died."""

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def call_with_timeout(seconds: float, ask: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """What is answered in that time, else something else; who is still waiting then is left behind, and ends with us.

    What is asked must not raise.
    """
    answers: list[T] = []
    asking = threading.Thread(target=lambda: answers.append(ask()), name="asking", daemon=True)
    asking.start()
    asking.join(seconds)
    return answers[0] if answers else otherwise()
