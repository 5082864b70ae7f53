"""VMs that no topology restricts: their sets in pieces over the nodes of a host, as few as will do."""

from collections.abc import Iterator
from typing import NamedTuple

from nodrop.model.placement import Constraint
from nodrop.vm.place.cores import Chosen, Manner, chosen
from nodrop.vm.place.inventory import Inventory, NodeRoom
from nodrop.vm.place.policy import Terms
from nodrop.vm.place.ports import Ends, Solver, Unsolved, Wanted
from nodrop.vm.place.requirements import Need
from nodrop.vm.place.search import LOCAL_DISTANCE, REMOTE_DISTANCE, Key, local_devices, normal_room


class Piece(NamedTuple):
    """What of a set is on a node."""

    set_index: int
    node: int
    """By position."""
    cpus: dict[int, int]
    page_count: int
    normal_bytes: int


class Split(NamedTuple):
    """A VM in pieces."""

    pieces: tuple[Piece, ...]
    ends: Ends
    devices: tuple[str, ...]
    key: Key
    substitution_count: int
    proven: bool


class _Memory:
    """What is left of the nodes' memory while pieces are handed out."""

    def __init__(self, need: Need, inventory: Inventory, terms: Terms) -> None:
        self.pages = [{size: count or 0 for size, count in node.pages.items()} for node in inventory.nodes]
        reserve = terms.reserve.memory_bytes
        self.normal = [max(0, (normal_room(node, need) or 0) - reserve) for node in inventory.nodes]


def split(need: Need, inventory: Inventory, terms: Terms, substitution_count: int) -> Split | None:
    """A VM over the nodes of a host, those with the most free cores first; None: it does not fit."""
    if any(True for _ in shortages(need, inventory, terms)):
        return None
    order = sorted(range(len(inventory.nodes)), key=lambda at: (-inventory.nodes[at].whole_count, at))
    taken = chosen(pooled(inventory, order), need.sets, _manner(need, inventory))
    ends = any_ends(need, inventory, terms)
    devices = local_devices(need.devices, _devices(inventory))
    if taken is None or not isinstance(ends, Ends) or devices is None:
        return None
    pieces = tuple(_pieces(need, inventory, terms, taken, order))
    count = substitution_count + ends.larger_count
    return Split(pieces, ends, devices, _key(pieces, inventory, terms, ends, count), count, ends.proven)


def shortages(need: Need, inventory: Inventory, terms: Terms) -> Iterator[Constraint]:
    """What a VM lacks on a host, all nodes together."""
    nodes = inventory.nodes
    taken = chosen(pooled(inventory, range(len(nodes))), need.sets, _manner(need, inventory))
    if taken is None:
        yield "cpus"
    elif _taken_count(taken, inventory) > max(0, inventory.spare_core_count - terms.reserve.core_count):
        yield "host reserve"
    for size in need.page_sizes:
        if sum(each.page_count for each in need.sets if each.page_bytes == size) > sum(
            node.pages.get(size) or 0 for node in nodes
        ):
            yield "large pages"
    normal = sum(each.normal_bytes for each in need.sets)
    if normal > sum(normal_room(node, need) or 0 for node in nodes):
        yield "memory"
    elif normal > sum(_Memory(need, inventory, terms).normal):
        yield "host reserve"
    if isinstance(any_ends(need, inventory, terms), Unsolved):
        yield "interfaces"
    if local_devices(need.devices, _devices(inventory)) is None:
        yield "devices"


def any_ends(need: Need, inventory: Inventory, terms: Terms) -> Ends | Unsolved:
    """Ends for its interfaces on whichever node."""
    ports = (*(port for node in inventory.nodes for port in node.ports), *inventory.homeless_ports)
    solver = Solver(inventory, terms.policy, need.profile.hypervisor.accelerated_vswitch)
    wanted = [
        Wanted(each.number, index, one, each.kinds[index], ports)
        for each in need.sets
        for index, one in enumerate(each.interfaces)
    ]
    return solver.ends(wanted)


def pooled(inventory: Inventory, order: "list[int] | range") -> NodeRoom:
    """All nodes as one."""
    nodes = [inventory.nodes[at] for at in order]
    cores = tuple(core for node in nodes for core in node.cores)
    clusters = [
        cluster for node in nodes for cluster in node.clusters or (frozenset(c for k in node.cores for c in k.cpus),)
    ]
    sizes = {len(core.cpus) for core in cores}
    return NodeRoom(
        id=-1,
        cores=cores,
        shared=tuple(core for node in nodes for core in node.shared),
        clusters=tuple(clusters),
        pages={},
        normal_free_bytes=None,
        normal_total_bytes=None,
        bandwidth_total=None,
        bandwidth_used=None,
        ports=(),
        devices=(),
        host_cpus=(),
        busy_cpu_count=0,
        refused_cpu_count=0,
        unknown_cpu_count=0,
        whole_count=len(cores),
        thread_count=max(sizes, default=0),
        uniform=len(sizes) <= 1,
    )


def _manner(need: Need, inventory: Inventory) -> Manner:
    profile = need.profile
    smt_off = inventory.smt_off and any(each.groups for each in need.sets)
    return Manner(profile.thread_policy, profile.cpu_oversubscription_allowed, smt_off)


def _taken_count(taken: Chosen, inventory: Inventory) -> int:
    cpus = {cpu for each in taken for cpu in each.values()}
    return sum(not core.held and not cpus.isdisjoint(core.cpus) for node in inventory.nodes for core in node.shared)


def _devices(inventory: Inventory) -> list[tuple[tuple[str, str, str], ...]]:
    return [*(node.devices for node in inventory.nodes), inventory.homeless_devices]


def _pieces(need: Need, inventory: Inventory, terms: Terms, taken: Chosen, order: list[int]) -> Iterator[Piece]:
    memory = _Memory(need, inventory, terms)
    node_of = {cpu: at for at, node in enumerate(inventory.nodes) for core in node.shared for cpu in core.cpus}
    for each, cpus in zip(need.sets, taken, strict=True):
        near = sorted(order, key=lambda at: -sum(node_of[cpu] == at for cpu in cpus.values()))
        pages, normal = each.page_count, each.normal_bytes
        for at in near:
            here = {vcpu: cpu for vcpu, cpu in sorted(cpus.items()) if node_of[cpu] == at}
            of_pages = min(pages, memory.pages[at].get(each.page_bytes, 0))
            of_normal = min(normal, memory.normal[at])
            pages, normal = pages - of_pages, normal - of_normal
            memory.normal[at] -= of_normal
            if of_pages:
                memory.pages[at][each.page_bytes] -= of_pages
            if here or of_pages or of_normal:
                yield Piece(each.number, at, here, of_pages, of_normal)


def _key(pieces: tuple[Piece, ...], inventory: Inventory, terms: Terms, ends: Ends, substitution_count: int) -> Key:
    """As of sets that are whole; pieces on several nodes are as far apart as nodes of which nothing is known."""
    used = sorted({piece.node for piece in pieces})
    taken = len({cpu for piece in pieces for cpu in piece.cpus.values()})
    node_cores = sum(inventory.nodes[at].whole_count for at in used) - taken
    host_cores = sum(node.whole_count for node in inventory.nodes) - taken
    distance = LOCAL_DISTANCE + REMOTE_DISTANCE * (len(used) - 1)
    if terms.policy == "minimal-substitutions":
        return (substitution_count, len(used), distance, node_cores, 0, host_cores, *ends.cost[1:])
    if terms.policy == "spread":
        return (len(used), distance, -host_cores, -node_cores, 0, *ends.cost[:2], substitution_count)
    return (len(used), distance, node_cores, 0, host_cores, *ends.cost[:2], substitution_count)
