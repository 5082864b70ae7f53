"""Search for the assignment of vCPU sets to nodes, by branch and bound. C4-C9, C11.

The search works on exact counts of cores, pages and bytes; only the best assignment is materialized.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from nodrop.model.placement import Constraint
from nodrop.vm.place.cores import CoreRules, count_cores, count_set_cores
from nodrop.vm.place.inventory import FreeNode, HostInventory, NodeLinkRoom
from nodrop.vm.place.policy import PlacementOptions
from nodrop.vm.place.ports import NO_PORTS, InterfaceRequest, NoAssignment, PortAssignment, PortCost, PortSolver
from nodrop.vm.place.requirements import SetNeed, VmNeed

CandidateKey = tuple[float, ...]
LOCAL_DISTANCE, REMOTE_DISTANCE = 10, 20
"""ACPI distance of a node to itself, and the assumed distance of nodes without data."""
TWIN_STEPS_MIN = 64
"""Steps before identical nodes are determined."""


class NodeAssignment(NamedTuple):
    """The best assignment of a VM to a host."""

    nodes: tuple[int, ...]
    """For each set, the position of its node in the inventory."""
    ends: PortAssignment
    devices: tuple[str, ...]
    key: CandidateKey
    """The policy's weights, smaller is better; depends on the host only, without its id."""
    substitution_count: int
    proven: bool


class NoNodeAssignment(NamedTuple):
    """No assignment of a VM to a host."""

    proven: bool
    """False: the step limit was reached."""


class NodeSearch:
    """The search on one host for one profile."""

    def __init__(
        self,
        need: VmNeed,
        inventory: HostInventory,
        options: PlacementOptions,
        *,
        substitution_count: int = 0,
        ignored: frozenset[Constraint] = frozenset(),
    ) -> None:
        """Take requirements, inventory, options, substitutions made already, and constraints to ignore."""
        profile = need.profile
        groups = sum(len(each.groups) for each in need.sets)
        smt_off = inventory.smt_off and groups > 0
        self.need, self.inventory, self.options, self.ignored = need, inventory, options, ignored
        self.manner = CoreRules(profile.thread_policy, profile.cpu_oversubscription_allowed, smt_off)
        self.substitution_count = substitution_count + (groups if smt_off else 0)
        self.solver = PortSolver(inventory, options.policy, profile.hypervisor.accelerated_vswitch)
        self.spare_count = inventory.spare_core_count - options.reserve.core_count
        self.steps = 0
        self.proven = True
        self.best: NodeAssignment | None = None
        self.requirements_keys = [each.requirements_key for each in need.sets]
        self._costs: dict[tuple[int, int], PortCost] = {}
        self._suits: dict[tuple[int, int], bool] = {}
        self._core_counts: dict[tuple[int, tuple[int, ...]], int | None] = {}

    def run(self) -> NodeAssignment | NoNodeAssignment:
        """Return the best assignment, or none."""
        nodes = range(len(self.inventory.nodes))
        if self._has_enough_in_total() and all(
            any(self._fits_alone(node, position) for node in nodes) for position in range(len(self.need.sets))
        ):
            self._try([], [()] * len(nodes))
        if self.best is None:
            return NoNodeAssignment(self.proven)
        return self.best._replace(proven=self.proven and self.best.ends.proven)

    def _has_enough_in_total(self) -> bool:
        """Return whether cores and pages of all nodes suffice in total: a quick check."""
        if self.cores_requested is not None:
            has_reserve = "host reserve" not in self.ignored
            if self.cores_requested > (
                min(sum(self.whole), max(0, self.spare_count)) if has_reserve else sum(self.whole)
            ):
                return False
            # Of sets that take more than half of the largest node no two share one.
            half = max(self.whole, default=0) // 2
            if sum(self.count_set_cores(each) > half for each in self.need.sets) > len(self.whole):
                return False
        return "large pages" in self.ignored or all(
            sum(each.page_count for each in self.need.sets if each.page_bytes == size)
            <= sum(room.pages.get(size) or 0 for room in self.inventory.nodes)
            for size in self.need.page_sizes
        )

    def _try(self, nodes: list[int], on_node: list[tuple[int, ...]]) -> None:
        at = len(nodes)
        if at == len(self.need.sets):
            self._finish(tuple(nodes))
            return
        for node, before in enumerate(on_node):
            self.steps += 1
            if self.steps > self.options.steps_max:
                self.proven = False
                return
            if self.steps > TWIN_STEPS_MIN and not before and any(not on_node[twin] for twin in self.twins[node]):
                continue
            nodes.append(node)
            on_node[node] = (*before, at)
            # What is quickest to know comes first.
            if (
                self._may_use(at, nodes, before)
                and self._is_promising(nodes)
                and self._fits_alone(node, at)
                and (not before or self._fits(node, on_node[node]))
                and (not self.interface_count or self._is_promising(nodes))
            ):
                self._try(nodes, on_node)
            nodes.pop()
            on_node[node] = before

    def _fits_alone(self, node: int, position: int) -> bool:
        """Return whether a node can hold a set alone."""
        if (node, position) not in self._suits:
            self._suits[node, position] = self._fits(node, (position,)) and self._connects(node, position)
        return self._suits[node, position]

    def _may_use(self, at: int, nodes: Sequence[int], before: tuple[int, ...]) -> bool:
        """Return whether a set may use a node: alone if required; of equal sets not before the earlier one's."""
        if before and self.separate:
            return False
        if at and not self.need.links and self.requirements_keys[at] == self.requirements_keys[at - 1]:
            return nodes[-1] >= nodes[-2]
        return True

    def _is_promising(self, nodes: Sequence[int]) -> bool:
        """Return whether an assignment starting with these nodes can still beat the best one."""
        if self.best is None:
            return True
        # Ports for all sets cost no less than those for one of them cost alone.
        costs = [cost for at, node in enumerate(nodes) if (cost := self._costs.get((node, at)))]
        cost = self.least_cost if self.options.policy == "spread" else max([self.least_cost, *costs])
        least = self._bound_key(nodes)
        if self._substitutions_first:
            whole: CandidateKey = (self.substitution_count + cost[0], *least)
        else:
            whole = least
        if self.cores_requested is not None:
            whole = (*whole, *self._build_key_tail(cost))
        prefix = self.best.key[: len(whole)]
        return whole < prefix or (whole == prefix and len(whole) < len(self.best.key))

    def _bound_key(self, nodes: Sequence[int]) -> CandidateKey:
        """Return a lower bound of the weight: the remaining sets on nodes in use, or on the best ones.

        Only its first parts if the number of cores depends on the node.
        """
        used = set(nodes)
        further = len(self.need.sets) - len(nodes) if self.separate else 0
        pairs = math.comb(len(self.need.sets), 2) - math.comb(len(nodes), 2)
        near = (len(used) + further, self._get_distance(nodes) + pairs * (self.nearest if further else LOCAL_DISTANCE))
        if self.cores_requested is None:
            return near
        unused = [node for node in range(len(self.inventory.nodes)) if node not in used]
        cores, pages = (
            sum(have[node] for node in used)
            + self._compute_extreme([have[node] for node in unused], further)
            - requested
            for have, requested in ((self.whole, self.cores_requested), (self.pages, self.pages_requested))
        )
        host_cores = sum(self.whole) - self.cores_requested
        if self.options.policy == "spread":
            return (*near, -host_cores, -cores, -pages)
        return (*near, cores, pages, host_cores)

    def _compute_extreme(self, values: list[int], count: int) -> int:
        """Return the sum of the best values for the policy."""
        return sum(sorted(values, reverse=self.options.policy == "spread")[:count])

    @cached_property
    def twins(self) -> list[list[int]]:
        """For each node the identical nodes before it, at equal distances to all others."""
        shapes = [compute_node_shape(room, self.inventory) for room in self.inventory.nodes]
        nodes = range(len(shapes))
        links = {self.link(a, b) for a in nodes for b in nodes if a < b}
        if len(links) > 1:
            return [[] for _ in nodes]
        return [[b for b in range(node) if shapes[b] == shapes[node]] for node in nodes]

    @cached_property
    def separate(self) -> bool:
        """Whether each set needs its own node."""
        return self.need.profile.separate_nodes and "node" not in self.ignored

    @cached_property
    def interface_count(self) -> int:
        """Interfaces of all sets."""
        return 0 if "interfaces" in self.ignored else sum(len(each.interfaces) for each in self.need.sets)

    @cached_property
    def least_cost(self) -> PortCost:
        """Lower bound of the port cost of all interfaces."""
        if not self.interface_count:
            return (0, 0, 0)
        ports = [port for room in self.inventory.nodes for port in room.ports]
        speeds = {port.speed_bps for port in ports}
        interfaces = [each for need in self.need.sets for each in need.interfaces]
        larger = sum(each.speed_bps not in speeds for each in interfaces)
        whole = sum(each.mode == "dedicated" for each in interfaces)
        opened = whole + (whole < len(interfaces) and not any(port.opened for port in ports))
        return self.solver.compute_cost(larger, 0, opened, len(interfaces))

    @cached_property
    def whole(self) -> list[int]:
        """Whole free cores of each node."""
        return [room.whole_count for room in self.inventory.nodes]

    @cached_property
    def pages(self) -> list[int]:
        """Bytes of each node in free pages of the required sizes."""
        sizes = self.need.page_sizes
        return [sum((room.pages.get(size) or 0) * size for size in sizes) for room in self.inventory.nodes]

    @cached_property
    def pages_requested(self) -> int:
        """Bytes in large pages required by all sets."""
        return sum(each.page_bytes * each.page_count for each in self.need.sets)

    @cached_property
    def nearest(self) -> int:
        """The smallest distance of two nodes."""
        nodes = range(len(self.inventory.nodes))
        return min((self._sum_distances(a, b) for a in nodes for b in nodes if a < b), default=0)

    @cached_property
    def cores_requested(self) -> int | None:
        """Cores used by all sets; None: depends on the nodes."""
        threads = {room.thread_count for room in self.inventory.nodes if room.whole_count}
        if self.manner.shared or len(threads) != 1 or not all(room.uniform for room in self.inventory.nodes):
            return None
        if "cpus" in self.ignored:
            return None
        return sum(self.count_set_cores(each) for each in self.need.sets)

    def count_set_cores(self, need: SetNeed) -> int:
        """Return the cores that a set uses, if all cores are alike."""
        if self.manner.smt_off:
            return need.vcpu_count
        return count_set_cores(need, max(room.thread_count for room in self.inventory.nodes), self.manner)

    def _fits(self, node: int, positions: tuple[int, ...]) -> bool:
        """Return whether sets fit on a node together, without interfaces."""
        return all(each in self.ignored for each in self.list_shortages(node, positions))

    def list_shortages(self, node: int, positions: tuple[int, ...]) -> Iterator[Constraint]:
        """Yield the resources that sets lack on a node together, without interfaces."""
        room, needs = self.inventory.nodes[node], [self.need.sets[each] for each in positions]
        if self.count_cores(node, positions) is None:
            yield "cpus"
        for size in {each.page_bytes for each in needs if each.page_count}:
            requested = sum(each.page_count for each in needs if each.page_bytes == size)
            if requested > (room.pages.get(size) or 0):
                yield "large pages"
        normal = sum(each.normal_bytes for each in needs)
        if normal:
            free = count_normal_bytes(room, self.need)
            if normal > (free or 0):
                yield "memory"
            elif normal + self.options.reserve.memory_bytes > (free or 0):
                yield "host reserve"
        if is_exceeded(sum(each.bandwidth for each in needs), room.bandwidth_total, room.bandwidth_used):
            yield "memory bandwidth"

    def count_cores(self, node: int, positions: tuple[int, ...]) -> int | None:
        """Return the cores that sets use on a node; None: they do not fit."""
        if (node, positions) not in self._core_counts:
            needs = [self.need.sets[each] for each in positions]
            self._core_counts[node, positions] = count_cores(self.inventory.nodes[node], needs, self.manner)
        return self._core_counts[node, positions]

    def _connects(self, node: int, position: int) -> bool:
        if "interfaces" in self.ignored:
            return True
        ends = self.solver.assign_ports(self.list_requests(node, position))
        self.proven = self.proven and ends.proven
        if isinstance(ends, NoAssignment):
            return False
        self._costs[node, position] = ends.cost
        return True

    def list_requests(self, node: int, position: int) -> list[InterfaceRequest]:
        """Return the interfaces of a set on a node."""
        need, ports = self.need.sets[position], self.inventory.nodes[node].ports
        return [
            InterfaceRequest(need.number, index, each, kind, ports)
            for index, (each, kind) in enumerate(zip(need.interfaces, need.kinds, strict=True))
        ]

    def _finish(self, nodes: tuple[int, ...]) -> None:
        """Weigh a complete assignment, cheap criteria first."""
        weight = self._compute_weight(nodes)
        least = (self.substitution_count, *weight) if self._substitutions_first else weight
        if self.best and least > self.best.key[: len(least)]:
            return
        if self._exceeds_reserve(nodes):
            return
        ends = self._assign_ports(nodes)
        devices = assign_devices(self.need.devices, [self.inventory.nodes[node].devices for node in sorted(set(nodes))])
        if isinstance(ends, NoAssignment) or (devices is None and "devices" not in self.ignored):
            self.proven = self.proven and ends.proven
            return
        count = self.substitution_count + ends.larger_count
        key = self._build_key(weight, ends.cost)
        if self.best is None or key < self.best.key:
            self.best = NodeAssignment(nodes, ends, devices or (), key, count, proven=True)

    @property
    def _substitutions_first(self) -> bool:
        return self.options.policy == "minimal-substitutions"

    def _build_key(self, weight: CandidateKey, cost: PortCost) -> CandidateKey:
        if self._substitutions_first:
            return (self.substitution_count + cost[0], *weight, *self._build_key_tail(cost))
        return (*weight, *self._build_key_tail(cost))

    def _build_key_tail(self, cost: PortCost) -> CandidateKey:
        """Return the last weights: ports, and substitutions unless they are first."""
        return cost[1:] if self._substitutions_first else (*cost[:2], self.substitution_count + cost[2])

    def _compute_weight(self, nodes: tuple[int, ...]) -> CandidateKey:
        """Return nodes and their distances, then the remaining resources, negated for `spread`."""
        used = set(nodes)
        core_count = sum(self._count_cores_on(node, nodes) for node in used)
        node_cores = sum(self.whole[node] for node in used) - core_count
        host_cores = sum(self.whole) - core_count
        pages = sum(self.pages[node] for node in used) - self.pages_requested
        if self.options.policy == "spread":
            return (len(used), self._get_distance(nodes), -host_cores, -node_cores, -pages)
        return (len(used), self._get_distance(nodes), node_cores, pages, host_cores)

    def _count_cores_on(self, node: int, nodes: tuple[int, ...]) -> int:
        """Return the cores used on a node by an assignment."""
        return self.count_cores(node, tuple(at for at, each in enumerate(nodes) if each == node)) or 0

    def _get_distance(self, nodes: Sequence[int]) -> int:
        return sum(self._sum_distances(a, b) for at, a in enumerate(nodes) for b in nodes[at + 1 :])

    def _sum_distances(self, a: int, b: int) -> int:
        return LOCAL_DISTANCE if a == b else self.link(a, b).distance or REMOTE_DISTANCE

    def link(self, a: int, b: int) -> NodeLinkRoom:
        """Return the link between two nodes, by position."""
        ids = sorted((self.inventory.nodes[a].id, self.inventory.nodes[b].id))
        return self.inventory.links.get((ids[0], ids[1]), UNKNOWN_LINK)

    def _exceeds_reserve(self, nodes: tuple[int, ...]) -> bool:
        """Return whether the host reserve or a link between nodes is exceeded."""
        core_count = sum(self._count_cores_on(node, nodes) for node in set(nodes))
        if core_count > max(0, self.spare_count) and "host reserve" not in self.ignored:
            return True
        return "node links" not in self.ignored and any(
            is_exceeded(requested, self.link(a, b).total, self.link(a, b).used)
            for (a, b), requested in sum_node_traffic(self.need, nodes).items()
        )

    def _assign_ports(self, nodes: tuple[int, ...]) -> PortAssignment | NoAssignment:
        if "interfaces" in self.ignored:
            return NO_PORTS
        return self.solver.assign_ports(
            [each for at, node in enumerate(nodes) for each in self.list_requests(node, at)]
        )


def compute_node_shape(room: FreeNode, inventory: HostInventory) -> tuple[object, ...]:
    """Return the properties of a node relevant to placement, without names."""
    nics = {port.nic: len({other.nic for other in room.ports[:at]}) for at, port in reversed([*enumerate(room.ports)])}
    return (
        sorted((len(core.cpus), core.whole, core.is_assigned) for core in room.shared),
        room.clusters and sorted(sum(core.cpus[0] in each for core in room.cores) for each in room.clusters),
        sorted(room.pages.items()),
        (room.normal_free_bytes, room.normal_total_bytes, room.bandwidth_total, room.bandwidth_used),
        [
            (
                nics[port.nic],
                inventory.nic_limits.get(port.nic),
                inventory.nic_used.get(port.nic),
                port._replace(pci_id="", netdev="", nic="", vfs=("",) * len(port.vfs), unpaced_count=0),
            )
            for port in room.ports
        ],
        sorted(device[1:] for device in room.devices),
    )


UNKNOWN_LINK = NodeLinkRoom(None, None, None)


def sum_node_traffic(need: VmNeed, nodes: Sequence[int]) -> dict[tuple[int, int], float]:
    """Return bytes/s between nodes, by their positions."""
    requested: dict[tuple[int, int], float] = {}
    for a, b, bytes_per_s in need.links:
        ends = sorted((nodes[a], nodes[b]))
        if ends[0] != ends[1]:
            requested[ends[0], ends[1]] = requested.get((ends[0], ends[1]), 0.0) + bytes_per_s
    return requested


def is_exceeded(requested: float, total: float | None, used: float | None) -> bool:
    """Return whether the requirement certainly exceeds what is available; unknown values only cause a warning."""
    return bool(requested) and total is not None and requested > total - (used or 0.0)


def count_normal_bytes(room: FreeNode, need: VmNeed) -> int | None:
    """Return the usable normal memory: the free part, or all if both sides allow oversubscription."""
    if need.profile.memory_oversubscription_allowed and room.normal_total_bytes is not None:
        return room.normal_total_bytes
    return room.normal_free_bytes


def assign_devices(
    requested: Sequence[tuple[str, str]], rooms: Sequence[Sequence[tuple[str, str, str]]]
) -> tuple[str, ...] | None:
    """Assign a free device to each requirement by augmenting paths; None: too few devices."""
    devices = [device for room in rooms for device in room]
    owner: dict[str, int] = {}

    def assign(index: int, visited: set[str]) -> bool:
        kind, model = requested[index]
        for pci_id, its_kind, its_model in devices:
            if pci_id in visited or its_kind != kind or model.casefold() not in its_model.casefold():
                continue
            visited.add(pci_id)
            if pci_id not in owner or assign(owner[pci_id], visited):
                owner[pci_id] = index
                return True
        return False

    if not all(assign(index, set()) for index in range(len(requested))):
        return None
    return tuple(pci_id for _, pci_id in sorted((index, pci_id) for pci_id, index in owner.items()))
