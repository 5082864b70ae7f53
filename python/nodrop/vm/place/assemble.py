"""Materialization of a decision: CPUs, pages, ports and VFs."""

from collections.abc import Iterator
from typing import NamedTuple

from nodrop.model.placement import PlacedInterface, PlacedLink, PlacedSet, Placement
from nodrop.vm.place.cores import CoreRules, assign_cpus
from nodrop.vm.place.host_choice import Candidate
from nodrop.vm.place.inventory import FreePort, HostInventory
from nodrop.vm.place.requirements import SetNeed
from nodrop.vm.place.search import NodeAssignment, sum_node_traffic
from nodrop.vm.place.unrestricted import SplitAssignment


class AssembledPiece(NamedTuple):
    """A set or its part on one node."""

    need: SetNeed
    node: int
    """By position."""
    cpus: dict[int, int]
    page_count: int
    normal_bytes: int
    bandwidth: float


def assemble_placement(vm: str, candidate: Candidate) -> Placement:
    """Build the placement, without explanations."""
    assignment, inventory = candidate.assignment, candidate.inventory
    pieces = (
        _split_pieces(candidate, assignment)
        if isinstance(assignment, SplitAssignment)
        else _build_whole_pieces(candidate, assignment)
    )
    interfaces = _assign_interfaces(candidate)
    devices = _assign_devices(candidate, pieces)
    placed: set[int] = set()
    sets = []
    for piece in pieces:
        first = piece.need.number not in placed
        placed.add(piece.need.number)
        sets.append(
            PlacedSet(
                index=piece.need.number,
                node=inventory.nodes[piece.node].id,
                cpus=dict(sorted(piece.cpus.items())),
                large_page_bytes=piece.need.page_bytes if piece.page_count else None,
                large_page_count=piece.page_count,
                normal_bytes=piece.normal_bytes,
                bandwidth_bytes_per_s=piece.bandwidth,
                interfaces=tuple(interfaces[piece.need.number]) if first else (),
                devices=devices.get(piece.need.number, ()) if first else (),
            )
        )
    return Placement(
        vm=vm,
        host_id=inventory.id,
        hostname=inventory.hostname,
        profile=candidate.profile,
        scaled=candidate.need.profile if candidate.scaled else None,
        sets=tuple(sets),
        links=tuple(_list_links(candidate)),
        emulator_cpus=select_emulator_cpus(inventory, pieces),
        guarantee=candidate.guarantee,
    )


def _build_whole_pieces(candidate: Candidate, assignment: NodeAssignment) -> list[AssembledPiece]:
    need, inventory = candidate.need, candidate.inventory
    profile = need.profile
    smt_off = inventory.smt_off and any(each.groups for each in need.sets)
    manner = CoreRules(profile.thread_policy, profile.cpu_oversubscription_allowed, smt_off)
    pieces = []
    for node in sorted(set(assignment.nodes)):
        needs = [each for each, at in zip(need.sets, assignment.nodes, strict=True) if at == node]
        cpu_sets = assign_cpus(inventory.nodes[node], needs, manner)
        assert cpu_sets is not None, "what fits in numbers fits"
        pieces += [
            AssembledPiece(each, node, cpus, each.page_count, each.normal_bytes, each.bandwidth)
            for each, cpus in zip(needs, cpu_sets, strict=True)
        ]
    return sorted(pieces, key=lambda piece: piece.need.number)


def _split_pieces(candidate: Candidate, assignment: SplitAssignment) -> list[AssembledPiece]:
    sets = candidate.need.sets
    return [
        AssembledPiece(
            sets[each.set_index],
            each.node,
            each.cpus,
            each.page_count,
            each.normal_bytes,
            sets[each.set_index].bandwidth * len(each.cpus) / sets[each.set_index].vcpu_count,
        )
        for each in assignment.pieces
    ]


def _assign_interfaces(candidate: Candidate) -> dict[int, list[PlacedInterface]]:
    """Return the ports of each set's interfaces; of equal VFs the first free one."""
    assignment, switches = candidate.assignment, candidate.inventory.switches
    vf_counts: dict[str, int] = {}
    ends = iter(assignment.ends.ports)
    placed: dict[int, list[PlacedInterface]] = {}
    for each in candidate.need.sets:
        set_interfaces = placed.setdefault(each.number, [])
        for index, requested in enumerate(each.interfaces):
            port: FreePort = next(ends)
            pci_id = port.pci_id
            if requested.mode == "sriov":
                vf_counts[pci_id] = vf_counts.get(pci_id, 0) + 1
                pci_id = port.vfs[vf_counts[pci_id] - 1]
            switch = switches.get(port.vswitch) if requested.mode == "vswitch" else None
            set_interfaces.append(
                PlacedInterface(
                    index=index,
                    mode=requested.mode,
                    pci_id=pci_id,
                    port_pci_id=port.pci_id,
                    netdev=port.netdev,
                    vswitch=port.vswitch if requested.mode == "vswitch" else "",
                    vswitch_kind=switch.kind if switch else "",
                    speed_bps=requested.speed_bps,
                    bandwidth_bps=requested.bandwidth_bps,
                )
            )
    return placed


def _assign_devices(candidate: Candidate, pieces: list[AssembledPiece]) -> dict[int, tuple[str, ...]]:
    """Return devices by set: the first set on their node, otherwise the first set."""
    nodes = {device[0]: at for at, node in enumerate(candidate.inventory.nodes) for device in node.devices}
    by_set: dict[int, tuple[str, ...]] = {}
    for pci_id in candidate.assignment.devices:
        near = [piece.need.number for piece in pieces if piece.node == nodes.get(pci_id)]
        number = near[0] if near else pieces[0].need.number
        by_set[number] = (*by_set.get(number, ()), pci_id)
    return by_set


def _list_links(candidate: Candidate) -> Iterator[PlacedLink]:
    if isinstance(candidate.assignment, NodeAssignment):
        nodes = candidate.inventory.nodes
        for (a, b), requested in sorted(sum_node_traffic(candidate.need, candidate.assignment.nodes).items()):
            yield PlacedLink(a=nodes[a].id, b=nodes[b].id, bytes_per_s=requested)


def select_emulator_cpus(inventory: HostInventory, pieces: list[AssembledPiece]) -> tuple[int, ...]:
    """Return the CPUs for hypervisor threads: host CPUs near the VM, otherwise elsewhere, otherwise a free core."""
    used = sorted({piece.node for piece in pieces})
    near = tuple(cpu for at in used for cpu in inventory.nodes[at].host_cpus)
    if near:
        return tuple(sorted(near))
    host_cpus = tuple(cpu for node in inventory.nodes for cpu in node.host_cpus)
    if host_cpus:
        return tuple(sorted(host_cpus))
    assigned = {cpu for piece in pieces for cpu in piece.cpus.values()}
    order = [*used, *(at for at in range(len(inventory.nodes)) if at not in used)]
    free = (core.cpus for at in order for core in inventory.nodes[at].cores if assigned.isdisjoint(core.cpus))
    return next(free, ())
