"""NUMA nodes of a host: their CPUs, sibling sets, memory, and how far they are from each other."""

from typing import NamedTuple

from nodrop.host.source import Source
from nodrop.model.chd import NodeLink, NumaNode


class Topology(NamedTuple):
    """Nodes without their devices, and what is between them."""

    nodes: tuple[NumaNode, ...]
    links: tuple[NodeLink, ...]


def describe(source: Source) -> Topology:  # noqa: ARG001
    """Nodes of a machine."""
    return Topology((), ())
