"""SIGINT and SIGTERM: turned into one KeyboardInterrupt, or deferred during cleanup."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)
Handler = Callable[[int, FrameType | None], object] | int | None


class Interruption:
    """The signal that arrived, if any."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    @property
    def exit_code(self) -> int:
        """128 + signal number, the shell convention: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.signal or signal.SIGINT)

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt for the first signal only, so that later ones cannot disturb the cleanup."""
        if self.signal is None:
            self.signal = signal.Signals(number)
            raise KeyboardInterrupt(f"stopped by {self.signal.name}")


@contextlib.contextmanager
def interruptible() -> Iterator[Interruption]:
    """Turn both signals into one KeyboardInterrupt for the duration of the block."""
    interruption = Interruption()
    handlers_before = _install(interruption.handle)
    try:
        yield interruption
    finally:
        _restore(handlers_before)


class DeferredSignals:
    """Defers both signals from `defer` until `release`, which raises the first one that arrived.

    A signal mask would not do: another thread may take the signal, and Python still runs the handler in the main
    thread.
    """

    def __init__(self) -> None:
        self._handlers_before: dict[int, Handler] = {}
        self._arrived: list[int] = []

    def defer(self) -> None:
        """Start deferring; no effect if already deferring or outside the main thread."""
        if not self._handlers_before and threading.current_thread() is threading.main_thread():
            self._handlers_before = _install(lambda number, _frame: self._arrived.append(number))

    def release(self) -> None:
        """Restore the handlers and raise the first deferred signal again."""
        _restore(self._handlers_before)
        if self._arrived:
            signal.raise_signal(self._arrived[0])


def _install(handler: Callable[[int, FrameType | None], object]) -> dict[int, Handler]:
    """Set the handler of both signals; returns the previous ones."""
    return {number: signal.signal(number, handler) for number in ENDING_SIGNALS}


def _restore(handlers: dict[int, Handler]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)
