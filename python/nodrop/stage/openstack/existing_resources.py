"""Existing resources that match the plan: reused unchanged.

Every function takes a service's list as JSON and returns the matching resource, or None. A resource of the planned name
that differs raises StageError with both values, as do two of a name. Ownership tags show whether nodrop created a
resource (`is_tagged`); other resources are never changed.
"""

import hashlib
import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nodrop.errors import StageError
from nodrop.model.cloud import CloudFlavor, CloudImage, CloudNetwork, CloudPort, CloudServer, ResourceKind
from nodrop.stage.openstack.login import Cloud
from nodrop.stage.openstack.ownership_tags import CHAIN, USER_DATA, is_tagged

Json = Mapping[str, Any]
PROVIDER = "provider:"


class PropertyCheck(NamedTuple):
    """A property that must equal the plan's."""

    name: str
    expected: object
    actual: object


def find_network(cloud: Cloud, planned: CloudNetwork, listed: Iterable[Json]) -> Json | None:
    """Find a network: the project's own, else a shared or external one; if it must exist, any visible one.

    Raises StageError if it must exist and does not, if it differs, or if there are two.
    """
    of_name = [each for each in listed if each.get("name") == planned.name]
    own_networks = [each for each in of_name if _is_in_project(cloud, each)]
    open_to_all = [each for each in of_name if each.get("shared") or each.get("router:external")]
    network = select_single_match(
        cloud, "network", planned.name, own_networks or open_to_all or (of_name if planned.must_exist else [])
    )
    if network is None:
        if planned.must_exist:
            raise StageError(
                f"cloud {cloud.name}: Network {planned.name} not found: no network of this name is visible in project "
                f"{cloud.project_name}; see `openstack network list`"
            )
        return None
    provider = (
        PropertyCheck(
            "network_type", None if planned.kind == "any" else planned.kind, network.get(f"{PROVIDER}network_type")
        ),
        PropertyCheck("segmentation_id", planned.segmentation_id, network.get(f"{PROVIDER}segmentation_id")),
        PropertyCheck("physical_network", planned.physical_network, network.get(f"{PROVIDER}physical_network")),
    )
    reported = tuple(each for each in provider if each.actual is not None)  # reported to administrators only
    _require_match(
        cloud,
        "network",
        network,
        [*reported, PropertyCheck("admin_state_up", True, network.get("admin_state_up", True))],
    )
    return network


def find_subnet(cloud: Cloud, planned: CloudNetwork, network: Json, listed: Iterable[Json]) -> Json | None:
    """Find the subnet of an existing network. Raises StageError if it differs, or may not be added."""
    if planned.subnet is None:
        return None
    of_network = [each for each in listed if each.get("network_id") == network["id"]]
    subnet = select_single_match(
        cloud, "subnet", planned.subnet, [each for each in of_network if each.get("name") == planned.subnet]
    )
    if subnet is None:
        if planned.must_exist or not is_tagged("network", network):
            existing = ", ".join(f"{each.get('name') or each['id']} ({each['cidr']})" for each in of_network) or "none"
            raise StageError(
                f"cloud {cloud.name}: network {planned.name} has no subnet {planned.subnet} (subnets: {existing}), and "
                "nodrop does not change networks of others; name one of its subnets, or another network"
            )
        return None
    requested_cidr = str(ipaddress.ip_network(planned.cidr, strict=False)) if planned.cidr else None
    _require_match(
        cloud,
        "subnet",
        subnet,
        [
            PropertyCheck("cidr", requested_cidr, subnet.get("cidr")),
            PropertyCheck("gateway_ip", planned.gateway, subnet.get("gateway_ip")),
        ],
    )
    return subnet


def find_flavor(cloud: Cloud, planned: CloudFlavor, listed: Iterable[Json]) -> Json | None:
    """Find a flavor, listed with its extra specs. Raises StageError if it differs."""
    flavor = select_single_match(
        cloud, "flavor", planned.name, [each for each in listed if each.get("name") == planned.name]
    )
    if flavor is None:
        return None
    specs: Json = flavor.get("extra_specs") or {}
    compared_keys = set(planned.extra_specs) | (set(specs) if is_tagged("flavor", flavor) else set())
    _require_match(
        cloud,
        "flavor",
        flavor,
        [
            PropertyCheck("vcpus", planned.vcpus, flavor.get("vcpus")),
            PropertyCheck("ram", planned.ram_mib, flavor.get("ram")),
            PropertyCheck("disk", planned.disk_gib, flavor.get("disk")),
            *(
                PropertyCheck(f"extra spec {key}", planned.extra_specs.get(key, "not set"), specs.get(key))
                for key in sorted(compared_keys)
            ),
        ],
    )
    return flavor


def find_image(cloud: Cloud, planned: CloudImage, listed: Iterable[Json]) -> Json | None:
    """Find an active image. Raises StageError if its content differs from the file.

    Properties of images that nodrop did not create must equal the plan's; those of its own images can be set later.
    """
    active = [each for each in listed if each.get("name") == planned.name and each.get("status") == "active"]
    image = select_single_match(
        cloud, "image", planned.name, [each for each in active if each.get("owner") == cloud.project_id] or active
    )
    if image is None:
        return None
    if planned.file and image.get("os_hash_value") and image.get("os_hash_algo") in hashlib.algorithms_available:
        algorithm = str(image["os_hash_algo"])
        content = PropertyCheck(
            algorithm, _compute_file_digest(planned.file, algorithm)[:16], str(image["os_hash_value"])[:16]
        )
        _require_match(cloud, "image", image, [content])
    if not is_tagged("image", image):
        properties = [PropertyCheck(key, value, image.get(key)) for key, value in planned.properties.items()]
        _require_match(cloud, "image", image, properties)
    return image


def find_port(cloud: Cloud, planned: CloudPort, network_id: str, listed: Iterable[Json]) -> Json | None:
    """Find a port that nodrop created: other ports may be in use. Raises StageError."""
    of_name = [each for each in listed if each.get("name") == planned.name and _is_in_project(cloud, each)]
    port = select_single_match(cloud, "port", planned.name, of_name)
    if port is None:
        return None
    if not is_tagged("port", port):
        raise StageError(
            f"cloud {cloud.name}: port {planned.name} exists ({port['id']}) and was not created by nodrop; delete it, "
            "or give the VMs another name"
        )
    is_filtered = bool(port.get("port_security_enabled") and port.get("security_groups"))
    _require_match(
        cloud,
        "port",
        port,
        [
            PropertyCheck("network_id", network_id, port.get("network_id")),
            PropertyCheck("vnic_type", planned.vnic_type, port.get("binding:vnic_type", planned.vnic_type)),
            PropertyCheck("security groups", False, is_filtered),
        ],
    )
    return port


class ServerMatch(NamedTuple):
    """A server of the planned name."""

    server: Json
    differences: tuple[str, ...]
    """How it differs from the plan; empty if it does not."""


def find_server(
    cloud: Cloud,
    planned: CloudServer,
    listed: Iterable[Json],
    *,
    flavor: str,
    image_id: str,
    ports: Sequence[Json],
    user_data_digest: str,
) -> ServerMatch | None:
    """Find a server, with its differences; StageError if it differs and nodrop did not create it.

    Args:
        cloud: the cloud.
        planned: the planned server.
        listed: servers in detail, as of Nova's microversion 2.47 or later.
        flavor: name of its flavor.
        image_id: id of its image.
        ports: its ports as they are now, in the plan's order.
        user_data_digest: digest of its planned user data.
    """
    of_name = [
        each for each in listed if each.get("name") == planned.name and each.get("tenant_id") == cloud.project_id
    ]
    server = select_single_match(cloud, "server", planned.name, of_name)
    if server is None:
        return None
    metadata: Json = server.get("metadata") or {}
    checks = (
        PropertyCheck("status", "ACTIVE", server.get("status")),
        PropertyCheck("flavor", flavor, (server.get("flavor") or {}).get("original_name")),
        PropertyCheck("image", image_id, (server.get("image") or {}).get("id") if server.get("image") else None),
        PropertyCheck("ports", [server["id"]] * len(ports), [each.get("device_id") for each in ports]),
        PropertyCheck("chain", str(planned.chain), metadata.get(CHAIN)),
        PropertyCheck("user data", user_data_digest[:16], str(metadata.get(USER_DATA, ""))[:16]),
    )
    differences = tuple(_list_differences(checks))
    if differences and not is_tagged("server", server):
        raise StageError(
            f"cloud {cloud.name}: Instance {planned.name} cannot be reused ({'; '.join(differences)}), and nodrop did "
            "not create it; delete it, or give the VMs another name"
        )
    return ServerMatch(server, differences)


def _is_in_project(cloud: Cloud, resource: Json) -> bool:
    return bool(resource.get("project_id", resource.get("tenant_id")) == cloud.project_id)


def select_single_match(cloud: Cloud, what: str, name: str, candidates: Sequence[Json]) -> Json | None:
    """Return the one candidate; None without one. Raises StageError if there are several."""
    if len(candidates) > 1:
        ids = ", ".join(str(each["id"]) for each in candidates)
        raise StageError(
            f"cloud {cloud.name}: {len(candidates)} resources match {what} {name} ({ids}); rename or delete all but "
            "one, or use another name"
        )
    return candidates[0] if candidates else None


def _list_differences(checks: Iterable[PropertyCheck]) -> Iterator[str]:
    for name, expected, actual in checks:
        if expected is not None and expected != actual:
            yield f"{name} is {'not set' if actual in (None, '') else actual} instead of {expected}"


def _require_match(cloud: Cloud, kind: ResourceKind, resource: Json, checks: Sequence[PropertyCheck]) -> None:
    """Raise StageError, in NFVbench's words, if a property differs from the plan's."""
    differing = [check for check in checks if any(_list_differences([check]))]
    if not differing:
        return
    kind_text, name = kind.replace("_", " "), resource.get("name") or resource["id"]
    advice = "delete it (`nodrop cleanup`)" if is_tagged(kind, resource) else "plan for its actual value"
    first, *more = differing
    raise StageError(
        f"cloud {cloud.name}: Mismatch of '{first.name}' for reused {kind_text} {name}: "
        f"{'; '.join(_list_differences([first]))}{''.join(f'; {each}' for each in _list_differences(more))}; {advice}, "
        "or give another name"
    )


def _compute_file_digest(file: str, algorithm: str) -> str:
    with Path(file).expanduser().open("rb") as content:
        return hashlib.file_digest(content, algorithm).hexdigest()
