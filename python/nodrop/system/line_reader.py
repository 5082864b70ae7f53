"""Lines from a pipe, read with a timeout."""

import os
import select
import time


class LineReader:
    """Splits the bytes that arrive on a file descriptor into lines."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._partial = b""
        self._lines: list[str] = []
        self.ended = False
        """Whether the writer has closed its end and everything it wrote has been read."""

    def fileno(self) -> int:
        """Return the descriptor, so that selectors can watch it."""
        return self._descriptor

    def read_line(self, timeout_s: float) -> str | None:
        """Return the next line without its end; None on a timeout or once the writer has closed its end."""
        deadline = time.monotonic() + timeout_s
        while not self._lines and not self.ended:
            left_s = max(0.0, deadline - time.monotonic())
            if not self._poll.poll(left_s * 1000):
                return None
            self._read()
        return self._lines.pop(0) if self._lines else None

    def drain(self, timeout_s: float) -> None:
        """Read until every process that holds the other end has closed it, or until the timeout."""
        deadline = time.monotonic() + timeout_s
        while self.read_line(max(0.0, deadline - time.monotonic())) is not None:
            pass

    def _read(self) -> None:
        chunk = os.read(self._descriptor, 65536)
        if not chunk:
            self.ended = True
        *whole, self._partial = (self._partial + chunk).split(b"\n")
        self._lines += [line.decode(errors="replace") for line in whole]
