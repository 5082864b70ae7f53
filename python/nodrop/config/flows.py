"""The keys under `flows`, `gateways` and `tunnel`: which addresses frames of each chain carry."""

import ipaddress
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from nodrop.model.base import Value


def _each_side(written: object) -> object:
    """One value stands for both sides' first, a list for left and right."""
    return written.split(",") if isinstance(written, str) else written


def _network(written: object) -> object:
    """`10.0.0.5/30` is the network that address is in."""
    return ipaddress.IPv4Network(written, strict=False) if isinstance(written, str) else written


Address = Annotated[ipaddress.IPv4Address, Field()]
Network = Annotated[
    ipaddress.IPv4Network,
    BeforeValidator(
        lambda written: ipaddress.IPv4Network(written, strict=False) if isinstance(written, str) else written
    ),
]
BothNetworks = Annotated[tuple[Network, Network], BeforeValidator(_each_side)]
BothAddresses = Annotated[tuple[Address, Address], BeforeValidator(_each_side)]
PortRange = int | tuple[int, int]
"""A UDP port, or the first and the last one."""


class FlowsConfig(Value):
    """How flows are told apart. With nothing written here they are told apart by source port, beyond that by source
    address, between the networks of RFC 2544."""

    ip: BothNetworks | None = None
    """Addresses behind the left and behind the right port, as `[10.0.0.0/8, 20.0.0.0/8]`; each chain has a part."""
    ip_step: Literal["random"] | Address = ipaddress.IPv4Address("0.0.0.1")
    """From one address to the next, as `0.0.0.1`, or `random`."""
    static_source: bool = True
    """Whether each chain has one source address a side, and only destinations change."""
    udp_source: PortRange | None = None
    """UDP source port, 0 to 65535, or the first and last as `[1024, 65000]`; null: 53."""
    udp_destination: PortRange | None = None
    """UDP destination port, or first and last; null: 53."""
    udp_step: Literal["random"] | Annotated[int, Field(ge=1, le=65535)] = 1
    """From one port to the next, 1 to 65535, or `random`."""
    seed: int = Field(default=1, ge=0)
    """The same seed draws the same flows where steps are random."""


class GatewaysConfig(Value):
    """Addresses of the tester and of what it asks for MAC addresses, on the left and on the right; each chain has the
    next one."""

    tester: BothAddresses | None = None
    """The tester's own, of the first chain, as `[192.168.1.100, 192.168.2.100]`; null: out of the networks it sends
    from."""
    tester_step: Address = ipaddress.IPv4Address("0.0.0.1")
    """From one chain's to the next."""
    sut: BothAddresses | None = None
    """Those of the SUT, of the first chain, as `[192.168.1.1, 192.168.2.1]`; null: as the lab has them."""
    sut_step: Address = ipaddress.IPv4Address("0.0.0.1")
    """From one chain's to the next."""


class TunnelConfig(Value):
    """Frames of each chain in a tunnel of its own."""

    kind: Literal["none", "vxlan", "mpls"] = "none"
    """`vxlan` (RFC 7348) between addresses of the tester and of the SUT, `mpls` a layer 2 VPN of two labels, or
    `none`."""
    src_vteps: BothAddresses | None = None
    """Outer source addresses of the left and of the right port."""
    dst_vtep: Address | None = None
    """Outer destination address. vxlan."""
    gateways: BothAddresses | None = None
    """Whom to ask for the outer destination MAC; null: the outer destination itself. Needed for mpls."""
    vlan: int | None = Field(default=None, ge=1, le=4094)
    """802.1Q VLAN outside of the tunnel; null: no tag."""
    vnis: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """VXLAN network of every chain on the left and on the right, as `[[5000, 5001], [6000, 6001]]`."""
    transport_labels: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Outer MPLS label of every chain, left and right; 16 to 1048575."""
    service_labels: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Inner MPLS label of every chain, left and right; 16 to 1048575."""
