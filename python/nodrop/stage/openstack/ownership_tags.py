"""How what nodrop made in a cloud is known from all else there: by a mark set in the very request that makes it.

Networks, subnets, ports, routers, floating IPs and flavors have it as their description, servers as metadata, images as
a tag. Server groups can hold none, so their name is the mark. Neutron's own tags are of no use for this: they are set
after the resource was made, and a Neutron that lists the extension `tag-creation` may refuse them before.
"""

MARK = "nodrop"
PROJECT = "for project"
CHAIN = "nodrop-chain"
"""Metadata of a server: which chain it is in."""
USER_DATA = "nodrop-user-data"
"""Metadata of a server: SHA-256 of what it was told when it was made, which Nova tells nobody again."""


def mark(label: str) -> str:
    """What everything that is made under a label carries."""
    return f"{MARK}:{label}"


def flavor_mark(label: str, project_id: str) -> str:
    """What a flavor carries: flavors are in no project, so it says for which one it was made."""
    return f"{mark(label)} {PROJECT} {project_id}"


def is_of_project(text: str | None, project_id: str) -> bool:
    """Whether a flavor's mark says that it was made for this project."""
    return f" {PROJECT} " not in (text or "") or str(text).endswith(f" {PROJECT} {project_id}")


def group_name(label: str, chain: int | None = None) -> str:
    """Name of a server group: of all VMs, or of a chain's."""
    return mark(label) if chain is None else f"{mark(label)} chain {chain}"


def label_of(text: str | None) -> str | None:
    """The label of a mark or of a group's name; None: it is none, and so what carries it was made by somebody else."""
    kind, _, label = (text or "").split(" ")[0].partition(":")
    return label if kind == MARK and label else None
