"""The clock of trials on a TRex server; the module `time` is the real one."""

from typing import Protocol


class Clock(Protocol):
    """Monotonic time in seconds."""

    def monotonic(self) -> float:
        """Return the time since an arbitrary moment."""

    def sleep(self, seconds: float, /) -> None:
        """Return after this time."""
