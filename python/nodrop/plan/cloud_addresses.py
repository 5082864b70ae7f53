"""Who has which address in a cloud's networks, where VMs or routers there have any."""

from ipaddress import IPv4Address, IPv4Network

from nodrop.config.openstack import DEFAULT_NETWORKS
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.cloud import NetworkRole
from nodrop.units import format_count

EDGES: tuple[NetworkRole, NetworkRole] = ("edge_left", "edge_right")
INNER: tuple[NetworkRole, NetworkRole] = ("left", "right")


def cidr(config: Config, role: NetworkRole) -> IPv4Network:
    """Addresses of the networks of a role."""
    return getattr(config.openstack.networks, role).cidr or IPv4Network(DEFAULT_NETWORKS[role][1])


def gateway(config: Config, role: NetworkRole) -> IPv4Address:
    """The router there."""
    return getattr(config.openstack.networks, role).gateway or cidr(config, role)[1]


def tester_ip(config: Config, chain: int, side: int) -> str:
    """The tester at an end of a chain: counted down from the last address of the network it is in."""
    return _at(config, outer_role(config, side), -2 - chain)


def entrance_ip(config: Config, chain: int, side: int) -> str:
    """What frames into a chain are sent to, where it has an address: its router, or its VM."""
    if config.gateways.sut:
        return str(config.gateways.sut[side] + chain * int(config.gateways.sut_step))
    return str(gateway(config, EDGES[side])) if config.routers else _at(config, INNER[side], 1 + chain)


def vm_ip(config: Config, chain: int, side: int) -> str:
    """The VM at an end of a chain; where a router is between, the addresses after that's."""
    return _at(config, INNER[side], 2 + chain) if config.routers else entrance_ip(config, chain, side)


def middle_ip(config: Config, chain: int, hop: int) -> str:
    """A VM of two on the network between them."""
    return _at(config, "middle", 1 + 2 * chain + hop)


def outer_role(config: Config, side: int) -> NetworkRole:
    """The networks that the tester is in, on a side."""
    return EDGES[side] if config.routers else INNER[side]


def _at(config: Config, role: NetworkRole, place: int) -> str:
    """An address of a role's networks by its place. Raises ConfigError where there are not so many."""
    network = cidr(config, role)
    # Testers count down, VMs and routers up: where they share a network each needs its half.
    usable = network.num_addresses // (2 if config.networks == "shared" else 1)
    if abs(place) >= usable:
        raise ConfigError(
            f"openstack.networks.{role}.cidr: too few addresses for {format_count(config.chains, 'chain')} "
            f"({network}); write a larger network"
        )
    return str(network[place])
