"""Ctrl-C and SIGTERM: the first ends what goes on, further ones do not disturb the clearing up."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """The signal that came, if one did."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    @property
    def exit_code(self) -> int:
        """128 + the signal's number, as every shell expects: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.signal or signal.SIGINT)

    def arrive(self, number: int, _frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt for the first signal only."""
        if self.signal is None:
            self.signal = signal.Signals(number)
            raise KeyboardInterrupt(f"stopped by {self.signal.name}")


@contextlib.contextmanager
def interruptible() -> Iterator[Interruption]:
    """Turn both signals into one KeyboardInterrupt, until the block is left."""
    interruption = Interruption()
    before = {number: signal.signal(number, interruption.arrive) for number in ENDING_SIGNALS}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
