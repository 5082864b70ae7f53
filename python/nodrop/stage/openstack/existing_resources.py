"""What is in a cloud already and fits what is planned: taken as it is, never changed.

Every function gets what a service listed, as JSON, and gives the one that is meant, or None where there is none. One of
the right name that does not fit is a StageError with both values, and so are two of a name. Whether somebody made it
with nodrop, its mark says (`is_tagged`); all else stays as it was found.
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
    """A property that has to be as planned."""

    name: str
    expected: object
    actual: object


def find_network(cloud: Cloud, wanted: CloudNetwork, listed: Iterable[Json]) -> Json | None:
    """The network: the project's own, else one that is shared or external; where it must exist, any that is seen.

    Raises StageError where it must exist and does not, differs, or there are two.
    """
    of_name = [each for each in listed if each.get("name") == wanted.name]
    own = [each for each in of_name if _in_project(cloud, each)]
    open_to_all = [each for each in of_name if each.get("shared") or each.get("router:external")]
    found = single_match(cloud, "network", wanted.name, own or open_to_all or (of_name if wanted.must_exist else []))
    if found is None:
        if wanted.must_exist:
            raise StageError(
                f"cloud {cloud.name}: Network {wanted.name} not found: asked for, no network of this name can be seen "
                f"in project {cloud.project_name}; look at `openstack network list`"
            )
        return None
    provider = (
        PropertyCheck(
            "network_type", None if wanted.kind == "any" else wanted.kind, found.get(f"{PROVIDER}network_type")
        ),
        PropertyCheck("segmentation_id", wanted.segmentation_id, found.get(f"{PROVIDER}segmentation_id")),
        PropertyCheck("physical_network", wanted.physical_network, found.get(f"{PROVIDER}physical_network")),
    )
    told = tuple(each for each in provider if each.actual is not None)  # only administrators are told
    _require_match(
        cloud, "network", found, [*told, PropertyCheck("admin_state_up", True, found.get("admin_state_up", True))]
    )
    return found


def find_subnet(cloud: Cloud, wanted: CloudNetwork, network: Json, listed: Iterable[Json]) -> Json | None:
    """The subnet of a network that was found. Raises StageError where it differs, or may not be added."""
    if wanted.subnet is None:
        return None
    of_network = [each for each in listed if each.get("network_id") == network["id"]]
    found = single_match(
        cloud, "subnet", wanted.subnet, [each for each in of_network if each.get("name") == wanted.subnet]
    )
    if found is None:
        if wanted.must_exist or not is_tagged("network", network):
            there = ", ".join(f"{each.get('name') or each['id']} ({each['cidr']})" for each in of_network) or "none"
            raise StageError(
                f"cloud {cloud.name}: subnet {wanted.subnet} of network {wanted.name} asked for, it has {there}; "
                "nodrop did not make it and adds nothing to it: name one of its subnets, or another network"
            )
        return None
    asked_cidr = str(ipaddress.ip_network(wanted.cidr, strict=False)) if wanted.cidr else None
    _require_match(
        cloud,
        "subnet",
        found,
        [
            PropertyCheck("cidr", asked_cidr, found.get("cidr")),
            PropertyCheck("gateway_ip", wanted.gateway, found.get("gateway_ip")),
        ],
    )
    return found


def find_flavor(cloud: Cloud, wanted: CloudFlavor, listed: Iterable[Json]) -> Json | None:
    """The flavor, listed with its extra specs. Raises StageError where it differs."""
    found = single_match(cloud, "flavor", wanted.name, [each for each in listed if each.get("name") == wanted.name])
    if found is None:
        return None
    specs: Json = found.get("extra_specs") or {}
    asked = set(wanted.extra_specs) | (set(specs) if is_tagged("flavor", found) else set())
    _require_match(
        cloud,
        "flavor",
        found,
        [
            PropertyCheck("vcpus", wanted.vcpus, found.get("vcpus")),
            PropertyCheck("ram", wanted.ram_mib, found.get("ram")),
            PropertyCheck("disk", wanted.disk_gib, found.get("disk")),
            *(
                PropertyCheck(f"extra spec {key}", wanted.extra_specs.get(key, "not set"), specs.get(key))
                for key in sorted(asked)
            ),
        ],
    )
    return found


def find_image(cloud: Cloud, wanted: CloudImage, listed: Iterable[Json]) -> Json | None:
    """The image, of those that are active. Raises StageError where its content is not the file's.

    Properties of an image that nodrop did not make have to be as planned; those of its own may be set.
    """
    active = [each for each in listed if each.get("name") == wanted.name and each.get("status") == "active"]
    found = single_match(
        cloud, "image", wanted.name, [each for each in active if each.get("owner") == cloud.project_id] or active
    )
    if found is None:
        return None
    if wanted.file and found.get("os_hash_value") and found.get("os_hash_algo") in hashlib.algorithms_available:
        algorithm = str(found["os_hash_algo"])
        content = PropertyCheck(algorithm, _file_digest(wanted.file, algorithm)[:16], str(found["os_hash_value"])[:16])
        _require_match(cloud, "image", found, [content])
    if not is_tagged("image", found):
        properties = [PropertyCheck(key, value, found.get(key)) for key, value in wanted.properties.items()]
        _require_match(cloud, "image", found, properties)
    return found


def find_port(cloud: Cloud, wanted: CloudPort, network_id: str, listed: Iterable[Json]) -> Json | None:
    """The port, which nodrop must have made: a port of somebody else may be in use. Raises StageError."""
    of_name = [each for each in listed if each.get("name") == wanted.name and _in_project(cloud, each)]
    found = single_match(cloud, "port", wanted.name, of_name)
    if found is None:
        return None
    if not is_tagged("port", found):
        raise StageError(
            f"cloud {cloud.name}: port {wanted.name} asked for, there is one ({found['id']}) that nodrop did not make; "
            "take it away, or give the VMs another name"
        )
    is_filtered = bool(found.get("port_security_enabled") and found.get("security_groups"))
    _require_match(
        cloud,
        "port",
        found,
        [
            PropertyCheck("network_id", network_id, found.get("network_id")),
            PropertyCheck("vnic_type", wanted.vnic_type, found.get("binding:vnic_type", wanted.vnic_type)),
            PropertyCheck("security groups", False, is_filtered),
        ],
    )
    return found


class ServerMatch(NamedTuple):
    """A server of the right name."""

    found: Json
    differences: tuple[str, ...]
    """Why it is not what is planned; empty where it is."""


def find_server(
    cloud: Cloud,
    wanted: CloudServer,
    listed: Iterable[Json],
    *,
    flavor: str,
    image_id: str,
    ports: Sequence[Json],
    user_data_digest: str,
) -> ServerMatch | None:
    """The server with what differs; one of somebody else that is not as planned is a StageError.

    Args:
        cloud: where.
        wanted: the server.
        listed: servers in detail, as of Nova's microversion 2.47 or later.
        flavor: name of its flavor.
        image_id: of its image.
        ports: its ports as they are now, in the plan's order.
        user_data_digest: of what it is to be told.
    """
    of_name = [each for each in listed if each.get("name") == wanted.name and each.get("tenant_id") == cloud.project_id]
    found = single_match(cloud, "server", wanted.name, of_name)
    if found is None:
        return None
    metadata: Json = found.get("metadata") or {}
    checks = (
        PropertyCheck("status", "ACTIVE", found.get("status")),
        PropertyCheck("flavor", flavor, (found.get("flavor") or {}).get("original_name")),
        PropertyCheck("image", image_id, (found.get("image") or {}).get("id") if found.get("image") else None),
        PropertyCheck("ports", [found["id"]] * len(ports), [each.get("device_id") for each in ports]),
        PropertyCheck("chain", str(wanted.chain), metadata.get(CHAIN)),
        PropertyCheck("user data", user_data_digest[:16], str(metadata.get(USER_DATA, ""))[:16]),
    )
    differences = tuple(_differences(checks))
    if differences and not is_tagged("server", found):
        raise StageError(
            f"cloud {cloud.name}: Instance {wanted.name} cannot be reused ({'; '.join(differences)}), and nodrop "
            "did not make it, so it stays; take it away, or give the VMs another name"
        )
    return ServerMatch(found, differences)


def _in_project(cloud: Cloud, found: Json) -> bool:
    return bool(found.get("project_id", found.get("tenant_id")) == cloud.project_id)


def single_match(cloud: Cloud, what: str, name: str, candidates: Sequence[Json]) -> Json | None:
    """The one of a name; None where there is none. Raises StageError where there are several."""
    if len(candidates) > 1:
        ids = ", ".join(str(each["id"]) for each in candidates)
        raise StageError(
            f"cloud {cloud.name}: one {what} {name} asked for, there are {len(candidates)} of this name ({ids}); "
            "rename or take away all but one, or ask for another name"
        )
    return candidates[0] if candidates else None


def _differences(checks: Iterable[PropertyCheck]) -> Iterator[str]:
    for name, asked, found in checks:
        if asked is not None and asked != found:
            yield f"{name}: {asked} asked, it is {found if found is not None else 'not set'}"


def _require_match(cloud: Cloud, kind: ResourceKind, found: Json, checks: Sequence[PropertyCheck]) -> None:
    """Raise StageError, in NFVbench's words, where something is not as planned."""
    differing = [check for check in checks if any(_differences([check]))]
    if not differing:
        return
    what, name = kind.replace("_", " "), found.get("name") or found["id"]
    does = "take it away (`nodrop cleanup`)" if is_tagged(kind, found) else "ask for what it is"
    first, *more = differing
    raise StageError(
        f"cloud {cloud.name}: Mismatch of '{first.name}' for reused {what} {name}: {'; '.join(_differences([first]))}"
        f"{''.join(f'; {each}' for each in _differences(more))}; {does}, or give another name"
    )


def _file_digest(file: str, algorithm: str) -> str:
    with Path(file).expanduser().open("rb") as content:
        return hashlib.file_digest(content, algorithm).hexdigest()
