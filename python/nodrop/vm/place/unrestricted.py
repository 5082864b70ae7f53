"""Placement of VMs without topology: sets are split over as few nodes as possible."""

from collections.abc import Iterator
from typing import NamedTuple

from nodrop.model.placement import Constraint
from nodrop.vm.place.cores import CoreRules, CpuAssignment, assign_cpus
from nodrop.vm.place.inventory import FreeNode, HostInventory
from nodrop.vm.place.policy import PlacementOptions
from nodrop.vm.place.ports import InterfaceRequest, NoAssignment, PortAssignment, PortSolver
from nodrop.vm.place.requirements import VmNeed
from nodrop.vm.place.search import LOCAL_DISTANCE, REMOTE_DISTANCE, CandidateKey, assign_devices, count_normal_bytes


class SplitPiece(NamedTuple):
    """The part of a set on a node."""

    set_index: int
    node: int
    """By position."""
    cpus: dict[int, int]
    page_count: int
    normal_bytes: int


class SplitAssignment(NamedTuple):
    """A split VM."""

    pieces: tuple[SplitPiece, ...]
    ends: PortAssignment
    devices: tuple[str, ...]
    key: CandidateKey
    substitution_count: int
    proven: bool


class _Memory:
    """Remaining memory of the nodes during the assignment."""

    def __init__(self, need: VmNeed, inventory: HostInventory, options: PlacementOptions) -> None:
        self.pages = [{size: count or 0 for size, count in node.pages.items()} for node in inventory.nodes]
        reserve = options.reserve.memory_bytes
        self.normal = [max(0, (count_normal_bytes(node, need) or 0) - reserve) for node in inventory.nodes]


def split_vm(
    need: VmNeed, inventory: HostInventory, options: PlacementOptions, substitution_count: int
) -> SplitAssignment | None:
    """Split a VM over the nodes of a host, those with the most free cores first; None: it does not fit."""
    if any(True for _ in list_shortages(need, inventory, options)):
        return None
    order = sorted(range(len(inventory.nodes)), key=lambda at: (-inventory.nodes[at].whole_count, at))
    assignment = assign_cpus(pool_nodes(inventory, order), need.sets, _build_core_rules(need, inventory))
    ends = assign_ports(need, inventory, options)
    devices = assign_devices(need.devices, _assign_devices(inventory))
    if assignment is None or not isinstance(ends, PortAssignment) or devices is None:
        return None
    pieces = tuple(_build_pieces(need, inventory, options, assignment, order))
    count = substitution_count + ends.larger_count
    return SplitAssignment(
        pieces, ends, devices, _build_key(pieces, inventory, options, ends, count), count, ends.proven
    )


def list_shortages(need: VmNeed, inventory: HostInventory, options: PlacementOptions) -> Iterator[Constraint]:
    """Yield the resources that a VM lacks on all nodes together."""
    nodes = inventory.nodes
    assignment = assign_cpus(pool_nodes(inventory, range(len(nodes))), need.sets, _build_core_rules(need, inventory))
    if assignment is None:
        yield "cpus"
    elif _count_assigned_cores(assignment, inventory) > max(0, inventory.spare_core_count - options.reserve.core_count):
        yield "host reserve"
    for size in need.page_sizes:
        if sum(each.page_count for each in need.sets if each.page_bytes == size) > sum(
            node.pages.get(size) or 0 for node in nodes
        ):
            yield "large pages"
    normal = sum(each.normal_bytes for each in need.sets)
    if normal > sum(count_normal_bytes(node, need) or 0 for node in nodes):
        yield "memory"
    elif normal > sum(_Memory(need, inventory, options).normal):
        yield "host reserve"
    if isinstance(assign_ports(need, inventory, options), NoAssignment):
        yield "interfaces"
    if assign_devices(need.devices, _assign_devices(inventory)) is None:
        yield "devices"


def assign_ports(need: VmNeed, inventory: HostInventory, options: PlacementOptions) -> PortAssignment | NoAssignment:
    """Assign its interfaces to ports of any node."""
    ports = (*(port for node in inventory.nodes for port in node.ports), *inventory.homeless_ports)
    solver = PortSolver(inventory, options.policy, need.profile.hypervisor.accelerated_vswitch)
    requests = [
        InterfaceRequest(each.number, index, interface, each.kinds[index], ports)
        for each in need.sets
        for index, interface in enumerate(each.interfaces)
    ]
    return solver.assign_ports(requests)


def pool_nodes(inventory: HostInventory, order: "list[int] | range") -> FreeNode:
    """Return all nodes as one."""
    nodes = [inventory.nodes[at] for at in order]
    cores = tuple(core for node in nodes for core in node.cores)
    clusters = [
        cluster for node in nodes for cluster in node.clusters or (frozenset(c for k in node.cores for c in k.cpus),)
    ]
    sizes = {len(core.cpus) for core in cores}
    return FreeNode(
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


def _build_core_rules(need: VmNeed, inventory: HostInventory) -> CoreRules:
    profile = need.profile
    smt_off = inventory.smt_off and any(each.groups for each in need.sets)
    return CoreRules(profile.thread_policy, profile.cpu_oversubscription_allowed, smt_off)


def _count_assigned_cores(assignment: CpuAssignment, inventory: HostInventory) -> int:
    cpus = {cpu for each in assignment for cpu in each.values()}
    return sum(
        not core.is_assigned and not cpus.isdisjoint(core.cpus) for node in inventory.nodes for core in node.shared
    )


def _assign_devices(inventory: HostInventory) -> list[tuple[tuple[str, str, str], ...]]:
    return [*(node.devices for node in inventory.nodes), inventory.homeless_devices]


def _build_pieces(
    need: VmNeed, inventory: HostInventory, options: PlacementOptions, assignment: CpuAssignment, order: list[int]
) -> Iterator[SplitPiece]:
    memory = _Memory(need, inventory, options)
    node_of = {cpu: at for at, node in enumerate(inventory.nodes) for core in node.shared for cpu in core.cpus}
    for each, cpus in zip(need.sets, assignment, strict=True):
        near = sorted(order, key=lambda at: -sum(node_of[cpu] == at for cpu in cpus.values()))
        pages, normal = each.page_count, each.normal_bytes
        for at in near:
            node_cpus = {vcpu: cpu for vcpu, cpu in sorted(cpus.items()) if node_of[cpu] == at}
            of_pages = min(pages, memory.pages[at].get(each.page_bytes, 0))
            of_normal = min(normal, memory.normal[at])
            pages, normal = pages - of_pages, normal - of_normal
            memory.normal[at] -= of_normal
            if of_pages:
                memory.pages[at][each.page_bytes] -= of_pages
            if node_cpus or of_pages or of_normal:
                yield SplitPiece(each.number, at, node_cpus, of_pages, of_normal)


def _build_key(
    pieces: tuple[SplitPiece, ...],
    inventory: HostInventory,
    options: PlacementOptions,
    ends: PortAssignment,
    substitution_count: int,
) -> CandidateKey:
    """Return the candidate key, as for unsplit sets; pieces on several nodes count as remote."""
    used = sorted({piece.node for piece in pieces})
    core_count = len({cpu for piece in pieces for cpu in piece.cpus.values()})
    node_cores = sum(inventory.nodes[at].whole_count for at in used) - core_count
    host_cores = sum(node.whole_count for node in inventory.nodes) - core_count
    distance = LOCAL_DISTANCE + REMOTE_DISTANCE * (len(used) - 1)
    if options.policy == "minimal-substitutions":
        return (substitution_count, len(used), distance, node_cores, 0, host_cores, *ends.cost[1:])
    if options.policy == "spread":
        return (len(used), distance, -host_cores, -node_cores, 0, *ends.cost[:2], substitution_count)
    return (len(used), distance, node_cores, 0, host_cores, *ends.cost[:2], substitution_count)
