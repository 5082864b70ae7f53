"""Frames that the kernel has received and not yet processed."""

import contextlib
from pathlib import Path

SOFTNET_PATH = Path("/proc/net/softnet_stat")
WAITING_COLUMN = 11
"""Frames in the backlog of a CPU, hexadecimal, since Linux 5.10 (net/core/net-procfs.c, softnet_seq_show)."""


def has_receive_backlog(path: Path = SOFTNET_PATH) -> bool:
    """Return whether frames wait in the receive backlog of a CPU, in any namespace; False if it is unknown."""
    with contextlib.suppress(OSError, ValueError):
        rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
        return any(int(row[WAITING_COLUMN], 16) for row in rows if len(row) > WAITING_COLUMN)
    return False
