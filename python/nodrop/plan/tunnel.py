"""The tunnel that frames of a chain are sent in: outer headers, and who stands at its ends."""

import ipaddress
from collections.abc import Sequence

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.layer import Ethernet, Ipv4, Layer, Mpls, Udp, Vlan, Vxlan
from nodrop.plan import addressing
from nodrop.plan.chain_ends import ChainEnd

VXLAN_PORT = 4789
"""Source: RFC 7348 section 8."""
FIRST_DYNAMIC_PORT = 49152
"""Outer source ports are dynamic ones (RFC 7348 section 5)."""
FIRST_VNI, FIRST_TRANSPORT_LABEL, FIRST_SERVICE_LABEL = 1, 100, 1000
"""Of the first chain where none were written."""
LABELS = 16, 2**20 - 1
"""The labels that are not special (RFC 7274) and fit into their field."""
VNIS = 0, 2**24 - 1
LABEL_CLASS, LABEL_TTL = 1, 255
"""As NFVbench sends them."""
IP_FORWARDING_SUTS = frozenset({"router", "vnf-l3"})

Sides = tuple[Sequence[int], Sequence[int]]


def check_tunnel(config: Config, chain_count: int) -> None:
    """Raises ConfigError when what was asked of tunnels does not go together."""
    asked = config.tunnel
    if asked.kind == "none":
        return
    others = [key for key in ("vxlan", "gre") if getattr(config.traffic, key) is not None]
    others += ["mpls"] if config.traffic.mpls else []
    if others:
        raise ConfigError(
            f"tunnel.kind and traffic.{others[0]}: both asked, frames go through one tunnel; leave one out"
        )
    if asked.kind == "mpls" and config.sut in IP_FORWARDING_SUTS:
        raise ConfigError(f"tunnel.kind: mpls asked, {config.sut} forwards IP only; take another sut, or vxlan")
    if asked.kind == "vxlan":
        _check_numbers("tunnel.vnis", asked.vnis, VNIS, chain_count, unique=True)
    else:
        _check_numbers("tunnel.transport_labels", asked.transport_labels, LABELS, chain_count, unique=False)
        _check_numbers("tunnel.service_labels", asked.service_labels, LABELS, chain_count, unique=True)
    if config.sut in ("ext", "openstack"):
        _check_addresses(config)


def _check_numbers(key: str, sides: Sides | None, allowed: tuple[int, int], chain_count: int, *, unique: bool) -> None:
    for name, side in zip(("left", "right"), sides or ((), ()), strict=True):
        if sides is None:
            return
        if len(side) < chain_count:
            raise ConfigError(f"{key}: {len(side)} asked {name}, there are {chain_count} chains; write one for each")
        if wrong := [number for number in side if not allowed[0] <= number <= allowed[1]]:
            raise ConfigError(f"{key}: {wrong[0]} asked {name}; write numbers from {allowed[0]} to {allowed[1]}")
        if unique and len(set(side[:chain_count])) < chain_count:
            raise ConfigError(f"{key}: a number twice {name}, chains are told apart by it; write one for each chain")


def _check_addresses(config: Config) -> None:
    """What a SUT that is already there has to be told with. Raises ConfigError."""
    asked = config.tunnel
    needed: dict[str, object] = {"src_vteps": asked.src_vteps}
    if asked.kind == "vxlan":
        needed["dst_vtep"] = asked.dst_vtep
    elif config.neighbors.resolve is not False:
        needed["gateways"] = asked.gateways
    for key, value in needed.items():
        if value is None:
            raise ConfigError(f"tunnel.{key}: missing; {asked.kind} to a SUT that is already there needs it")


def tunnel_layers(config: Config, here: ChainEnd, there: ChainEnd) -> tuple[Layer, ...]:
    """Everything outside of the packet, from the outer Ethernet header to the inner one; nothing without a tunnel."""
    asked, chain, side = config.tunnel, here.chain, here.side
    if asked.kind == "none":
        return ()
    return (
        Ethernet(src=here.tester_mac, dst=here.next_mac),
        *tunnel_tags(config, here),
        *_tunnel(config, here, there, chain, side),
        Ethernet(
            src=addressing.inner_station_mac(here.tester_mac),
            dst=config.macs[side][chain] if config.macs else addressing.inner_station_mac(here.next_mac),
        ),
    )


def _tunnel(config: Config, here: ChainEnd, there: ChainEnd, chain: int, side: int) -> tuple[Layer, ...]:
    asked = config.tunnel
    if asked.kind == "mpls":
        transport = _number(asked.transport_labels, FIRST_TRANSPORT_LABEL, side, chain)
        service = _number(asked.service_labels, FIRST_SERVICE_LABEL, side, chain)
        return tuple(Mpls(label=label, tc=LABEL_CLASS, ttl=LABEL_TTL) for label in (transport, service))
    return (
        Ipv4(src=vtep_ip(config, here), dst=str(asked.dst_vtep or vtep_ip(config, there)), dscp=config.traffic.dscp),
        Udp(src_port=FIRST_DYNAMIC_PORT, dst_port=VXLAN_PORT),
        Vxlan(vni=_number(asked.vnis, FIRST_VNI, side, chain)),
    )


def _number(sides: Sides | None, first: int, side: int, chain: int) -> int:
    return sides[side][chain] if sides else first + chain


def tunnel_tags(config: Config, here: ChainEnd) -> tuple[Vlan, ...]:
    """VLAN tags outside of a tunnel."""
    return here.tags if config.tunnel.vlan is None else (Vlan(id=config.tunnel.vlan),)


def vtep_ip(config: Config, end: ChainEnd) -> str:
    """The tester's address at the end of a tunnel."""
    vteps = config.tunnel.src_vteps
    return str(vteps[end.side]) if vteps else str(end.networks[0][1])


def vtep_next_hop(config: Config, here: ChainEnd, there: ChainEnd) -> str:
    """Whose MAC address tunnelled frames are sent to: a gateway, or the tunnel's other end itself."""
    asked = config.tunnel
    if asked.gateways:
        return str(asked.gateways[here.side])
    return str(ipaddress.ip_address(str(asked.dst_vtep or vtep_ip(config, there))))
