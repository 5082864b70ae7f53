"""The tunnel of a chain's frames: outer headers and endpoints."""

import ipaddress
from collections.abc import Sequence

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.layer import Ethernet, Ipv4, Layer, Mpls, Udp, Vlan, Vxlan
from nodrop.plan import addressing
from nodrop.plan.chain_ends import ChainEnd
from nodrop.units import format_count

VXLAN_PORT = 4789
"""Source: RFC 7348 section 8."""
FIRST_DYNAMIC_PORT = 49152
"""Outer source ports are dynamic ones (RFC 7348 section 5)."""
FIRST_VNI, FIRST_TRANSPORT_LABEL, FIRST_SERVICE_LABEL = 1, 100, 1000
"""Defaults of the first chain."""
LABELS = 16, 2**20 - 1
"""Labels that are not special-purpose (RFC 7274) and fit into their field."""
VNIS = 0, 2**24 - 1
LABEL_CLASS, LABEL_TTL = 1, 255
"""As in NFVbench."""
IP_FORWARDING_SUTS = frozenset({"router", "vnf-l3"})

Sides = tuple[Sequence[int], Sequence[int]]


def check_tunnel(config: Config, chain_count: int) -> None:
    """Raise ConfigError if the keys of tunnels contradict each other."""
    section = config.tunnel
    if section.kind == "none":
        return
    conflicting = [key for key in ("vxlan", "gre") if getattr(config.traffic, key) is not None]
    conflicting += ["mpls"] if config.traffic.mpls else []
    if conflicting:
        raise ConfigError(f"tunnel.kind and traffic.{conflicting[0]}: frames can have one tunnel; remove one of them")
    if section.kind == "mpls" and config.sut in IP_FORWARDING_SUTS:
        raise ConfigError(f"tunnel.kind: {config.sut} forwards IP only (mpls); use another sut, or vxlan")
    if section.kind == "vxlan":
        _check_numbers("tunnel.vnis", section.vnis, VNIS, chain_count, unique=True)
    else:
        _check_numbers("tunnel.transport_labels", section.transport_labels, LABELS, chain_count, unique=False)
        _check_numbers("tunnel.service_labels", section.service_labels, LABELS, chain_count, unique=True)
    if config.sut in ("ext", "openstack"):
        _check_addresses(config)


def _check_numbers(key: str, sides: Sides | None, allowed: tuple[int, int], chain_count: int, *, unique: bool) -> None:
    for name, side in zip(("left", "right"), sides or ((), ()), strict=True):
        if sides is None:
            return
        if len(side) < chain_count:
            raise ConfigError(
                f"{key}: {format_count(len(side), 'value')} on the {name} for {format_count(chain_count, 'chain')}; "
                "write one for each"
            )
        if invalid := [number for number in side if not allowed[0] <= number <= allowed[1]]:
            raise ConfigError(
                f"{key}: out of range on the {name} ({invalid[0]}); write numbers from {allowed[0]} to {allowed[1]}"
            )
        if unique and len(set(side[:chain_count])) < chain_count:
            raise ConfigError(
                f"{key}: duplicate number on the {name}, by which chains are distinguished; write a different one for "
                "each chain"
            )


def _check_addresses(config: Config) -> None:
    """Raise ConfigError unless all addresses for a tunnel to an external SUT are configured."""
    section = config.tunnel
    required: dict[str, object] = {"src_vteps": section.src_vteps}
    if section.kind == "vxlan":
        required["dst_vtep"] = section.dst_vtep
    elif config.neighbors.resolve is not False:
        required["gateways"] = section.gateways
    for key, value in required.items():
        if value is None:
            raise ConfigError(
                f"tunnel.{key}: missing, {section.kind} to an external SUT requires it; write tunnel.{key}"
            )


def build_tunnel_layers(config: Config, near: ChainEnd, far: ChainEnd) -> tuple[Layer, ...]:
    """Return all headers outside of the packet, from the outer to the inner Ethernet header; empty without a tunnel."""
    section, chain, side = config.tunnel, near.chain, near.side
    if section.kind == "none":
        return ()
    return (
        Ethernet(src=near.tester_mac, dst=near.next_mac),
        *build_tunnel_tags(config, near),
        *_build_tunnel(config, near, far, chain, side),
        Ethernet(
            src=addressing.build_inner_station_mac(near.tester_mac),
            dst=config.macs[side][chain] if config.macs else addressing.build_inner_station_mac(near.next_mac),
        ),
    )


def _build_tunnel(config: Config, near: ChainEnd, far: ChainEnd, chain: int, side: int) -> tuple[Layer, ...]:
    section = config.tunnel
    if section.kind == "mpls":
        transport = _get_number(section.transport_labels, FIRST_TRANSPORT_LABEL, side, chain)
        service = _get_number(section.service_labels, FIRST_SERVICE_LABEL, side, chain)
        return tuple(Mpls(label=label, tc=LABEL_CLASS, ttl=LABEL_TTL) for label in (transport, service))
    return (
        Ipv4(
            src=build_vtep_ip(config, near),
            dst=str(section.dst_vtep or build_vtep_ip(config, far)),
            dscp=config.traffic.dscp,
        ),
        Udp(src_port=FIRST_DYNAMIC_PORT, dst_port=VXLAN_PORT),
        Vxlan(vni=_get_number(section.vnis, FIRST_VNI, side, chain)),
    )


def _get_number(sides: Sides | None, first: int, side: int, chain: int) -> int:
    return sides[side][chain] if sides else first + chain


def build_tunnel_tags(config: Config, near: ChainEnd) -> tuple[Vlan, ...]:
    """Return the VLAN tags outside of a tunnel."""
    return near.tags if config.tunnel.vlan is None else (Vlan(id=config.tunnel.vlan),)


def build_vtep_ip(config: Config, end: ChainEnd) -> str:
    """Return the tester's address at the end of a tunnel."""
    vteps = config.tunnel.src_vteps
    return str(vteps[end.side]) if vteps else str(end.networks[0][1])


def build_vtep_next_hop(config: Config, near: ChainEnd, far: ChainEnd) -> str:
    """Return the address that resolves to the destination MAC of tunneled frames: a gateway, or the tunnel's other
    end."""
    section = config.tunnel
    if section.gateways:
        return str(section.gateways[near.side])
    return str(ipaddress.ip_address(str(section.dst_vtep or build_vtep_ip(config, far))))
