"""What is left of nodrop in a cloud: found by its marks, and taken away in an order in which nothing is in use.

Nothing is remembered between two calls: what a call that was ended left behind, the next one finds.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from nodrop.model.cloud import CloudResource, ResourceKind
from nodrop.stage.openstack import rest
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.ownership_tags import CHAIN, belongs_to_project, is_tagged, owner_label

Json = Mapping[str, Any]
ORDER: tuple[ResourceKind, ...] = (
    "floating_ip", "server", "router", "port", "subnet", "network", "server_group", "flavor", "image",
)  # fmt: skip
"""In which nothing is taken away that something else needs."""


class Endpoint(NamedTuple):
    """Where a kind is."""

    service: rest.Service
    path: str
    list_path: str
    """What lists those of the project."""
    key: str
    noun: str
    """As people say it."""


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
    """Something that is in the cloud still."""

    resource: CloudResource
    label: str
    """Under which nodrop made it; empty where it is NFVbench's."""
    chain: str = ""
    """The chain it belongs to, where that can be told."""
    created_at: str = ""
    """When it was made, as the service says it; empty where it does not."""


ResourceLists = dict[ResourceKind, list[Json]]


def find_leftovers(cloud: Cloud, label: str | None = None) -> tuple[Leftover, ...]:
    """Everything that nodrop made in the project and is there still, in the order in which it is taken away.

    Args:
        cloud: where.
        label: only what was made under this label; None: under any.

    Raises StageError.
    """
    return select_tagged(list_project(cloud), label)


def select_tagged(listed: ResourceLists, label: str | None = None) -> tuple[Leftover, ...]:
    """Of all there is, what nodrop made."""
    chains = _chains(listed)
    return tuple(
        Leftover(to_resource(kind, each), found, chains.get(str(each["id"]), ""), creation_time(each))
        for kind in ORDER
        for each in listed[kind]
        if (found := owner_label(kind, each)) and label in (None, found)
    )


def list_project(cloud: Cloud) -> ResourceLists:
    """All there is in the project, whoever made it, without flavors made for another. Raises StageError."""
    listed: ResourceLists = {}
    for kind, endpoint in ENDPOINTS.items():
        path = endpoint.list_path.format(project=cloud.project_id)
        listed[kind] = rest.list_all(cloud, f"{endpoint.noun}s", endpoint.service, path, endpoint.key)
    listed["flavor"] = [
        each for each in listed["flavor"] if belongs_to_project(each.get("description"), cloud.project_id)
    ]
    return listed


def to_resource(kind: ResourceKind, found: Json) -> CloudResource:
    """A service's answer as a resource; floating addresses are their own names."""
    name = str(found.get("floating_ip_address") or found.get("name") or found["id"])
    return CloudResource(kind=kind, name=name, id=str(found["id"]))


def creation_time(found: Json) -> str:
    """When it was made, as `2026-11-22 03:04`; empty where its service does not say."""
    return str(found.get("created_at") or found.get("created") or "")[:16].replace("T", " ")


def _chains(listed: ResourceLists) -> dict[str, str]:
    """By id: servers say it, ports are their servers', and networks are a chain's where all of their ports are."""
    found = {each["id"]: str((each.get("metadata") or {}).get(CHAIN, "")) for each in listed["server"]}
    of_networks: dict[str, set[str]] = {}
    for port in listed["port"]:
        if chain := found.get(port.get("device_id")):
            found[port["id"]] = chain
            of_networks.setdefault(port["network_id"], set()).add(chain)
    whole = {network: chains.pop() for network, chains in of_networks.items() if len(chains) == 1}
    subnets = {each["id"]: whole[each["network_id"]] for each in listed["subnet"] if each["network_id"] in whole}
    return found | whole | subnets


NUMBER_SUFFIX = r"(?:\d+(?:[.-]\d+)*|\.\d+\.\d+)?"
"""What it puts after a name: the chain, and the VM or the interface."""


class NfvbenchNames(NamedTuple):
    """What its configuration calls things; these are its defaults."""

    servers: str = "nfvbench-loop-vm"
    networks: tuple[str, ...] = ("nfvbench-lnet", "nfvbench-rnet", "nfvbench-mnet", "nfvbench-idle-net")
    """Of networks it makes for itself."""
    routers: tuple[str, ...] = ("router_left", "router_right")
    flavor: str = "nfvbench.medium"


def find_nfvbench_leftovers(listed: ResourceLists, names: NfvbenchNames) -> tuple[Leftover, ...]:
    """What it left, in the order in which it is taken away.

    Args:
        listed: all there is in the project.
        names: what its configuration calls things.
    """
    found = dict(
        _found({kind: [each for each in some if not is_tagged(kind, each)] for kind, some in listed.items()}, names)
    )
    return tuple(
        Leftover(to_resource(kind, each), "", _chain(str(each.get("name", "")), names), creation_time(each))
        for kind in ORDER
        for each in found.get(kind, ())
    )


def _found(listed: ResourceLists, names: NfvbenchNames) -> Iterator[tuple[ResourceKind, list[Json]]]:
    servers = _of_names(listed["server"], [names.servers])
    networks = _of_names(listed["network"], names.networks)
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


def _of_names(listed: Collection[Json], names: Collection[str]) -> list[Json]:
    pattern = re.compile(f"(?:{'|'.join(map(re.escape, names))}){NUMBER_SUFFIX}")
    return [each for each in listed if pattern.fullmatch(str(each.get("name")))]


def _is_its_port(port: Json, servers: Collection[Json], network_ids: Collection[str], names: NfvbenchNames) -> bool:
    """Of one of its servers, or one that such a server was to have."""
    if port.get("device_id"):
        return any(each["id"] == port["device_id"] for each in servers)
    return port["network_id"] in network_ids and str(port.get("name")).startswith(names.servers)


def _chain(name: str, names: NfvbenchNames) -> str:
    prefixes = "|".join(map(re.escape, (names.servers, *names.networks)))
    found = re.match(rf"(?:{prefixes})(\d+)", name)
    return found[1] if found else ""
