"""What a loopback VM is told when it starts: the file /etc/nfvbenchvm.conf, in the words of NFVbench's images.

The images of NFVbench give it to a shell all on one line, so it has neither comments nor spaces. It is written as a
literal block, which images without a reader of YAML can find as well.

Source: nfvbenchvm/README.rst in NFVbench's repository; cloud-init, module write_files.
"""

import hashlib
import ipaddress
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.model.cloud import CloudServer

CONF = "/etc/nfvbenchvm.conf"
UNKNOWN_MAC = "00:00:00:00:00:00"
"""A neighbour that has to be asked for, by ARP."""


class GuestFacts(NamedTuple):
    """What only the cloud could say about a VM."""

    macs: tuple[str, ...]
    """Of its ports, in the plan's order."""
    neighbors: tuple[str | None, str | None]
    """MACs of those on its left and on its right: VMs of its chain, or the tester; None: not known."""
    management: tuple[str, str | None, str | None] | None = None
    """MAC, address with prefix length and gateway of its port of management."""


def user_data(server: CloudServer, guest: GuestFacts, *, queue_count: int = 1, mbuf_count: int | None = None) -> str:
    """A VM's user data, as cloud-config.

    Args:
        server: the VM.
        guest: what the cloud said of it.
        queue_count: queues of each of its interfaces.
        mbuf_count: buffers that VPP is given; None: as many as it takes.
    """
    lines = dict(_lines(server, guest))
    lines["VIF_MQ_SIZE"] = str(queue_count)
    if mbuf_count:
        lines["NUM_MBUFS"] = str(mbuf_count)
    content = "".join(f"    {key}={value}\n" for key, value in lines.items())
    return f"#cloud-config\nwrite_files:\n- path: {CONF}\n  permissions: '0644'\n  content: |\n{content}"


def user_data_digest(text: str) -> str:
    """By which a VM is known to have been told the same."""
    return hashlib.sha256(text.encode()).hexdigest()


def _lines(server: CloudServer, guest: GuestFacts) -> Iterator[tuple[str, str]]:
    yield "FORWARDER", server.forwarder
    for side in (0, 1):
        number = side + 1
        yield f"INTF_MAC{number}", guest.macs[side]
        yield f"TG_MAC{number}", guest.neighbors[side] or UNKNOWN_MAC
        if server.addresses:
            own = ipaddress.ip_interface(server.addresses[side])
            routes = [route for route in server.routes if ipaddress.ip_address(route.via) in own.network]
            yield f"VNF_GATEWAY{number}_CIDR", str(own)
            yield f"TG_NET{number}", ",".join(route.prefix for route in routes)
            yield f"TG_GATEWAY{number}_IP", routes[0].via if routes else ""
    if guest.management:
        mac, cidr, gateway = guest.management
        yield "INTF_MAC_MGMT", mac
        yield "INTF_MGMT_CIDR", cidr or ""
        yield "INTF_MGMT_IP_GW", gateway or ""


def neighbors(
    servers: Sequence[CloudServer], index: int, macs: Sequence[tuple[str, ...]], ends: tuple[str | None, str | None]
) -> tuple[str | None, str | None]:
    """Whom a VM sends to on its left and on its right.

    Args:
        servers: the VMs of a chain, from left to right.
        index: which of them.
        macs: of their ports.
        ends: of whoever is on the left and on the right of the chain.
    """
    left = macs[index - 1][1] if index else ends[0]
    right = macs[index + 1][0] if index + 1 < len(servers) else ends[1]
    return left, right
