"""How what nodrop made in a cloud is known from all else there: by a mark set in the very request that makes it.

Networks, subnets, ports, routers, floating IPs and flavors have it as their description, servers as metadata, images as
a tag. Server groups can hold none, so their name is the mark. Neutron's own tags are of no use for this: they are set
after the resource was made, and a Neutron that lists the extension `tag-creation` may refuse them before.
"""

from collections.abc import Mapping
from typing import Any

from nodrop.model.cloud import ResourceKind

Json = Mapping[str, Any]
TAG = "nodrop"
PROJECT_MARKER = "for project"
CHAIN = "nodrop-chain"
"""Metadata of a server: which chain it is in."""
USER_DATA = "nodrop-user-data"
"""Metadata of a server: SHA-256 of what it was told when it was made, which Nova tells nobody again."""


def ownership_tag(label: str) -> str:
    """What everything that is made under a label carries."""
    return f"{TAG}:{label}"


def flavor_tag(label: str, project_id: str) -> str:
    """What a flavor carries: flavors are in no project, so it says for which one it was made."""
    return f"{ownership_tag(label)} {PROJECT_MARKER} {project_id}"


def belongs_to_project(text: str | None, project_id: str) -> bool:
    """Whether a flavor's mark says that it was made for this project."""
    return f" {PROJECT_MARKER} " not in (text or "") or str(text).endswith(f" {PROJECT_MARKER} {project_id}")


def server_group_name(label: str, chain: int | None = None) -> str:
    """Name of a server group: of all VMs, or of a chain's."""
    return ownership_tag(label) if chain is None else f"{ownership_tag(label)} chain {chain}"


def parse_label(text: str | None) -> str | None:
    """The label of a mark or of a group's name; None: it is none, and so what carries it was made by somebody else."""
    kind, _, label = (text or "").split(" ")[0].partition(":")
    return label if kind == TAG and label else None


def owner_label(kind: ResourceKind, found: Json) -> str | None:
    """The label under which nodrop made it; None: somebody else did."""
    if kind == "server":
        metadata: Json = found.get("metadata") or {}
        return parse_label(next((each for each in metadata.values() if parse_label(each)), None))
    if kind == "image":
        return next(filter(None, map(parse_label, found.get("tags") or ())), None)
    if kind == "server_group":
        return parse_label(found.get("name"))
    return parse_label(found.get("description"))


def is_tagged(kind: ResourceKind, found: Json) -> bool:
    """Whether nodrop made it."""
    return owner_label(kind, found) is not None
