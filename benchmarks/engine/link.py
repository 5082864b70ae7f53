"""The veth pair, in a network namespace that dies with this process, and the kernel's count of what was sent on it."""

import time
from collections.abc import Collection
from pathlib import Path

from pyroute2 import IPRoute

from nodrop.stage import links, namespace

SEND_PORT = "send0"
RECEIVE_PORT = "receive0"

_SENT_COLUMN = 9
"""Of /proc/net/dev, after the name: eight columns of reception, then bytes and packets of transmission."""


def move_into_private_namespace() -> str:
    """Leave this machine's network for a namespace that holds nothing but the pair; returns the rights it took.

    Both ends are in one namespace, because one nodrop-engine and one way to start tools serve them both. Nothing
    outside sees them, and they are gone when the last process in there is.
    """
    privilege = namespace.unshare_lab()
    links.disable_ipv6()
    with IPRoute() as netlink:
        netlink.link("add", ifname=SEND_PORT, kind="veth", peer={"ifname": RECEIVE_PORT})
    links.bring_up((SEND_PORT, RECEIVE_PORT))
    return privilege


def sent(ports: Collection[str] = (SEND_PORT,)) -> tuple[float, int]:
    """The time of the query, and the frames that have left these ports, as the kernel counts them."""
    count = 0
    for line in Path("/proc/self/net/dev").read_text().splitlines():
        name, _, counters = line.partition(":")
        if name.strip() in ports:
            count += int(counters.split()[_SENT_COLUMN])
    return time.monotonic(), count
