"""Processes that listen at TCP ports of this network namespace."""

import socket
from pathlib import Path

LISTEN = "0A"
"""State of a listening socket (proc_net_tcp(5), <net/tcp_states.h>)."""
PROC = Path("/proc")


def list_listener_pids(port: int) -> tuple[int, ...]:
    """Return the processes with a socket that listens at this port; those of other users are visible to root only."""
    targets = {f"socket:[{inode}]" for inode in _list_inodes(port)}
    if not targets:
        return ()
    return tuple(int(each.name) for each in PROC.iterdir() if each.name.isdigit() and _has_file(each, targets))


def is_local(host: str) -> bool:
    """Return whether a host name refers to this machine by its loopback address."""
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:
        return False
    return any(str(address[0]).startswith("127.") or address[0] == "::1" for *_, address in found)


def _list_inodes(port: int) -> list[str]:
    """Return the inodes of the sockets that listen at a port."""
    inodes = []
    for table in ("tcp", "tcp6"):
        try:
            lines = (PROC / "self/net" / table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:  # a kernel without IPv6
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.append(fields[9])
    return inodes


def _has_file(process: Path, targets: set[str]) -> bool:
    """Return whether a process has one of these files open."""
    try:
        return any(str(file.readlink()) in targets for file in (process / "fd").iterdir())
    except OSError:  # it ended, or belongs to another user
        return False
