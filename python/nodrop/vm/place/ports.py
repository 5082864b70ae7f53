"""Assignment of interfaces to ports, VFs and virtual switch uplinks, within the bandwidth of ports and slots."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nodrop.model.placement import Policy
from nodrop.model.vmd import Interface
from nodrop.vm.place.inventory import FreePort, HostInventory

STEPS_MAX = 20_000
"""Search steps for the interfaces of one node; a dozen is usual."""

PortCost = tuple[int, int, int]


class InterfaceRequest(NamedTuple):
    """An interface of a set."""

    set_index: int
    number: int
    """Within its set."""
    interface: Interface
    kind: int
    """Equal for interfaces with equal requirements."""
    ports: tuple[FreePort, ...]
    """Of the node its set is on."""

    @property
    def reserved_bps(self) -> int:
        """Bandwidth reserved on the port and its slot; an interface without a figure takes an entire dedicated port."""
        if self.interface.bandwidth_bps is not None:
            return math.ceil(self.interface.bandwidth_bps)
        return math.ceil(self.interface.speed_bps) if self.interface.mode == "dedicated" else 0


class PortAssignment(NamedTuple):
    """Ports of interfaces and their cost."""

    ports: tuple[FreePort, ...]
    """One per interface, in their order."""
    cost: PortCost
    larger_count: int
    """Interfaces on a faster port than required."""
    proven: bool = True
    """Whether the search was exhaustive."""


NO_PORTS = PortAssignment((), (0, 0, 0), 0)


class NoAssignment(NamedTuple):
    """No assignment of all interfaces, or none found within the step limit."""

    proven: bool


def explain_refusal(port: FreePort, request: InterfaceRequest, inventory: HostInventory, accelerated: bool) -> str:
    """Return why a port cannot serve an interface regardless of the rest; empty: it can."""
    interface = request.interface
    if port.speed_bps is None:
        return "its speed is unknown"
    if port.speed_bps < interface.speed_bps:
        return "too slow"
    if interface.mode == "vswitch":
        return port.vswitch_refusal or _explain_missing_acceleration(port, inventory, accelerated)
    return port.dedicated_refusal if interface.mode == "dedicated" else port.sriov_refusal


def _explain_missing_acceleration(port: FreePort, inventory: HostInventory, requested: bool) -> str:
    switch = inventory.switches.get(port.vswitch)
    if not requested or (switch and switch.accelerated):
        return ""
    return f"virtual switch {port.vswitch} is not known to be accelerated"


class PortSolver:
    """Finds the cheapest ports for the interfaces of a VM on one host; caches results by node."""

    def __init__(self, inventory: HostInventory, policy: Policy, accelerated: bool) -> None:
        self.inventory = inventory
        self.policy = policy
        self.accelerated = accelerated
        self._assignments: dict[tuple[object, ...], PortAssignment | NoAssignment] = {}
        nodes = [{port.vswitch for port in node.ports if port.vswitch} for node in inventory.nodes]
        self._spanning = any(first & other for at, first in enumerate(nodes) for other in nodes[at + 1 :])

    def assign_ports(self, requests: Sequence[InterfaceRequest]) -> PortAssignment | NoAssignment:
        """Assign all interfaces: node by node, or jointly if a virtual switch spans nodes."""
        if self._spanning:
            return self._assign_cached(requests)
        parts: dict[int, list[int]] = {}
        for position, each in enumerate(requests):
            parts.setdefault(id(each.ports), []).append(position)
        ports: dict[int, FreePort] = {}
        cost, larger_count, proven = (0, 0, 0), 0, True
        for positions in parts.values():
            ends = self._assign_cached([requests[position] for position in positions])
            if isinstance(ends, NoAssignment):
                return ends
            ports.update(zip(positions, ends.ports, strict=True))
            cost = (cost[0] + ends.cost[0], cost[1] + ends.cost[1], cost[2] + ends.cost[2])
            larger_count += ends.larger_count
            proven = proven and ends.proven
        return PortAssignment(tuple(ports[position] for position in range(len(requests))), cost, larger_count, proven)

    def _assign_cached(self, requests: Sequence[InterfaceRequest]) -> PortAssignment | NoAssignment:
        if not requests:
            return NO_PORTS
        key = tuple((id(each.ports), each.kind) for each in requests)
        if key not in self._assignments:
            self._assignments[key] = _BranchAndBound(self, requests).best()
        return self._assignments[key]

    def compute_cost(self, larger: int, down: int, opened: int, distinct: int) -> PortCost:
        """Return the cost in the order of the policy's weights."""
        if self.policy == "minimal-substitutions":
            return larger, down, opened
        if self.policy == "spread":
            return down, -distinct, larger
        return down, opened, larger


class _BranchAndBound:
    """Branch and bound over the ports of each interface, in the order of their addresses."""

    def __init__(self, solver: PortSolver, requests: Sequence[InterfaceRequest]) -> None:
        self.solver = solver
        inventory = solver.inventory
        # Whole ports first, the fastest first: they have the least choice.
        self.order = sorted(
            range(len(requests)),
            key=lambda at: (
                requests[at].interface.mode != "dedicated",
                -requests[at].interface.speed_bps,
                -requests[at].reserved_bps,
                at,
            ),
        )
        self.requests = [requests[at] for at in self.order]
        self.choices = [
            [port for port in each.ports if not explain_refusal(port, each, inventory, solver.accelerated)]
            for each in self.requests
        ]
        self.whole: set[str] = set()
        self.vf_counts: dict[str, int] = {}
        self.port_bps: dict[str, int] = {}
        self.nic_bps: dict[str, int] = {}
        self.switch_bps: dict[str, int] = {}
        self.chosen: list[FreePort] = []
        self.best_cost: PortCost | None = None
        self.best_ports: list[FreePort] = []
        self.steps = 0

    def best(self) -> PortAssignment | NoAssignment:
        if all(self.choices) and self._can_carry():
            self._try(0)
        proven = self.steps <= STEPS_MAX
        if self.best_cost is None:
            return NoAssignment(proven)
        of = dict(zip(self.order, self.best_ports, strict=True))
        larger = sum(_is_larger(each, port) for each, port in zip(self.requests, self.best_ports, strict=True))
        return PortAssignment(tuple(of[at] for at in range(len(of))), self.best_cost, larger, proven)

    def _can_carry(self) -> bool:
        """Return whether VFs and slot bandwidth suffice in total: a quick check."""
        virtual = {
            port.pci_id: len(port.vfs)
            for each, ports in zip(self.requests, self.choices, strict=True)
            if each.interface.mode == "sriov"
            for port in ports
        }
        if sum(each.interface.mode == "sriov" for each in self.requests) > sum(virtual.values()):
            return False
        ports = {port.pci_id: port for choices in self.choices for port in choices}.values()
        speeds: dict[str, float] = {}
        for port in ports:
            speeds[port.nic] = speeds.get(port.nic, 0.0) + (port.speed_bps or 0)
        inventory = self.solver.inventory
        carried = 0.0
        for nic, speed in speeds.items():
            limit = inventory.nic_limits.get(nic)
            carried += speed if limit is None else min(speed, max(0.0, limit - inventory.nic_used.get(nic, 0.0)))
        return sum(each.reserved_bps for each in self.requests) <= carried

    def _try(self, at: int) -> None:
        if at == len(self.requests):
            cost = self._compute_cost(0)
            if self.best_cost is None or cost < self.best_cost:
                self.best_cost, self.best_ports = cost, list(self.chosen)
            return
        request = self.requests[at]
        for port in self._list_candidates(at):
            self.steps += 1
            if self.steps > STEPS_MAX:
                return
            if not self._fits(port, request):
                continue
            self._put(port, request, 1)
            if self.best_cost is None or self._compute_cost(len(self.requests) - at - 1) < self.best_cost:
                self._try(at + 1)
            self._put(port, request, -1)

    def _list_candidates(self, at: int) -> Iterable[FreePort]:
        """Return the ports to try; of equal interfaces, a later one's port never precedes the earlier one's."""
        before, request = (self.requests[at - 1] if at else None), self.requests[at]
        if before and before.kind == request.kind and before.ports is request.ports:
            last = self.chosen[-1]
            return self.choices[at][self.choices[at].index(last) :]
        return self.choices[at]

    def _fits(self, port: FreePort, request: InterfaceRequest) -> bool:
        inventory, mode, bps = self.solver.inventory, request.interface.mode, request.reserved_bps
        limit = inventory.nic_limits.get(port.nic)
        on_nic = inventory.nic_used.get(port.nic, 0.0) + self.nic_bps.get(port.nic, 0) + bps
        if port.pci_id in self.whole or (limit is not None and on_nic > limit):
            return False
        if mode == "dedicated":
            return port.pci_id not in self.port_bps
        if port.paced_bps + self.port_bps.get(port.pci_id, 0) + bps > (port.speed_bps or 0):
            return False
        if mode == "sriov":
            return self.vf_counts.get(port.pci_id, 0) < len(port.vfs)
        switch = inventory.switches.get(port.vswitch)
        if switch is None or switch.capacity_bps is None:
            return True
        return (switch.used_bps or 0.0) + self.switch_bps.get(switch.name, 0) + bps <= switch.capacity_bps

    def _put(self, port: FreePort, request: InterfaceRequest, sign: int) -> None:
        bps, mode = sign * request.reserved_bps, request.interface.mode
        if sign > 0:
            self.chosen.append(port)
        else:
            self.chosen.pop()
        self.nic_bps[port.nic] = self.nic_bps.get(port.nic, 0) + bps
        if mode == "dedicated":
            (self.whole.add if sign > 0 else self.whole.discard)(port.pci_id)
            return
        if mode == "sriov":
            self.vf_counts[port.pci_id] = self.vf_counts.get(port.pci_id, 0) + sign
        else:
            self.switch_bps[port.vswitch] = self.switch_bps.get(port.vswitch, 0) + bps
        if sign < 0 and port not in self.chosen:
            del self.port_bps[port.pci_id]
        else:
            self.port_bps[port.pci_id] = self.port_bps.get(port.pci_id, 0) + bps

    def _compute_cost(self, still: int) -> PortCost:
        """Return the cost of the chosen ports, or a lower bound with this many interfaces still to assign."""
        ports = {port.pci_id: port for port in self.chosen}.values()
        return self.solver.compute_cost(
            sum(_is_larger(each, port) for each, port in zip(self.requests, self.chosen, strict=False)),
            sum(port.down for port in ports),
            sum(not port.opened for port in ports),
            len(ports) + still,
        )


def _is_larger(request: InterfaceRequest, port: FreePort) -> bool:
    return (port.speed_bps or 0) > request.interface.speed_bps
