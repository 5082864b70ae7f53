"""The sections `flows`, `gateways` and `tunnel`: addresses in the frames of each chain."""

import ipaddress
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from nodrop.config.per_side import split_sides
from nodrop.model.base import Value


def _parse_address(value: object) -> ipaddress.IPv4Address:
    """Parse an IPv4 address. Raises ValueError."""
    if isinstance(value, ipaddress.IPv4Address):
        return value
    try:
        return ipaddress.IPv4Address(value.strip() if isinstance(value, str) else "")
    except ValueError:
        raise ValueError(f"{value!r} is not an IPv4 address; write for example 192.168.1.1") from None


def _parse_network(value: object) -> ipaddress.IPv4Network:
    """Parse the network of an address: `10.0.0.5/30` is 10.0.0.4/30. Raises ValueError."""
    if isinstance(value, ipaddress.IPv4Network):
        return value
    try:
        return ipaddress.IPv4Network(value.strip() if isinstance(value, str) else "", strict=False)
    except ValueError:
        raise ValueError(f"{value!r} is not an IPv4 network; write for example 10.0.0.0/8") from None


def _parse_step(value: object) -> object:
    """Parse `0.0.0.1` or `random`. Raises ValueError."""
    if value == "random":
        return value
    try:
        return _parse_address(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a step; write for example 0.0.0.1, or random") from None


def _parse_ports(value: object) -> object:
    """Parse a UDP port, or the first and the last port. Raises ValueError."""
    items = value if isinstance(value, (list, tuple)) else str(value).split(",")
    ports = [int(str(port)) if str(port).strip().isdecimal() else -1 for port in items]
    if len(ports) not in (1, 2) or not all(0 <= port <= 65535 for port in ports) or ports[0] > ports[-1]:
        raise ValueError(f"{value!r} is not a UDP port or range; write 0 to 65535, e.g. 53 or [1024, 65000]")
    return ports[0] if len(ports) == 1 else tuple(ports)


Address = Annotated[ipaddress.IPv4Address, BeforeValidator(_parse_address, json_schema_input_type=str)]
Network = Annotated[ipaddress.IPv4Network, BeforeValidator(_parse_network, json_schema_input_type=str)]
Step = Annotated[Literal["random"] | ipaddress.IPv4Address, BeforeValidator(_parse_step, json_schema_input_type=str)]
BothNetworks = Annotated[
    tuple[Network, Network], BeforeValidator(split_sides, json_schema_input_type=str | tuple[str, str])
]
BothAddresses = Annotated[
    tuple[Address, Address], BeforeValidator(split_sides, json_schema_input_type=str | tuple[str, str])
]
PortRange = Annotated[
    int | tuple[int, int], BeforeValidator(_parse_ports, json_schema_input_type=int | str | tuple[int, int])
]
"""A UDP port, or the first and the last port."""


class FlowsConfig(Value):
    """The fields that distinguish flows. By default, flows differ in the source port, many flows also in the source
    address, with addresses of the networks of RFC 2544."""

    ip: BothNetworks | None = None
    """Networks behind the left and the right port, e.g. `[10.0.0.0/8, 20.0.0.0/8]`, divided among the chains; null:
    networks of RFC 2544."""
    ip_step: Step = ipaddress.IPv4Address("0.0.0.1")
    """Increment from one address to the next, e.g. `0.0.0.1`, or `random`."""
    static_source: bool = True
    """Use a single source address for each chain and side, and vary destinations only."""
    udp_source: PortRange | None = None
    """UDP source port, 0 to 65535, or the first and the last, e.g. `[1024, 65000]`; null: 53."""
    udp_destination: PortRange | None = None
    """UDP destination port, or the first and the last; null: 53."""
    udp_step: Literal["random"] | Annotated[int, Field(ge=1, le=65535)] = 1
    """Increment from one port to the next, 1 to 65535, or `random`."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Seed of random steps; equal seeds draw equal flows."""


class GatewaysConfig(Value):
    """Addresses of the tester and of its next hops, left and right; each chain has the next address."""

    tester: BothAddresses | None = None
    """The tester's addresses for the first chain, e.g. `[192.168.1.100, 192.168.2.100]`; null: from the networks of its
    traffic."""
    tester_step: Address = ipaddress.IPv4Address("0.0.0.1")
    """Increment of the tester's address from one chain to the next."""
    sut: BothAddresses | None = None
    """The SUT's addresses for the first chain, e.g. `[192.168.1.1, 192.168.2.1]`; null: as in the lab."""
    sut_step: Address = ipaddress.IPv4Address("0.0.0.1")
    """Increment of the SUT's address from one chain to the next."""


class TunnelConfig(Value):
    """A tunnel for the frames of each chain."""

    kind: Literal["none", "vxlan", "mpls"] = "none"
    """Tunnel type: `vxlan` (RFC 7348) between addresses of the tester and the SUT, `mpls` for a layer 2 VPN of two
    labels, or `none`."""
    src_vteps: BothAddresses | None = None
    """Outer source addresses of the left and the right port."""
    dst_vtep: Address | None = None
    """Outer destination address, for `vxlan`."""
    gateways: BothAddresses | None = None
    """Next hops that resolve to the outer destination MAC address; null: the outer destination itself. Required for
    `mpls`."""
    vlan: int | None = Field(default=None, ge=1, le=4094)
    """Outer 802.1Q VLAN, 1 to 4094; null: no tag."""
    vnis: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """VXLAN network identifiers of every chain, left and right, e.g. `[[5000, 5001], [6000, 6001]]`."""
    transport_labels: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Outer MPLS label of every chain, left and right; 16 to 1048575."""
    service_labels: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Inner MPLS label of every chain, left and right; 16 to 1048575."""
