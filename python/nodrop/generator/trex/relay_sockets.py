"""Unix datagram sockets of an engine with relayed ports, a frame per datagram."""

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
"""Frames waiting for the engine; older ones are dropped."""
REFILL_S = 0.001
"""Time to wait for further frames: the engine's socket buffer holds only a few."""
FRAME_MAX = 9216


class RelaySocket:
    """The socket of one port."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        self._socket.setblocking(False)
        self._pending: deque[bytes] = deque(maxlen=PENDING_MAX)

    def receive(self, count_max: int) -> list[bytes]:
        """Return the frames that the engine sent, without FCS."""
        frames: list[bytes] = []
        while len(frames) < count_max and select.select([self._socket], [], [], REFILL_S if frames else 0)[0]:
            frames.append(self._socket.recv(FRAME_MAX))
        return frames

    def enqueue(self, frame: bytes) -> None:
        """Queue a frame for the engine to receive, without FCS."""
        self._pending.append(frame)

    def flush(self) -> int:
        """Send queued frames while the engine accepts them; return how many."""
        count = 0
        with contextlib.suppress(OSError):
            while self._pending:
                self._socket.sendto(self._pending[0], f"{self.path}.engine")
                self._pending.popleft()
                count += 1
        return count

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class RelaySockets:
    """A socket for each port, as a context manager, in a temporary directory."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._sockets: tuple[RelaySocket, ...] = ()
        self._directory = Path()

    def __enter__(self) -> Self:
        self._directory = Path(tempfile.mkdtemp(prefix="nodrop-relay-"))
        self._sockets = tuple(RelaySocket(str(self._directory / str(port))) for port in range(self._count))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for relay_socket in self._sockets:
            relay_socket.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def __getitem__(self, port: int) -> RelaySocket:
        return self._sockets[port]

    def __iter__(self) -> Iterator[RelaySocket]:
        return iter(self._sockets)
