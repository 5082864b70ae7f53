"""The keys under `flows`, `gateways` and `tunnel`: which addresses frames of each chain carry."""

import ipaddress
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from nodrop.model.base import Value


def _each_side(written: object) -> object:
    """Left and right, as a list or as `a,b`."""
    return written.split(",") if isinstance(written, str) else written


def _address(written: object) -> ipaddress.IPv4Address:
    """An IPv4 address. Raises ValueError."""
    if isinstance(written, ipaddress.IPv4Address):
        return written
    try:
        return ipaddress.IPv4Address(written.strip() if isinstance(written, str) else "")
    except ValueError:
        raise ValueError(f"{written!r} is not an IPv4 address; write for example 192.168.1.1") from None


def _network(written: object) -> ipaddress.IPv4Network:
    """The network an address is in, of `10.0.0.5/30` 10.0.0.4/30. Raises ValueError."""
    if isinstance(written, ipaddress.IPv4Network):
        return written
    try:
        return ipaddress.IPv4Network(written.strip() if isinstance(written, str) else "", strict=False)
    except ValueError:
        raise ValueError(f"{written!r} is not an IPv4 network; write for example 10.0.0.0/8") from None


def _step(written: object) -> object:
    """`0.0.0.1`, or `random`. Raises ValueError."""
    if written == "random":
        return written
    try:
        return _address(written)
    except ValueError:
        raise ValueError(f"{written!r} is not a step; write for example 0.0.0.1, or random") from None


def _ports(written: object) -> object:
    """A UDP port, or the first and the last. Raises ValueError."""
    listed = written if isinstance(written, (list, tuple)) else str(written).split(",")
    ports = [int(str(port)) if str(port).strip().isdecimal() else -1 for port in listed]
    if len(ports) not in (1, 2) or not all(0 <= port <= 65535 for port in ports) or ports[0] > ports[-1]:
        raise ValueError(f"{written!r} is not a UDP port or range; write 0 to 65535, as 53 or [1024, 65000]")
    return ports[0] if len(ports) == 1 else tuple(ports)


Address = Annotated[ipaddress.IPv4Address, BeforeValidator(_address, json_schema_input_type=str)]
Network = Annotated[ipaddress.IPv4Network, BeforeValidator(_network, json_schema_input_type=str)]
Step = Annotated[Literal["random"] | ipaddress.IPv4Address, BeforeValidator(_step, json_schema_input_type=str)]
BothNetworks = Annotated[
    tuple[Network, Network], BeforeValidator(_each_side, json_schema_input_type=str | tuple[str, str])
]
BothAddresses = Annotated[
    tuple[Address, Address], BeforeValidator(_each_side, json_schema_input_type=str | tuple[str, str])
]
PortRange = Annotated[
    int | tuple[int, int], BeforeValidator(_ports, json_schema_input_type=int | str | tuple[int, int])
]
"""A UDP port, or the first and the last one."""


class FlowsConfig(Value):
    """How flows are told apart. With nothing written here they are told apart by source port, beyond that by source
    address, between the networks of RFC 2544."""

    ip: BothNetworks | None = None
    """Addresses behind the left and behind the right port, as `[10.0.0.0/8, 20.0.0.0/8]`; each chain has a part."""
    ip_step: Step = ipaddress.IPv4Address("0.0.0.1")
    """From one address to the next, as `0.0.0.1`, or `random`."""
    static_source: bool = True
    """Whether each chain has one source address a side, and only destinations change."""
    udp_source: PortRange | None = None
    """UDP source port, 0 to 65535, or the first and last as `[1024, 65000]`; null: 53."""
    udp_destination: PortRange | None = None
    """UDP destination port, or first and last; null: 53."""
    udp_step: Literal["random"] | Annotated[int, Field(ge=1, le=65535)] = 1
    """From one port to the next, 1 to 65535, or `random`."""
    seed: int = Field(default=1, ge=0, lt=2**63)
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
