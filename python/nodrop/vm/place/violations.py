"""Violated requirements of a host, the deciding one first."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from nodrop.model.placement import Constraint, Violation
from nodrop.units import format_bps, format_bytes, format_count
from nodrop.vm.place import unrestricted
from nodrop.vm.place.host_choice import Candidate, Decision, scale_profile
from nodrop.vm.place.host_constraints import check_host_constraints
from nodrop.vm.place.inventory import FreeNode, HostInventory
from nodrop.vm.place.policy import PlacementOptions
from nodrop.vm.place.ports import NoAssignment, explain_refusal
from nodrop.vm.place.requirements import SetNeed, VmNeed, count_needs
from nodrop.vm.place.search import NodeAssignment, NodeSearch, NoNodeAssignment, count_normal_bytes, sum_node_traffic

JOINT_CONSTRAINTS: tuple[Constraint, ...] = (
    "node",
    "cpus",
    "large pages",
    "memory",
    "memory bandwidth",
    "interfaces",
    "node links",
    "devices",
    "host reserve",
)
"""Constraints that sets may violate jointly although each alone meets them."""


def list_violations(decision: Decision, host: HostInventory) -> tuple[Violation, ...]:
    """Return all violations; of a VMD with several profiles, those of each, with its name."""
    several = len(decision.vmd.profiles) > 1
    violations: list[Violation] = []
    for index, profile in enumerate(decision.vmd.profiles):
        name = f"profile {profile.name or index}" if several else ""
        for each in _list_profile_violations(count_needs(profile), host, decision.options, decision.vm):
            place = ", ".join(part for part in (name, each.where) if part)
            violations.append(each.replace(where=place) if place != each.where else each)
    return tuple(violations)


def find_deciding(decision: Decision, host: HostInventory) -> tuple[Violation, ...]:
    """Return the deciding violation of the VMD's last profile, if it can be determined without a search."""
    need = count_needs(decision.vmd.profiles[-1])
    verdict = check_host_constraints(need.profile, host, decision.options, decision.vm)
    if not host.nodes or need.profile.topology == "unrestricted" or need.profile.scales_with_cores:
        return list_violations(decision, host)[:1]
    if verdict.violations:
        return verdict.violations[:1]
    search = NodeSearch(need, host, decision.options)
    alone = (each for position in range(len(need.sets)) for each in _set_violations(search, position))
    joint = Violation(
        constraint="node",
        asked=f"nodes for {len(need.sets)} sets at once",
        found="one for each alone, but not for all together",
    )
    return (next(alone, joint),)


def _list_profile_violations(
    need: VmNeed, host: HostInventory, options: PlacementOptions, vm: str
) -> Iterator[Violation]:
    verdict = check_host_constraints(need.profile, host, options, vm)
    grown = scale_profile(need.profile, verdict, options)
    if grown:
        need = count_needs(grown)
        verdict = check_host_constraints(grown, host, options._replace(guarantee_min_ratio=0.0), vm)
    yield from verdict.violations
    if not host.nodes:
        yield Violation(constraint="node", asked="a NUMA node", found="none described")
        return
    if need.profile.topology == "unrestricted":
        yield from _list_pooled_violations(need, host, options)
        return
    search = NodeSearch(need, host, options)
    alone = [each for position in range(len(need.sets)) for each in _set_violations(search, position)]
    yield from alone
    lacking: set[Constraint] = {"cpus" if each.constraint == "thread pairs" else each.constraint for each in alone}
    yield from _list_joint_violations(need, host, options, frozenset(lacking))


def _set_violations(search: NodeSearch, position: int) -> Iterator[Violation]:
    """Yield the violations of a set on each node, if no node meets all requirements."""
    violations: list[Violation] = []
    for node, room in enumerate(search.inventory.nodes):
        node_violations = list(_list_node_violations(search, node, (position,)))
        if not node_violations:
            return
        violations += [each.replace(where=f"set {position}, node {room.id}") for each in node_violations]
    # The node that comes closest says best what is missing.
    by_node: dict[str, int] = {}
    for each in violations:
        by_node[each.where] = by_node.get(each.where, 0) + 1
    yield from sorted(violations, key=lambda each: by_node[each.where])


def explain_other_nodes(decision: Decision, best: Candidate, position: int, at: int) -> Iterator[str]:
    """Yield why a set cannot use the other nodes of the chosen host, if the set alone is the reason."""
    search = NodeSearch(best.need, best.inventory, decision.options)
    for node, room in enumerate(best.inventory.nodes):
        if node != at:
            violations = list(_list_node_violations(search, node, (position,)))
            if violations:
                yield f"node {room.id}: " + "; ".join(f"{each.asked} required, {each.found}" for each in violations)


def _list_node_violations(search: NodeSearch, node: int, positions: tuple[int, ...]) -> Iterator[Violation]:
    room, needs = search.inventory.nodes[node], [search.need.sets[each] for each in positions]
    for constraint in search.list_shortages(node, positions):
        yield describe_shortage(constraint, room, needs, search)
    requests = [each for position in positions for each in search.list_requests(node, position)]
    if isinstance(search.solver.assign_ports(requests), NoAssignment):
        yield _build_interface_violation(search, node, positions)


def describe_shortage(
    constraint: Constraint, room: FreeNode, needs: Sequence[SetNeed], search: NodeSearch
) -> Violation:
    """Describe the requirement of sets on a node, and what it has."""
    if constraint == "cpus":
        return _build_core_violation(room, needs, search)
    if constraint == "large pages":
        sizes = sorted({each.page_bytes for each in needs if each.page_count})
        requested = {size: sum(each.page_count for each in needs if each.page_bytes == size) for size in sizes}
        short = [size for size in sizes if requested[size] > (room.pages.get(size) or 0)]
        return Violation(
            constraint=constraint,
            asked=", ".join(f"{requested[size]} of {format_bytes(size)}" for size in short),
            found=", ".join(_free_pages_text(room, size) for size in short),
        )
    if constraint == "memory bandwidth":
        total, used = room.bandwidth_total or 0.0, room.bandwidth_used or 0.0
        return Violation(
            constraint=constraint,
            asked=f"{sum(each.bandwidth for each in needs) / 1e9:.3g} GB/s",
            found=f"{max(0.0, total - used) / 1e9:.3g} GB/s of {total / 1e9:.3g} GB/s",
        )
    normal = sum(each.normal_bytes for each in needs)
    free = count_normal_bytes(room, search.need)
    reserve = search.options.reserve.memory_bytes
    return Violation(
        constraint=constraint,
        asked=f"{format_bytes(normal)} of normal memory"
        + (f", {format_bytes(reserve)} reserved" if constraint == "host reserve" else ""),
        found="unknown" if free is None else f"{format_bytes(free)} free",
    )


def _build_core_violation(room: FreeNode, needs: Sequence[SetNeed], search: NodeSearch) -> Violation:
    groups = sum(len(each.groups) for each in needs)
    singles = sum(len(each.singles) for each in needs)
    vcpus = sum(each.vcpu_count for each in needs)
    if search.manner.shared:
        threads = sum(len(core.cpus) for core in room.shared)
        return Violation(
            constraint="thread pairs" if groups and vcpus <= threads else "cpus",
            asked=f"{vcpus} CPUs" + (f", {groups} groups of threads among them" if groups else ""),
            found=f"{threads} with capacity left",
        )
    threads = sum(len(core.cpus) for core in room.cores)
    fits = vcpus <= threads
    parts = [f"a core for each of {groups} {'pairs' if groups > 1 else 'pair'}"] if groups else []
    if singles:
        parts.append(f"cores for {singles} {'more ' if groups else ''}vCPUs ({search.manner.policy} siblings)")
    return Violation(
        constraint="thread pairs" if fits and (groups or search.manner.policy != "prefer") else "cpus",
        asked=" and ".join(parts),
        found=f"{room.whole_count} whole cores free ({threads} CPUs){_format_other_cpus(room)}",
    )


def _format_other_cpus(room: FreeNode) -> str:
    counts = (
        (room.busy_cpu_count, "in use"),
        (room.refused_cpu_count, "not for VMs"),
        (room.unknown_cpu_count, "of unknown state"),
    )
    text = ", ".join(f"{count} {label}" for count, label in counts if count)
    return f"; {text}" if text else ""


def _free_pages_text(room: FreeNode, size: int) -> str:
    if size not in room.pages:
        return f"none of {format_bytes(size)}"
    free = room.pages[size]
    return f"{format_bytes(size)}: unknown" if free is None else f"{free} free of {format_bytes(size)}"


def _build_interface_violation(search: NodeSearch, node: int, positions: tuple[int, ...]) -> Violation:
    """Return interfaces without any suitable port; otherwise their joint conflict."""
    room = search.inventory.nodes[node]
    requests = [each for position in positions for each in search.list_requests(node, position)]
    accelerated = search.solver.accelerated
    for each in requests:
        refusals = {port.pci_id: explain_refusal(port, each, search.inventory, accelerated) for port in room.ports}
        requested = f"interface {each.number}: {format_bps(each.interface.speed_bps)} {each.interface.mode}"
        if not room.ports:
            return Violation(constraint="interfaces", asked=requested, found="no port on this node")
        if all(refusals.values()):
            reasons = "; ".join(f"{pci_id} {reason}" for pci_id, reason in list(refusals.items())[:4])
            more = f"; {len(refusals) - 4} more" if len(refusals) > 4 else ""
            return Violation(constraint="interfaces", asked=requested, found=reasons + more)
    total = format_bps(sum(each.reserved_bps for each in requests))
    return Violation(
        constraint="interfaces",
        asked=f"{len(requests)} interfaces, {total} in all",
        found="a port for each alone, but together they exceed ports, VFs or the bandwidth of the cards' slots",
    )


def _list_joint_violations(
    need: VmNeed, host: HostInventory, options: PlacementOptions, lacking: frozenset[Constraint]
) -> Iterator[Violation]:
    """Yield the constraints, apart from those of single sets, without which the VM would fit."""

    def assign_without(ignored: AbstractSet[Constraint]) -> NodeAssignment | NoNodeAssignment:
        return NodeSearch(need, host, options, ignored=lacking | ignored).run()

    first = assign_without(frozenset())
    if isinstance(first, NodeAssignment):
        return
    if not first.proven:
        reason = f"undecided after {options.steps_max:,} steps"
        yield Violation(constraint="node", asked="nodes for all sets", found=reason)
        return
    left = [each for each in JOINT_CONSTRAINTS if each not in lacking]
    needed = [each for each in left if isinstance(assign_without({each}), NodeAssignment)]
    if not needed:
        needed = list(left)
        for each in left:
            fewer = {other for other in needed if other != each}
            if isinstance(assign_without(fewer), NodeAssignment):
                needed.remove(each)
    yield from (_build_joint_violation(each, need, host, options) for each in needed)


def _build_joint_violation(
    constraint: Constraint, need: VmNeed, host: HostInventory, options: PlacementOptions
) -> Violation:
    """Return the joint requirement of all sets, and what the host has."""
    place = "all sets together" if len(need.sets) > 1 else ""
    if constraint == "node":
        return Violation(
            constraint="node", asked=f"{len(need.sets)} sets on separate nodes", found=f"{len(host.nodes)} nodes"
        )
    if constraint == "host reserve":
        return Violation(
            constraint=constraint,
            asked=f"{_format_cores(options.reserve.core_count)} for the host in addition to those of the VM",
            found=f"{_format_cores(host.spare_core_count)} without a VM in total",
            where=place,
        )
    if constraint == "node links":
        worst = NodeSearch(need, host, options, ignored=frozenset({"node links"})).run()
        requested = (
            max(sum_node_traffic(need, worst.nodes).values(), default=0.0) if isinstance(worst, NodeAssignment) else 0.0
        )
        return Violation(
            constraint=constraint,
            asked=f"{requested / 1e9:.3g} GB/s between nodes",
            found="less available",
            where=place,
        )
    if constraint == "devices":
        kinds = ", ".join(f"{kind} {model}".strip() for kind, model in need.devices)
        free = ", ".join(device[0] for node in host.nodes for device in node.devices) or "none"
        return Violation(constraint=constraint, asked=f"{kinds} on a node of the VM", found=f"free: {free}")
    return Violation(
        constraint=constraint,
        asked=f"{constraint} for {len(need.sets)} sets at once",
        found="a node for each set alone, but not for all together",
        where=place,
    )


def _list_pooled_violations(need: VmNeed, host: HostInventory, options: PlacementOptions) -> Iterator[Violation]:
    """Yield the violations of a VM without topology on the entire host."""
    search = NodeSearch(need, host, options)
    room = unrestricted.pool_nodes(host, range(len(host.nodes)))
    for constraint in unrestricted.list_shortages(need, host, options):
        if constraint == "cpus":
            yield _build_core_violation(room, need.sets, search)
        else:
            yield _build_joint_violation(constraint, need, host, options)


def _format_cores(count: int) -> str:
    return format_count(count, "core")
