"""Addresses of VMs, routers and the tester in a cloud's networks."""

from ipaddress import IPv4Address, IPv4Network

from nodrop.config.openstack import DEFAULT_NETWORKS
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.cloud import NetworkRole
from nodrop.units import format_count

EDGES: tuple[NetworkRole, NetworkRole] = ("edge_left", "edge_right")
INNER: tuple[NetworkRole, NetworkRole] = ("left", "right")


def build_cidr(config: Config, role: NetworkRole) -> IPv4Network:
    """Return the address range of the networks of a role."""
    return getattr(config.openstack.networks, role).cidr or IPv4Network(DEFAULT_NETWORKS[role][1])


def build_gateway(config: Config, role: NetworkRole) -> IPv4Address:
    """Return the router's address in the networks of a role."""
    return getattr(config.openstack.networks, role).gateway or build_cidr(config, role)[1]


def build_tester_ip(config: Config, chain: int, side: int) -> str:
    """Return the tester's address at an end of a chain, counted down from the end of its network."""
    return _get_address_at(config, get_outer_role(config, side), -2 - chain)


def build_entrance_ip(config: Config, chain: int, side: int) -> str:
    """Return the next hop of frames into a chain: its router, or its VM."""
    if config.gateways.sut:
        return str(config.gateways.sut[side] + chain * int(config.gateways.sut_step))
    return (
        str(build_gateway(config, EDGES[side])) if config.routers else _get_address_at(config, INNER[side], 1 + chain)
    )


def build_vm_ip(config: Config, chain: int, side: int) -> str:
    """Return the VM's address at an end of a chain; addresses after the router's if there is one."""
    return _get_address_at(config, INNER[side], 2 + chain) if config.routers else build_entrance_ip(config, chain, side)


def build_middle_ip(config: Config, chain: int, hop: int) -> str:
    """Return the address of one of two VMs on the network between them."""
    return _get_address_at(config, "middle", 1 + 2 * chain + hop)


def get_outer_role(config: Config, side: int) -> NetworkRole:
    """Return the role of the tester's networks on a side."""
    return EDGES[side] if config.routers else INNER[side]


def _get_address_at(config: Config, role: NetworkRole, place: int) -> str:
    """Return an address of a role's networks by position. Raises ConfigError if the network is too small."""
    network = build_cidr(config, role)
    # testers count down, VMs and routers up: in a shared network each has one half
    usable = network.num_addresses // (2 if config.networks == "shared" else 1)
    if abs(place) >= usable:
        raise ConfigError(
            f"openstack.networks.{role}.cidr: too few addresses for {format_count(config.chains, 'chain')} "
            f"({network}); write a larger network"
        )
    return str(network[place])
