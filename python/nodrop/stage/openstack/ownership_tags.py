"""Ownership tags, which mark the resources that nodrop created, set by the request that creates each.

Networks, subnets, ports, routers, floating IPs and flavors carry the tag as their description, servers as metadata,
images as a tag. Server groups have no such field, so their name is the tag. Neutron's own tags do not work: they are
set after creation, and a Neutron that lists the extension `tag-creation` may reject them in the creating request.
"""

from collections.abc import Mapping
from typing import Any

from nodrop.model.cloud import ResourceKind

Json = Mapping[str, Any]
TAG = "nodrop"
PROJECT_MARKER = "for project"
CHAIN = "nodrop-chain"
"""Metadata key of a server: its chain."""
USER_DATA = "nodrop-user-data"
"""Metadata key of a server: SHA-256 of its user data, which Nova does not return."""


def build_ownership_tag(label: str) -> str:
    """Return the tag of all resources created under a label."""
    return f"{TAG}:{label}"


def build_flavor_tag(label: str, project_id: str) -> str:
    """Return the tag of a flavor, which names the project because flavors belong to none."""
    return f"{build_ownership_tag(label)} {PROJECT_MARKER} {project_id}"


def belongs_to_project(text: str | None, project_id: str) -> bool:
    """Return whether a flavor's tag names this project, or none."""
    return f" {PROJECT_MARKER} " not in (text or "") or str(text).endswith(f" {PROJECT_MARKER} {project_id}")


def build_server_group_name(label: str, chain: int | None = None) -> str:
    """Return the name of a server group: for all VMs, or for one chain's."""
    return build_ownership_tag(label) if chain is None else f"{build_ownership_tag(label)} chain {chain}"


def parse_label(text: str | None) -> str | None:
    """Return the label of a tag or of a group's name; None for any other text: nodrop did not create the resource."""
    kind, _, label = (text or "").split(" ")[0].partition(":")
    return label if kind == TAG and label else None


def read_owner_label(kind: ResourceKind, resource: Json) -> str | None:
    """Return the label under which nodrop created a resource; None if it did not."""
    if kind == "server":
        metadata: Json = resource.get("metadata") or {}
        return parse_label(next((each for each in metadata.values() if parse_label(each)), None))
    if kind == "image":
        return next(filter(None, map(parse_label, resource.get("tags") or ())), None)
    if kind == "server_group":
        return parse_label(resource.get("name"))
    return parse_label(resource.get("description"))


def is_tagged(kind: ResourceKind, resource: Json) -> bool:
    """Return whether nodrop created a resource."""
    return read_owner_label(kind, resource) is not None
