"""Explanation of a decision: reasons, substitutions, warnings, remaining resources, rejected hosts."""

from collections.abc import Iterator

from nodrop.model.placement import Constraint, Placement, PlacementResult, Rejection
from nodrop.units import format_bps, format_bytes
from nodrop.vm.place.assemble import assemble_placement
from nodrop.vm.place.host_choice import Candidate, Decision
from nodrop.vm.place.inventory import FreeNode, FreePort, HostInventory, build_inventory
from nodrop.vm.place.residual_host import subtract_placement
from nodrop.vm.place.search import NodeAssignment, sum_node_traffic
from nodrop.vm.place.unrestricted import SplitAssignment
from nodrop.vm.place.violations import explain_other_nodes, find_deciding, list_violations

REJECTIONS_IN_FULL = 3
"""Up to this number, rejected hosts are explained in full."""
CRITERIA = {
    "guarantee": "it guarantees more of the promised performance",
    "nodes": "fewer nodes",
    "distance": "nodes that are nearer to each other",
    "tight_cores": "fewer cores left over on its nodes",
    "tight_pages": "fewer large pages left over on its nodes",
    "tight_host": "fewer cores left over on the host",
    "free_host": "more cores left on the host",
    "free_cores": "more cores left on its nodes",
    "free_pages": "more large pages left on its nodes",
    "link": "fewer ports without a link",
    "opened": "fewer ports newly used",
    "spread": "interfaces on more ports",
    "substitutions": "fewer substitutions",
}
"""What makes a host better, as text."""
_NEAR, _TIGHT = ("nodes", "distance"), ("tight_cores", "tight_pages", "tight_host")
CRITERIA_BY_POLICY: dict[str, tuple[str, ...]] = {
    "best-fit": ("guarantee", *_NEAR, *_TIGHT, "link", "opened", "substitutions"),
    "spread": ("guarantee", *_NEAR, "free_host", "free_cores", "free_pages", "link", "spread", "substitutions"),
    "minimal-substitutions": ("guarantee", "substitutions", *_NEAR, *_TIGHT, "link", "opened"),
}
"""Criteria of each policy in its order: those of the keys of candidates."""


def explain_decision(decision: Decision, *, in_full: bool = True) -> PlacementResult:
    """Return the placement with its reasons, and the violations of each rejected host.

    Args:
        decision: the decision on a VM.
        in_full: all violations of every host. Otherwise, with many rejected hosts, only the deciding one of each, and
            all violations of one host per deciding constraint, to keep the output readable.
    """
    best = decision.candidates[0] if decision.candidates else None
    return PlacementResult(
        vm=decision.vm,
        policy=decision.options.policy,
        placement=add_explanations(assemble_placement(decision.vm, best), decision) if best else None,
        alternatives=tuple(each.inventory.id for each in decision.candidates[1:]),
        rejections=tuple(_list_rejections(decision, in_full or len(decision.refused) <= REJECTIONS_IN_FULL)),
    )


def _list_rejections(decision: Decision, in_full: bool) -> Iterator[Rejection]:
    reported: set[Constraint] = set()
    for host in decision.refused:
        first = () if in_full else find_deciding(decision, host)
        if not first or first[0].constraint not in reported:
            reported.update(each.constraint for each in first)
            first = list_violations(decision, host)
        yield Rejection(host_id=host.id, hostname=host.hostname, violations=first)


def add_explanations(placement: Placement, decision: Decision) -> Placement:
    """Add substitutions, warnings, reasons and slack to the placement."""
    best = decision.candidates[0]
    return placement.replace(
        substitutions=tuple(_list_substitutions(best, placement)),
        warnings=tuple(_list_warnings(best, placement)),
        reasons=tuple(_list_reasons(decision, placement)),
        slack=compute_slack(best.inventory, placement),
    )


def _list_reasons(decision: Decision, placement: Placement) -> Iterator[str]:
    best, *alternatives = decision.candidates
    if not alternatives:
        count = len(decision.refused)
        yield f"{placement.hostname} is the only host that fits" + (f", of {count + 1}" if count else "")
    else:
        fit = f"of {len(alternatives) + 1} hosts that fit, {placement.hostname} by {decision.options.policy}"
        yield f"{fit}: {_find_decisive_criterion(decision)}"
    if isinstance(best.assignment, SplitAssignment):
        nodes = sorted({each.node for each in placement.sets})
        if len(nodes) > 1:
            yield f"split over nodes {', '.join(map(str, nodes))}: no node has enough resources, no topology required"
        return
    for position, at in enumerate(best.assignment.nodes):
        for reason in explain_other_nodes(decision, best, position, at):
            yield f"set {position} not on {reason}"


def _find_decisive_criterion(decision: Decision) -> str:
    """Return the first criterion in which the best host beats the second."""
    best, second = decision.candidates[:2]
    policy = decision.options.policy
    for criterion, best_value, second_value in zip(CRITERIA_BY_POLICY[policy], best.key, second.key, strict=False):
        if best_value != second_value:
            return f"{CRITERIA[criterion]} than on {second.inventory.hostname}"
    return f"as good as {second.inventory.hostname}; the first by name"


def _list_substitutions(best: Candidate, placement: Placement) -> Iterator[str]:
    if best.verdict.standing.substitution:
        yield f"processor: {best.verdict.standing.substitution}"
    if best.scaled:
        added = sum(len(each.cpus) for each in placement.sets)
        yield f"{added} vCPUs, more than described, to compensate for slower ones ({best.verdict.standing.label})"
    if best.inventory.smt_off:
        for need in best.need.sets:
            if need.groups:
                pairs = ", ".join("-".join(map(str, group)) for group in need.groups)
                yield f"SMT is off: vCPUs {pairs} of set {need.number} have a core each instead of sibling threads"
    for number, index, port in _iter_ends(best):
        requested = best.need.sets[number].interfaces[index]
        if (port.speed_bps or 0) > requested.speed_bps:
            speeds = f"a port of {format_bps(port.speed_bps or 0)} for {format_bps(requested.speed_bps)}"
            yield f"interface {index} of set {number}: {speeds}"


def _list_warnings(best: Candidate, placement: Placement) -> Iterator[str]:
    profile = best.need.profile
    yield from best.verdict.warnings
    if best.inventory.smt_off and any(each.groups for each in best.need.sets):
        yield from _list_cluster_warnings(best)
    yield from _list_memory_warnings(best, placement)
    yield from _link_warnings(best)
    for port in {port.pci_id: port for _, _, port in _iter_ends(best)}.values():
        yield from _list_port_warnings(port, best)
    if profile.cpu_oversubscription_allowed and (profile.thread_policy != "prefer"):
        yield f"thread policy {profile.thread_policy} is ignored: CPUs may be oversubscribed"
    if profile.disks:
        yield f"host descriptors do not cover storage: disks not checked: {len(profile.disks)}"
    if not placement.emulator_cpus:
        yield "no CPU is left for hypervisor threads, which will disturb the vCPUs; reserve a core (--reserve cores=1)"
    if not best.assignment.proven:
        yield "the search reached its step limit: a better placement may exist"


def _list_cluster_warnings(best: Candidate) -> Iterator[str]:
    if isinstance(best.assignment, NodeAssignment):
        for at in sorted(set(best.assignment.nodes)):
            node = best.inventory.nodes[at]
            if node.clusters is None:
                yield f"node {node.id}: sharing of last-level caches is unknown; pairs may be separated"


def _list_memory_warnings(best: Candidate, placement: Placement) -> Iterator[str]:
    rooms = {node.id: node for node in best.inventory.nodes}
    for node in sorted({each.node for each in placement.sets}):
        requested = sum(each.bandwidth_bytes_per_s for each in placement.sets if each.node == node)
        room = rooms[node]
        if requested and (room.bandwidth_total is None or room.bandwidth_used is None):
            unknown_value = "its use" if room.bandwidth_total is not None else "its total"
            yield f"node {node}: {requested / 1e9:.3g} GB/s of memory bandwidth required, {unknown_value} is unknown"


def _link_warnings(best: Candidate) -> Iterator[str]:
    if not isinstance(best.assignment, NodeAssignment):
        return
    nodes = best.inventory.nodes
    for (a, b), requested in sorted(sum_node_traffic(best.need, best.assignment.nodes).items()):
        ids = sorted((nodes[a].id, nodes[b].id))
        link = best.inventory.links.get((ids[0], ids[1]))
        if link is None or link.total is None or link.used is None:
            yield f"between nodes {ids[0]} and {ids[1]}: {format_bps(requested * 8)} required, free bandwidth unknown"


def _iter_ends(best: Candidate) -> Iterator[tuple[int, int, FreePort]]:
    """Yield set, interface and port of all interfaces."""
    interfaces = [(each.number, index) for each in best.need.sets for index in range(len(each.interfaces))]
    for (number, index), port in zip(interfaces, best.assignment.ends.ports, strict=True):
        yield number, index, port


def _list_port_warnings(port: FreePort, best: Candidate) -> Iterator[str]:
    inventory = best.inventory
    modes = {
        best.need.sets[number].interfaces[index].mode
        for number, index, end in _iter_ends(best)
        if end.pci_id == port.pci_id
    }
    if port.down:
        yield f"port {port.pci_id} has no link"
    if port.link_speed_bps and port.speed_bps and port.link_speed_bps < port.speed_bps:
        yield f"port {port.pci_id} runs at {format_bps(port.link_speed_bps)} of {format_bps(port.speed_bps)}"
    if inventory.nic_limits.get(port.nic) is None:
        yield f"card {port.nic}: the bandwidth of its slot is unknown"
    if "sriov" in modes and port.unpaced_count:
        yield f"port {port.pci_id}: {port.unpaced_count} VFs in use have no known limit and may use all of it"
    if "vswitch" in modes:
        switch = inventory.switches.get(port.vswitch)
        if switch is None or switch.capacity_bps is None or switch.used_bps is None:
            yield f"virtual switch {port.vswitch}: its capacity or use is unknown; it may be the bottleneck"


def compute_slack(inventory: HostInventory, placement: Placement) -> dict[str, float]:
    """Return the remaining resources on the VM's nodes, and the remaining cores of the host."""
    after = build_inventory(subtract_placement(inventory.host, placement))
    left: dict[str, float] = {"host_core_count": sum(node.whole_count for node in after.nodes)}
    for node in after.nodes:
        if any(each.node == node.id for each in placement.sets):
            left |= {f"node_{node.id}_{name}": value for name, value in _list_node_slack(node)}
    return left


def _list_node_slack(node: FreeNode) -> Iterator[tuple[str, float]]:
    yield "core_count", node.whole_count
    for size, count in sorted(node.pages.items()):
        if count is not None:
            yield f"{format_bytes(size).replace(' ', '_')}_page_count", count
    if node.normal_free_bytes is not None:
        yield "memory_bytes", node.normal_free_bytes
    yield "port_count", sum(not port.dedicated_refusal for port in node.ports)
    yield "vf_count", sum(len(port.vfs) for port in node.ports if not port.sriov_refusal)
