"""Configuration of a loopback VM at boot: the file /etc/nfvbenchvm.conf with the keys of NFVbench's images.

NFVbench's images pass the file to a shell on one line, so it contains neither comments nor spaces. It is a YAML
literal block, which images without a YAML parser can find as well.

Source: nfvbenchvm/README.rst in NFVbench's repository; cloud-init, module write_files.
"""

import hashlib
import ipaddress
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.model.cloud import CloudServer

CONF = "/etc/nfvbenchvm.conf"
UNKNOWN_MAC = "00:00:00:00:00:00"
"""MAC of a neighbor that the VM must resolve by ARP."""


class GuestFacts(NamedTuple):
    """Values of a VM that only the cloud knows."""

    macs: tuple[str, ...]
    """MACs of its ports, in the plan's order."""
    neighbors: tuple[str | None, str | None]
    """MACs of its left and right neighbors: VMs of its chain, or the tester; None: not known."""
    management: tuple[str, str | None, str | None] | None = None
    """MAC, address with prefix length and gateway of its management port."""


def build_user_data(
    server: CloudServer, guest: GuestFacts, *, queue_count: int = 1, mbuf_count: int | None = None
) -> str:
    """Return a VM's user data as cloud-config.

    Args:
        server: the VM.
        guest: its values from the cloud.
        queue_count: queues of each of its interfaces.
        mbuf_count: buffers of VPP; None: VPP's default.
    """
    lines = dict(_list_lines(server, guest))
    lines["VIF_MQ_SIZE"] = str(queue_count)
    if mbuf_count:
        lines["NUM_MBUFS"] = str(mbuf_count)
    content = "".join(f"    {key}={value}\n" for key, value in lines.items())
    return f"#cloud-config\nwrite_files:\n- path: {CONF}\n  permissions: '0644'\n  content: |\n{content}"


def compute_user_data_digest(text: str) -> str:
    """Return the digest by which a VM with the same user data is recognized."""
    return hashlib.sha256(text.encode()).hexdigest()


def _list_lines(server: CloudServer, guest: GuestFacts) -> Iterator[tuple[str, str]]:
    yield "FORWARDER", server.forwarder
    for side in (0, 1):
        number = side + 1
        yield f"INTF_MAC{number}", guest.macs[side]
        yield f"TG_MAC{number}", guest.neighbors[side] or UNKNOWN_MAC
        if server.addresses:
            address = ipaddress.ip_interface(server.addresses[side])
            routes = [route for route in server.routes if ipaddress.ip_address(route.via) in address.network]
            yield f"VNF_GATEWAY{number}_CIDR", str(address)
            yield f"TG_NET{number}", ",".join(route.prefix for route in routes)
            yield f"TG_GATEWAY{number}_IP", routes[0].via if routes else ""
    if guest.management:
        mac, cidr, gateway = guest.management
        yield "INTF_MAC_MGMT", mac
        yield "INTF_MGMT_CIDR", cidr or ""
        yield "INTF_MGMT_IP_GW", gateway or ""


def list_neighbors(
    servers: Sequence[CloudServer], index: int, macs: Sequence[tuple[str, ...]], ends: tuple[str | None, str | None]
) -> tuple[str | None, str | None]:
    """Return the MACs of a VM's left and right neighbors.

    Args:
        servers: the VMs of a chain, from left to right.
        index: position of the VM.
        macs: MACs of their ports.
        ends: MACs of the neighbors left and right of the chain.
    """
    left = macs[index - 1][1] if index else ends[0]
    right = macs[index + 1][0] if index + 1 < len(servers) else ends[1]
    return left, right
