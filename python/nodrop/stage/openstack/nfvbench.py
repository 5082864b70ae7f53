"""What NFVbench left in a cloud, which marks nothing: known by its names, and shown apart.

Source: NFVbench's chaining.py and cleanup.py. Its own clean-up takes whatever begins with one of the names, networks of
the user among them; here a name has to be one that it gives.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from nodrop.model.cloud import ResourceKind
from nodrop.stage.openstack.cleanup import ORDER, Left, Listed, named, since
from nodrop.stage.openstack.existing_resources import is_ours

Json = Mapping[str, Any]
COUNTED = r"(?:\d+(?:[.-]\d+)*|\.\d+\.\d+)?"
"""What it puts after a name: the chain, and the VM or the interface."""


class NfvbenchNames(NamedTuple):
    """What its configuration calls things; these are its defaults."""

    servers: str = "nfvbench-loop-vm"
    networks: tuple[str, ...] = ("nfvbench-lnet", "nfvbench-rnet", "nfvbench-mnet", "nfvbench-idle-net")
    """Of networks it makes for itself."""
    routers: tuple[str, ...] = ("router_left", "router_right")
    flavor: str = "nfvbench.medium"


def left_by_nfvbench(listed: Listed, names: NfvbenchNames) -> tuple[Left, ...]:
    """What it left, in the order in which it is taken away.

    Args:
        listed: all there is in the project.
        names: what its configuration calls things.
    """
    found = dict(
        _found({kind: [each for each in some if not is_ours(kind, each)] for kind, some in listed.items()}, names)
    )
    return tuple(
        Left(named(kind, each), "", _chain(str(each.get("name", "")), names), since(each))
        for kind in ORDER
        for each in found.get(kind, ())
    )


def _found(listed: Listed, names: NfvbenchNames) -> Iterator[tuple[ResourceKind, list[Json]]]:
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
    pattern = re.compile(f"(?:{'|'.join(map(re.escape, names))}){COUNTED}")
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
