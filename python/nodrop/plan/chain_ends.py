"""The two ends of every service chain: tester port, tags and addresses."""

from collections.abc import Iterator
from ipaddress import IPv4Address

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.choices import SutKind
from nodrop.model.lab_plan import LabPlan
from nodrop.model.layer import Vlan
from nodrop.plan import addressing, cloud_addresses
from nodrop.plan.chain_networks import LEFT, RIGHT
from nodrop.plan.flow_fields import find_flow_networks

TRANSPARENT: frozenset[SutKind] = frozenset({"bridge", "ovs", "wire", "ext"})
"""SUTs that do not change MAC addresses, or whose addresses are unknown."""


class ChainEnd(Value):
    """One end of a chain, seen from the tester."""

    chain: int
    side: int
    """LEFT or RIGHT."""
    port: int
    """Index of the tester's port."""
    tags: tuple[Vlan, ...] = ()
    """VLAN tags of its frames, outermost first."""
    tester_mac: str
    """Source of frames that the tester sends there."""
    next_mac: str
    """Destination of frames that the tester sends there, unless it is resolved."""
    tester_ips: tuple[str, str]
    """The tester's addresses on the link: IPv4, IPv6."""
    networks: tuple[addressing.IPNetwork, ...]
    """The chain's networks behind the tester's port: IPv4, IPv6, then those of its flows if they differ."""
    sut_ips: tuple[str, str]
    """The SUT's addresses on the link, if it has any: IPv4, IPv6."""


def plan_chain_ends(config: Config, lab: LabPlan) -> tuple[tuple[ChainEnd, ChainEnd], ...]:
    """Return the left and right end of every chain, in order."""
    return tuple(_list_pairs(config, lab))


def find_tester_mac(lab: LabPlan, port: int) -> str:
    """Return the tester's MAC address at a port: the interface's own address if the SUT is external."""
    return lab.tester_macs[port] if lab.tester_macs else addressing.build_tester_mac(port)


def find_entrance_mac(lab: LabPlan, chain: int, side: int) -> str:
    """Return the destination MAC address of frames into one end of a chain."""
    if lab.sut in TRANSPARENT:
        return find_tester_mac(lab, lab.port(chain, 1 - side))
    return addressing.build_sut_mac(addressing.get_end_index(chain, side))


def _list_pairs(config: Config, lab: LabPlan) -> Iterator[tuple[ChainEnd, ChainEnd]]:
    count = lab.chain_count
    base = [
        (addressing.test_networks(count, 2 * chain), addressing.test_networks(count, 2 * chain + 1))
        for chain in range(count)
    ]
    for chain, flows in enumerate(find_flow_networks(config, base)):
        left, right = (_end(config, lab, chain, side, flows[side]) for side in (LEFT, RIGHT))
        yield left, right


def _end(config: Config, lab: LabPlan, chain: int, side: int, flows: tuple[addressing.IPNetwork, ...]) -> ChainEnd:
    chains, place = lab.chain_count, addressing.get_end_index(chain, side)
    port, gateways = lab.port(chain, side), config.gateways
    tester_ipv4 = _find_gateway("gateways.tester", gateways.tester, gateways.tester_step, chain, side)
    sut_ipv4 = _find_gateway("gateways.sut", gateways.sut, gateways.sut_step, chain, side)
    if lab.cloud:
        tester_ipv4 = tester_ipv4 or cloud_addresses.build_tester_ip(config, chain, side)
        sut_ipv4 = sut_ipv4 or cloud_addresses.build_entrance_ip(config, chain, side)
    ipv4, ipv6 = addressing.build_sut_ips(chains, place)
    return ChainEnd(
        chain=chain,
        side=side,
        port=port,
        tags=(Vlan(id=lab.vlans[chain][side]),) if lab.vlans else (),
        tester_mac=find_tester_mac(lab, port),
        next_mac=config.macs[side][chain] if config.macs else find_entrance_mac(lab, chain, side),
        tester_ips=(
            tester_ipv4 or addressing.build_tester_ip(chains, place, 4),
            addressing.build_tester_ip(chains, place, 6),
        ),
        networks=(*addressing.test_networks(chains, place), *flows),
        sut_ips=(sut_ipv4 or ipv4, ipv6),
    )


def _find_gateway(
    key: str, bases: tuple[IPv4Address, IPv4Address] | None, step: IPv4Address, chain: int, side: int
) -> str | None:
    """Return a chain's address, counted from the first chain's; None if none is configured. Raises ConfigError."""
    if bases is None:
        return None
    number = int(bases[side]) + chain * int(step)
    if number > int(IPv4Address("255.255.255.255")):
        raise ConfigError(
            f"{key}: no address left for chain {chain} ({bases[side]} in steps of {step}); write a lower one"
        )
    return str(IPv4Address(number))
