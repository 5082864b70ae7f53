"""NUMA nodes of a host: CPUs, sibling sets, memory and distances.

Source: ETSI GS NFV-PER 001 clause 8.1.1.4; Linux, Documentation/ABI/stable/sysfs-devices-node and
Documentation/admin-guide/cputopology.rst.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from nodrop.host import cpu_lists, node_memory
from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source
from nodrop.model.chd import Bandwidth, CpuState, NodeCpus, NodeLink, NumaNode
from nodrop.model.observation import Observation
from nodrop.system.cpu_sets import format_cpu_list, parse_cpu_list

NODES = "/sys/devices/system/node"
CPUS = "/sys/devices/system/cpu"
MIB = 1 << 20


class HostTopology(NamedTuple):
    """Nodes without their devices, links between them, and warnings about contradictions."""

    nodes: tuple[NumaNode, ...]
    links: tuple[NodeLink, ...]
    offline_cpus: Observation[tuple[int, ...]]
    warnings: tuple[str, ...] = ()


def describe_topology(source: Source) -> HostTopology:
    """Describe the nodes of a machine, including those without CPUs and those without memory."""
    tree, warnings = source.tree, list[str]()
    online = cpu_lists.read_online_cpus(tree)
    nodes = _read_nodes(tree, online, warnings)
    sockets = {cpu: tree.read_number(f"{CPUS}/cpu{cpu}/topology/physical_package_id") for cpu in online}
    siblings = cpu_lists.read_siblings(tree, online, warnings)
    described = tuple(
        NumaNode(
            id=node,
            socket=_observe_socket(source, cpus, sockets),
            cpus=NodeCpus(
                ids=cpus,
                sibling_sets=_list_sibling_sets(siblings, cpus, node, warnings),
                cpu={cpu: CpuState() for cpu in cpus},
            ),
            memory=node_memory.describe_node_memory(source, node, alone=len(nodes) == 1),
        )
        for node, cpus in nodes.items()
    )
    warnings += node_memory.find_contradictions(source, [node.memory for node in described])
    return HostTopology(
        nodes=described,
        links=_list_links(source, tuple(nodes)),
        offline_cpus=_observe_offline_cpus(source, online),
        warnings=tuple(warnings),
    )


def _read_nodes(tree: FileTree, online: Sequence[int], warnings: list[str]) -> dict[int, tuple[int, ...]]:
    """Return the CPUs of each node; a single node if the kernel reports none. Each CPU is on one node only."""
    if not online:
        warnings.append("CPUs that run are not known: " + (tree.failure_reason(f"{CPUS}/online") or "none listed"))
    ids = [int(name[4:]) for name in tree.list_directory(NODES) if name.startswith("node") and name[4:].isdecimal()]
    if not ids:
        return {0: tuple(online)} if online else {}
    nodes = dict[int, tuple[int, ...]]()
    left = set(online)
    for node in ids:
        cpus = cpu_lists.read_list_or_mask(tree, f"{NODES}/node{node}/cpulist", f"{NODES}/node{node}/cpumap")
        if cpus is None:
            warnings.append(f"CPUs of node {node} are not known: {tree.failure_reason(f'{NODES}/node{node}/cpulist')}")
            cpus = ()
        if twice := (set(cpus) & set(online)) - left:
            warnings.append(
                f"CPUs {format_cpu_list(twice)} are on node {node} and on another one; they are counted there"
            )
        nodes[node] = tuple(cpu for cpu in cpus if cpu in left)
        left -= set(cpus)
    if left:
        warnings.append(f"CPUs {format_cpu_list(left)} are on no node; they are left out")
    return nodes


def _observe_socket(source: Source, cpus: Iterable[int], sockets: Mapping[int, int | None]) -> Observation[int]:
    of = sorted({sockets.get(cpu, None) for cpu in cpus}, key=lambda socket: -1 if socket is None else socket)
    path = f"{CPUS}/cpu{next(iter(cpus), 0)}/topology/physical_package_id"
    if not of:
        return source.moment.unknown("it has no CPUs", path)
    if len(of) > 1:
        spread = ", ".join("none" if socket is None else str(socket) for socket in of)
        return source.moment.unknown(f"its CPUs are of several sockets: {spread}", path)
    if of[0] is None or of[0] < 0:
        return source.moment.unknown(source.tree.failure_reason(path) or "the kernel says -1: not known", path)
    return source.moment.reported(of[0], path)


def _list_sibling_sets(
    siblings: Mapping[int, tuple[int, ...]], cpus: Sequence[int], node: int, warnings: list[str]
) -> tuple[tuple[int, ...], ...]:
    """Return the sibling sets of a node's CPUs in order; they partition the CPUs."""
    sets, left = list[tuple[int, ...]](), set(cpus)
    for cpu in cpus:
        if cpu not in left:
            continue
        siblings_set = tuple(sorted({cpu, *siblings.get(cpu, ())} & left))
        if outside := set(siblings.get(cpu, ())) - set(cpus):
            warnings.append(
                f"CPU {cpu} of node {node} has siblings {format_cpu_list(outside)} that are not on its node"
            )
        sets.append(siblings_set)
        left -= set(siblings_set)
    return tuple(sets)


def _list_links(source: Source, nodes: Sequence[int]) -> tuple[NodeLink, ...]:
    """Return the links between all pairs of nodes."""
    distances = {node: _read_distances(source.tree, node, nodes) for node in nodes}
    return tuple(
        NodeLink(a=a, b=b, distance=_observe_distance(source, a, b, distances), bandwidth=_link_bandwidth(source, a, b))
        for place, a in enumerate(nodes)
        for b in nodes[place + 1 :]
    )


def _read_distances(tree: FileTree, node: int, nodes: Sequence[int]) -> Mapping[int, int]:
    """Return the distances from a node, which the file lists in the order of the online nodes."""
    path = f"{NODES}/node{node}/distance"
    text = tree.read_text(path)
    if text is None:
        return {}
    parts = text.split()
    if len(parts) != len(nodes) or not all(part.isdecimal() and len(part) <= 3 for part in parts):
        tree.record_unexpected(path, text, f"{len(nodes)} distances")
        return {}
    return {to: int(part) for to, part in zip(nodes, parts, strict=True)}


def _observe_distance(source: Source, a: int, b: int, distances: Mapping[int, Mapping[int, int]]) -> Observation[int]:
    path = f"{NODES}/node{a}/distance"
    forward, backward = distances[a].get(b), distances[b].get(a)
    if forward is None:
        return source.moment.unknown(source.tree.failure_reason(path), path)
    return source.moment.reported(forward, path, "" if backward in (None, forward) else f"the way back is {backward}")


def _link_bandwidth(source: Source, a: int, b: int) -> Bandwidth:
    """Return the bandwidth to memory whose nearest CPUs are on the other node: the bandwidth of the link.

    Source: Linux, Documentation/admin-guide/mm/numaperf.rst; MiB per second.
    """
    for memory, cpus in ((a, b), (b, a)):
        initiators = f"{NODES}/node{memory}/access0/initiators"
        names = source.tree.list_directory(initiators)
        if f"node{cpus}" in names and f"node{memory}" not in names:
            path = f"{initiators}/read_bandwidth"
            if speed := source.tree.read_number(path):
                reason = f"what the firmware says of CPUs of node {cpus} that read memory of node {memory}"
                return Bandwidth(total_bytes_per_s=source.moment.inferred(float(speed * MIB), path, reason))
    return Bandwidth(
        total_bytes_per_s=source.moment.unknown("the firmware does not say"),
        used_bytes_per_s=source.moment.unknown("needs the processor's link counters"),
    )


def _observe_offline_cpus(source: Source, online: Sequence[int]) -> Observation[tuple[int, ...]]:
    path = f"{CPUS}/present"
    text = source.tree.read_text(path)
    present = None if text is None else parse_cpu_list(text)
    if present is None:
        return source.moment.unknown(source.tree.failure_reason(path) or "holds no list of CPUs", path)
    return source.moment.reported(tuple(sorted(set(present) - set(online))), path)
