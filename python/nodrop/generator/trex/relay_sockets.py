"""Sockets to an engine whose ports are relayed: each frame a datagram."""

import contextlib
import select
import shutil
import socket
import tempfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

PENDING_MAX = 4096
"""Frames that wait for the engine; older ones are forgotten."""
REFILL_S = 0.001
"""How long to wait for the engine to go on: its socket holds but a few frames."""
FRAME_MAX = 9216


class RelaySocket:
    """One port of the engine."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        self._socket.setblocking(False)
        self._pending: deque[bytes] = deque(maxlen=PENDING_MAX)

    def receive(self, count_max: int) -> list[bytes]:
        """Frames that the engine sent, without FCS."""
        frames: list[bytes] = []
        while len(frames) < count_max and select.select([self._socket], [], [], REFILL_S if frames else 0)[0]:
            frames.append(self._socket.recv(FRAME_MAX))
        return frames

    def give(self, frame: bytes) -> None:
        """A frame for the engine to receive, without FCS; goes when it next has room."""
        self._pending.append(frame)

    def flush(self) -> int:
        """Hand over what the engine has room for; gives how many frames."""
        count = 0
        with contextlib.suppress(OSError):
            while self._pending:
                self._socket.sendto(self._pending[0], f"{self.path}.engine")
                self._pending.popleft()
                count += 1
        return count

    def close(self) -> None:
        """No more frames."""
        self._socket.close()


class RelaySockets:
    """A line for each port, as a context manager; their files are in a directory of their own."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lines: tuple[RelaySocket, ...] = ()
        self._directory = Path()

    def __enter__(self) -> Self:
        self._directory = Path(tempfile.mkdtemp(prefix="nodrop-relay-"))
        self._lines = tuple(RelaySocket(str(self._directory / str(port))) for port in range(self._count))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for line in self._lines:
            line.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def __getitem__(self, port: int) -> RelaySocket:
        return self._lines[port]

    def __iter__(self) -> Iterator[RelaySocket]:
        return iter(self._lines)
