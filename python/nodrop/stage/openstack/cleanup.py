"""Leftovers of nodrop in a cloud, found by their ownership tags, in an order of deletion that breaks no dependency.

No state is kept between two calls: a call finds what an interrupted one left behind. NFVbench tags nothing: its
leftovers are identified by name and listed separately. Source: NFVbench's chaining.py and cleanup.py. NFVbench's own
cleanup deletes everything whose name begins with one of its names, networks of the user among them; here a name must be
one that NFVbench generates.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from nodrop.model.cloud import CloudResource, ResourceKind
from nodrop.stage.openstack import rest
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.ownership_tags import CHAIN, belongs_to_project, is_tagged, read_owner_label

Json = Mapping[str, Any]
ORDER: tuple[ResourceKind, ...] = (
    "floating_ip", "server", "router", "port", "subnet", "network", "server_group", "flavor", "image",
)  # fmt: skip
"""Order of deletion: dependents come first."""


class Endpoint(NamedTuple):
    """The API endpoint of a kind of resource."""

    service: rest.Service
    path: str
    list_path: str
    """Path that lists the project's resources of this kind."""
    key: str
    noun: str
    """Its name for users."""


ENDPOINTS: dict[ResourceKind, Endpoint] = {
    "server": Endpoint("compute", "/servers", "/servers/detail", "servers", "server"),
    "server_group": Endpoint("compute", "/os-server-groups", "/os-server-groups", "server_groups", "server group"),
    "flavor": Endpoint("compute", "/flavors", "/flavors/detail?is_public=None", "flavors", "flavor"),
    "image": Endpoint("image", "/images", "/images?owner={project}", "images", "image"),
    "floating_ip": Endpoint(
        "network", "/floatingips", "/floatingips?project_id={project}", "floatingips", "floating IP"
    ),
    "router": Endpoint("network", "/routers", "/routers?project_id={project}", "routers", "router"),
    "port": Endpoint("network", "/ports", "/ports?project_id={project}", "ports", "port"),
    "subnet": Endpoint("network", "/subnets", "/subnets?project_id={project}", "subnets", "subnet"),
    "network": Endpoint("network", "/networks", "/networks?project_id={project}", "networks", "network"),
}


class Leftover(NamedTuple):
    """A resource that still exists in the cloud."""

    resource: CloudResource
    label: str
    """Label under which nodrop created it; empty for NFVbench's."""
    chain: str = ""
    """The chain it belongs to, if known."""
    created_at: str = ""
    """Creation time as the service reports it; empty if it does not."""


ResourceLists = dict[ResourceKind, list[Json]]


def find_leftovers(cloud: Cloud, label: str | None = None) -> tuple[Leftover, ...]:
    """Find the resources in the project that nodrop created, in order of deletion.

    Args:
        cloud: the cloud.
        label: only resources created under this label; None: under any.

    Raises StageError.
    """
    return select_tagged(list_project(cloud), label)


def select_tagged(listed: ResourceLists, label: str | None = None) -> tuple[Leftover, ...]:
    """Return the listed resources that nodrop created."""
    chains = _collect_chains(listed)
    return tuple(
        Leftover(to_resource(kind, each), tag_label, chains.get(str(each["id"]), ""), format_creation_time(each))
        for kind in ORDER
        for each in listed[kind]
        if (tag_label := read_owner_label(kind, each)) and label in (None, tag_label)
    )


def list_project(cloud: Cloud) -> ResourceLists:
    """List all resources of the project, except flavors created for other projects. Raises StageError."""
    listed: ResourceLists = {}
    for kind, endpoint in ENDPOINTS.items():
        path = endpoint.list_path.format(project=cloud.project_id)
        listed[kind] = rest.list_resources(cloud, f"{endpoint.noun}s", endpoint.service, path, endpoint.key)
    listed["flavor"] = [
        each for each in listed["flavor"] if belongs_to_project(each.get("description"), cloud.project_id)
    ]
    return listed


def to_resource(kind: ResourceKind, resource: Json) -> CloudResource:
    """Convert a service's reply to a resource; floating IPs are named by their address."""
    name = str(resource.get("floating_ip_address") or resource.get("name") or resource["id"])
    return CloudResource(kind=kind, name=name, id=str(resource["id"]))


def format_creation_time(resource: Json) -> str:
    """Return the creation time as `2026-11-22 03:04`; empty if the service does not report it."""
    return str(resource.get("created_at") or resource.get("created") or "")[:16].replace("T", " ")


def _collect_chains(listed: ResourceLists) -> dict[str, str]:
    """Return the chain of resources by id: a server's is in its metadata, a port's is its server's, and a network's is
    that of all its ports."""
    chain_by_id = {each["id"]: str((each.get("metadata") or {}).get(CHAIN, "")) for each in listed["server"]}
    of_networks: dict[str, set[str]] = {}
    for port in listed["port"]:
        if chain := chain_by_id.get(port.get("device_id")):
            chain_by_id[port["id"]] = chain
            of_networks.setdefault(port["network_id"], set()).add(chain)
    whole = {network: chains.pop() for network, chains in of_networks.items() if len(chains) == 1}
    subnets = {each["id"]: whole[each["network_id"]] for each in listed["subnet"] if each["network_id"] in whole}
    return chain_by_id | whole | subnets


NUMBER_SUFFIX = r"(?:\d+(?:[.-]\d+)*|\.\d+\.\d+)?"
"""NFVbench's suffix of a name: the chain, and the VM or the interface."""


class NfvbenchNames(NamedTuple):
    """Names in NFVbench's configuration, with its defaults."""

    servers: str = "nfvbench-loop-vm"
    networks: tuple[str, ...] = ("nfvbench-lnet", "nfvbench-rnet", "nfvbench-mnet", "nfvbench-idle-net")
    """Networks that NFVbench creates."""
    routers: tuple[str, ...] = ("router_left", "router_right")
    flavor: str = "nfvbench.medium"


def find_nfvbench_leftovers(listed: ResourceLists, names: NfvbenchNames) -> tuple[Leftover, ...]:
    """Find the leftovers of NFVbench, in order of deletion.

    Args:
        listed: all resources of the project.
        names: names in NFVbench's configuration.
    """
    matches = dict(
        _list_matches(
            {kind: [each for each in some if not is_tagged(kind, each)] for kind, some in listed.items()}, names
        )
    )
    return tuple(
        Leftover(
            to_resource(kind, each), "", _parse_chain(str(each.get("name", "")), names), format_creation_time(each)
        )
        for kind in ORDER
        for each in matches.get(kind, ())
    )


def _list_matches(listed: ResourceLists, names: NfvbenchNames) -> Iterator[tuple[ResourceKind, list[Json]]]:
    servers = _filter_by_name(listed["server"], [names.servers])
    networks = _filter_by_name(listed["network"], names.networks)
    network_ids = {each["id"] for each in networks}
    ports = [each for each in listed["port"] if _is_its_port(each, servers, network_ids, names)]
    port_ids = {each["id"] for each in ports}
    joined = {each["device_id"] for each in listed["port"] if each["network_id"] in network_ids}
    yield "floating_ip", [each for each in listed["floating_ip"] if each.get("port_id") in port_ids]
    yield "server", servers
    yield "router", [each for each in listed["router"] if each["name"] in names.routers and each["id"] in joined]
    yield "port", ports
    yield "subnet", [each for each in listed["subnet"] if each["network_id"] in network_ids]
    yield "network", networks
    yield (
        "flavor",
        [each for each in listed["flavor"] if each["name"] == names.flavor and each["name"].startswith("nfvbench")],
    )


def _filter_by_name(listed: Collection[Json], names: Collection[str]) -> list[Json]:
    pattern = re.compile(f"(?:{'|'.join(map(re.escape, names))}){NUMBER_SUFFIX}")
    return [each for each in listed if pattern.fullmatch(str(each.get("name")))]


def _is_its_port(port: Json, servers: Collection[Json], network_ids: Collection[str], names: NfvbenchNames) -> bool:
    """Return whether a port belongs to one of its servers, or was created for one."""
    if port.get("device_id"):
        return any(each["id"] == port["device_id"] for each in servers)
    return port["network_id"] in network_ids and str(port.get("name")).startswith(names.servers)


def _parse_chain(name: str, names: NfvbenchNames) -> str:
    prefixes = "|".join(map(re.escape, (names.servers, *names.networks)))
    match = re.match(rf"(?:{prefixes})(\d+)", name)
    return match[1] if match else ""
