"""Existing resources under the names of a plan, read with one list request per kind."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

from nodrop.model.cloud import CloudFlavor, CloudPlan
from nodrop.stage.openstack import existing_resources, ownership_tags, rest
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.rest import Json


class Inventory(NamedTuple):
    """The matching resources; the stage creates the others."""

    image: Json | None
    flavor: Json | None
    networks: dict[str, Json]
    """By name."""
    subnets: dict[str, Json]
    """By name of the network."""
    ports: dict[str, Json]
    """By name."""
    servers: list[Json]
    """All servers of the project; whether one matches depends on user data that is computed later."""
    groups: dict[str, Json]
    """Server groups by name."""
    routers: frozenset[str] = frozenset()
    """Names of existing routers; they are compared when they are attached to their networks."""


def read_inventory(cloud: Cloud, plan: CloudPlan, *, with_groups: bool) -> Inventory:
    """Read the existing resources, and server groups if needed.

    Raises StageError if a resource has a name of the plan and differs from it.
    """
    networks = _find_networks(cloud, plan)
    subnets = _find_subnets(cloud, plan, networks)
    image, flavor = (plan.image, plan.flavor) if plan.servers else (None, None)
    return Inventory(
        image=existing_resources.find_image(cloud, image, list_images(cloud, image.name)) if image else None,
        flavor=existing_resources.find_flavor(cloud, flavor, list_flavors(cloud)) if flavor else None,
        networks=networks,
        subnets=subnets,
        ports=_find_ports(cloud, plan, networks),
        servers=list_servers(cloud) if plan.servers else [],
        groups=list_groups(cloud) if with_groups else {},
        routers=_find_routers(cloud, plan),
    )


def list_servers(cloud: Cloud) -> list[Json]:
    """List all servers of the project in detail."""
    return rest.list_resources(cloud, "servers", "compute", "/servers/detail", "servers")


def list_ports(cloud: Cloud, plan: CloudPlan) -> list[Json]:
    """List all ports with the plan's names."""
    names = [port.name for server in plan.servers for port in server.ports]
    return rest.list_by_name(cloud, "ports", "/ports", "ports", names)


def list_images(cloud: Cloud, name: str) -> list[Json]:
    """List the images of a name."""
    return rest.list_resources(cloud, "images", "image", f"/images?name={quote(name)}", "images")


def list_flavors(cloud: Cloud) -> list[Json]:
    """List all flavors that this user may see."""
    return rest.list_resources(cloud, "flavors", "compute", "/flavors/detail?is_public=None", "flavors")


def list_groups(cloud: Cloud) -> dict[str, Json]:
    """Return the server groups that nodrop created, by name."""
    listed = rest.list_resources(cloud, "server groups", "compute", "/os-server-groups", "server_groups")
    return {group["name"]: group for group in listed if ownership_tags.parse_label(group["name"])}


def count_missing(plan: CloudPlan, existing: Inventory, group_count: int) -> Mapping[str, int]:
    """Count the resources still to be created, by name of their quota."""
    existing_names = {server["name"] for server in existing.servers}
    server_count = sum(server.name not in existing_names for server in plan.servers)
    ports = [port for server in plan.servers for port in server.ports if port.name not in existing.ports]
    routers = [router for router in plan.routers if router.name not in existing.routers]
    flavor = _get_size(plan.flavor, existing.flavor) if plan.flavor else (0, 0)
    floating = sum(server.floating_ip and server.name not in existing_names for server in plan.servers)
    return {
        "instances": server_count,
        "cores": server_count * flavor[0],
        "MiB of memory": server_count * flavor[1],
        "server groups": group_count,
        "networks": sum(network.name not in existing.networks for network in plan.networks),
        "subnets": sum(bool(network.subnet) and network.name not in existing.subnets for network in plan.networks),
        "ports": len(ports) + 2 * len(routers),
        "routers": len(routers),
        "floating IPs": floating,
    }


def _get_size(planned: CloudFlavor, existing: Json | None) -> tuple[int, int]:
    return (existing["vcpus"], existing["ram"]) if existing else (planned.vcpus, planned.ram_mib)


def _find_networks(cloud: Cloud, plan: CloudPlan) -> dict[str, Json]:
    listed = rest.list_by_name(cloud, "networks", "/networks", "networks", [network.name for network in plan.networks])
    networks = ((planned.name, existing_resources.find_network(cloud, planned, listed)) for planned in plan.networks)
    return {name: network for name, network in networks if network}


def _find_subnets(cloud: Cloud, plan: CloudPlan, networks: Mapping[str, Json]) -> dict[str, Json]:
    planned = [network for network in plan.networks if network.subnet and network.name in networks]
    names = sorted({network.subnet for network in planned if network.subnet})
    listed = rest.list_by_name(cloud, "subnets", "/subnets", "subnets", names)
    subnets = (
        (each.name, existing_resources.find_subnet(cloud, each, networks[each.name], listed)) for each in planned
    )
    return {name: subnet for name, subnet in subnets if subnet}


def _find_ports(cloud: Cloud, plan: CloudPlan, networks: Mapping[str, Json]) -> dict[str, Json]:
    """Return the existing ports; none without networks."""
    if not networks or not plan.servers:
        return {}
    listed = list_ports(cloud, plan)

    def existing_ports() -> Iterator[tuple[str, Json]]:
        for server in plan.servers:
            for planned in server.ports:
                network = networks.get(planned.network)
                if network and (port := existing_resources.find_port(cloud, planned, network["id"], listed)):
                    yield planned.name, port

    return dict(existing_ports())


def _find_routers(cloud: Cloud, plan: CloudPlan) -> frozenset[str]:
    names = [router.name for router in plan.routers]
    return frozenset(router["name"] for router in rest.list_by_name(cloud, "routers", "/routers", "routers", names))
