"""A veth pair in a network namespace that ends with this process, and the kernel's count of frames sent on it."""

import time
from collections.abc import Collection
from pathlib import Path

from pyroute2 import IPRoute

from nodrop.stage import links, namespace

SEND_PORT = "send0"
RECEIVE_PORT = "receive0"

_SENT_COLUMN = 9
"""Column of transmitted packets in /proc/net/dev, after the name: eight columns of reception, then bytes, packets."""


def move_into_private_namespace() -> str:
    """Move this process into a network namespace that contains only the veth pair; return the privilege used.

    Both ends are in one namespace, because one nodrop-engine, and one way to start tools, uses both. The namespace is
    invisible to the rest of the machine, and removed when its last process exits.
    """
    privilege = namespace.unshare_lab()
    links.disable_ipv6()
    with IPRoute() as netlink:
        netlink.link("add", ifname=SEND_PORT, kind="veth", peer={"ifname": RECEIVE_PORT})
    links.bring_up((SEND_PORT, RECEIVE_PORT))
    return privilege


def read_sent(ports: Collection[str] = (SEND_PORT,)) -> tuple[float, int]:
    """Return the time of the query and the frames sent by these ports until then, by the kernel's counters."""
    count = 0
    for line in Path("/proc/self/net/dev").read_text().splitlines():
        name, _, counters = line.partition(":")
        if name.strip() in ports:
            count += int(counters.split()[_SENT_COLUMN])
    return time.monotonic(), count
