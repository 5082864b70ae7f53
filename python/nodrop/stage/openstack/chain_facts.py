"""Facts of chains in a cloud, read back and checked to be complete and unambiguous."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nodrop.errors import StageError
from nodrop.model.cloud import CloudNetwork, CloudNetworkFacts, CloudPlan, CloudServer, CloudServerFacts, NetworkRole
from nodrop.model.facts import ChainFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.stage.openstack.rest import Json
from nodrop.stage.openstack.servers import HOST, HOST_ID

ZONE = "OS-EXT-AZ:availability_zone"
VIF_TYPE, BOUND_HOST = "binding:vif_type", "binding:host_id"
UNBOUND = ("binding_failed", "unbound")
TUNNELS = ("vxlan", "mpls", "gre", "geneve")
SIDES: tuple[tuple[NetworkRole, NetworkRole], ...] = (("edge_left", "left"), ("edge_right", "right"))
"""Role of the tester's network on each side: the edge network if routers are in the path, else the chain's own."""


class CloudState(NamedTuple):
    """State of the cloud's resources, by the plan's names."""

    cloud: str
    ports: Mapping[str, Json]
    servers: Mapping[str, Json]
    addresses: Mapping[str, str]
    """Floating IPs, by server."""
    router_macs: Sequence[str]
    """MACs of the routers towards the tester, in the plan's order: chain by chain, left and right."""


def build_network_facts(plan: CloudPlan, networks: Mapping[str, Json]) -> Iterator[CloudNetworkFacts]:
    """Yield the networks as Neutron reports them; values reported to administrators only are those of the plan."""
    for planned in plan.networks:
        network = networks[planned.name]
        kind = network.get("provider:network_type")
        yield CloudNetworkFacts(
            name=planned.name,
            id=network["id"],
            role=planned.role,
            chain=planned.chain,
            kind=kind,
            segmentation_id=network.get("provider:segmentation_id", planned.segmentation_id),
            physical_network=network.get("provider:physical_network", planned.physical_network),
            mtu_bytes=network.get("mtu"),
        )


def build_server_facts(plan: CloudPlan, read: CloudState, restaged: set[str]) -> Iterator[CloudServerFacts]:
    """Yield the VMs as Nova reports them. Raises StageError if a port is not bound, or MAC addresses collide."""
    owners: dict[str, str] = {}
    for planned in plan.servers:
        server = read.servers[planned.name]
        ports = [_find_port(read, planned, port.name) for port in planned.ports]
        macs = tuple(str(port["mac_address"]).lower() for port in ports)
        for port, mac in zip(planned.ports, macs, strict=True):
            if other := owners.setdefault(mac, port.name) if mac in owners else None:
                raise StageError(
                    f"cloud {read.cloud}: ports {other} and {port.name} have the same MAC address {mac}, so frames "
                    "could reach either; delete one (nodrop cleanup) and stage again"
                )
            owners[mac] = port.name
        yield CloudServerFacts(
            name=planned.name,
            id=server["id"],
            chain=planned.chain,
            hop=planned.hop,
            host=str(server.get(HOST) or ""),
            availability_zone=str(server.get(ZONE) or ""),
            macs=macs,
            address=read.addresses.get(planned.name) or _find_management_address(plan, planned, read),
            restaged=planned.name in restaged,
        )


def check_hosts(plan: CloudPlan, read: CloudState) -> None:
    """Raise StageError if a VM is not on the requested host, or a chain is on several hosts."""
    for planned in plan.servers:
        server = read.servers[planned.name]
        host = server.get(HOST)
        if plan.hosts and host:
            requested_host = plan.hosts[planned.chain % len(plan.hosts)].rpartition(":")[2]
            if not _is_host(requested_host, str(host)):
                raise StageError(
                    f"cloud {read.cloud}: server {planned.name} is on host {host} instead of {requested_host}"
                )
        first = next(each for each in plan.servers if each.chain == planned.chain)
        if plan.same_host and server.get(HOST_ID) != read.servers[first.name].get(HOST_ID):
            raise StageError(
                f"cloud {read.cloud}: servers {first.name} and {planned.name} of one chain are on different "
                f"hosts{f' ({read.servers[first.name].get(HOST)} and {host})' if host else ''}; name the host "
                "(openstack.hosts), or allow several (a chain across hosts measures their network as well)"
            )


class ChainIds(NamedTuple):
    """Identifiers that tell frames of a chain from those of others."""

    vlans: tuple[int, int] | None
    vnis: tuple[int, int] | None
    """VXLAN network identifiers, or MPLS labels."""


def build_chain_ids(
    cloud: str, plan: CloudPlan, lab: LabPlan, networks: Sequence[CloudNetworkFacts]
) -> tuple[ChainIds, ...]:
    """Return the identifiers of every chain. Raises StageError if one is unknown or not unique."""
    networks_by_vlan: dict[tuple[int, int], CloudNetworkFacts] = {}
    ids = []
    for chain in range(lab.chain_count):
        left, right = sides = (_find_side_network(networks, chain, 0), _find_side_network(networks, chain, 1))
        if lab.vlans:
            for side, network in enumerate(sides):
                _reserve_vlan(cloud, networks_by_vlan, (lab.port(chain, side), _get_vlan(cloud, network)), network)
        is_tunneled = all((network.kind or _find_planned_network(plan, network).kind) in TUNNELS for network in sides)
        ids.append(
            ChainIds(
                vlans=(_get_vlan(cloud, left), _get_vlan(cloud, right)) if lab.vlans else None,
                vnis=(_parse_number(cloud, left), _parse_number(cloud, right)) if is_tunneled else None,
            )
        )
    return tuple(ids)


def build_chain_facts(
    plan: CloudPlan, lab: LabPlan, networks: Sequence[CloudNetworkFacts], read: CloudState
) -> Iterator[ChainFacts]:
    """Yield the facts of each chain that the tester needs. Raises StageError if chains cannot be told apart."""
    for chain, ids in enumerate(build_chain_ids(read.cloud, plan, lab, networks)):
        left, right = (
            lab.tester_interfaces[lab.port(chain, side)] if lab.tester_interfaces else "" for side in range(2)
        )
        yield ChainFacts(
            chain=chain,
            tester_interfaces=(left, right),
            vlans=ids.vlans,
            vnis=ids.vnis,
            macs=_find_chain_macs(plan, read, chain),
        )


def _find_chain_macs(plan: CloudPlan, read: CloudState, chain: int) -> tuple[str, str] | None:
    if plan.routers:
        return read.router_macs[2 * chain].lower(), read.router_macs[2 * chain + 1].lower()
    servers = [server for server in plan.servers if server.chain == chain]
    if not servers:
        return None
    left, right = (read.ports[servers[end].ports[side].name] for side, end in ((0, 0), (1, -1)))
    return str(left["mac_address"]).lower(), str(right["mac_address"]).lower()


def _find_side_network(networks: Sequence[CloudNetworkFacts], chain: int, side: int) -> CloudNetworkFacts:
    for role in SIDES[side]:
        for network in networks:
            if network.role == role and network.chain in (chain, None):
                return network
    raise StageError(f"chain {chain} has no network on its {('left', 'right')[side]} in the plan; name one")


def _reserve_vlan(
    cloud: str,
    networks_by_vlan: dict[tuple[int, int], CloudNetworkFacts],
    key: tuple[int, int],
    network: CloudNetworkFacts,
) -> None:
    """Assign a VLAN at a tester's port to one network."""
    other = networks_by_vlan.setdefault(key, network)
    if other.id != network.id:
        raise StageError(
            f"cloud {cloud}: networks {other.name} and {network.name} both have VLAN {key[1]} at the same port of the "
            "tester, so their frames cannot be told apart; give them different segmentation ids"
        )


def _get_vlan(cloud: str, network: CloudNetworkFacts) -> int:
    if network.kind not in (None, "vlan"):
        raise StageError(
            f"cloud {cloud}: network {network.name} has no VLAN (kind {network.kind}); request kind vlan, or frames "
            "without tags"
        )
    return _parse_number(cloud, network)


def _parse_number(cloud: str, network: CloudNetworkFacts) -> int:
    if network.segmentation_id is None:
        raise StageError(
            f"cloud {cloud}: segmentation id of network {network.name} is unknown, as only administrators can read "
            "it; log in as one, or have one create the network, and set its number "
            f"(openstack.networks.{network.role}.segmentation_id)"
        )
    return network.segmentation_id


def _find_planned_network(plan: CloudPlan, network: CloudNetworkFacts) -> CloudNetwork:
    return next(each for each in plan.networks if each.name == network.name)


def _find_port(read: CloudState, server: CloudServer, name: str) -> Json:
    """Return a port once it is bound. Raises StageError."""
    port = read.ports.get(name)
    if port is None or not port.get("mac_address"):
        raise StageError(
            f"cloud {read.cloud}: port {name} of server {server.name} no longer exists; check whether another user is "
            "working in this project, and stage again"
        )
    if port.get("device_id") != read.servers[server.name]["id"]:
        raise StageError(
            f"cloud {read.cloud}: port {name} belongs to {port.get('device_id') or 'none'} instead of server "
            f"{server.name}; delete both (nodrop cleanup) and stage again"
        )
    if port.get(VIF_TYPE) in UNBOUND:
        raise StageError(
            f"cloud {read.cloud}: port {name} is not bound on {port.get(BOUND_HOST) or 'a host'} ({port[VIF_TYPE]}); "
            f"check that an agent or driver for network {_find_network_name(server, name)} runs there "
            "(openstack network agent list), and neutron-server's log"
        )
    return port


def _find_network_name(server: CloudServer, port_name: str) -> str:
    return next(port.network for port in server.ports if port.name == port_name)


def _find_management_address(plan: CloudPlan, server: CloudServer, read: CloudState) -> str | None:
    roles = {network.name: network.role for network in plan.networks}
    for port in server.ports:
        fixed = read.ports[port.name].get("fixed_ips") if roles.get(port.network) == "management" else None
        if fixed:
            return str(fixed[0]["ip_address"])
    return None


def _is_host(requested_host: str, host: str) -> bool:
    """Compare by the full name or its first label."""
    return requested_host in (host, host.partition(".")[0])
