"""Inventory of a host's free resources, built once from its CHD and queried often."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from nodrop.model.chd import CpuState, HostDescriptor, LargePages, Nic, NodeMemory, NumaNode, Port
from nodrop.model.observation import Observation

_DIGITS = re.compile(r"(\d+)")


class FreeCore(NamedTuple):
    """Threads of one core available to a VM."""

    cpus: tuple[int, ...]
    """Free, or with capacity left if sharing is allowed."""
    whole: bool
    """Whether every thread of the core is free."""
    is_assigned: bool = False
    """Whether another VM or a virtual switch uses it."""


class FreePort(NamedTuple):
    """A port and its free capacity."""

    pci_id: str
    netdev: str
    nic: str
    speed_bps: int | None
    link_speed_bps: int | None
    down: bool
    """Whether it is known to have no link."""
    dedicated_refusal: str
    """Why it is not available exclusively; empty: it is."""
    sriov_refusal: str
    vfs: tuple[str, ...]
    """Free VFs."""
    paced_bps: float
    """Rate limits of VFs in use."""
    unpaced_count: int
    """VFs in use without a limit."""
    opened: bool
    """Whether it is already in use."""
    vswitch: str
    vswitch_refusal: str


class FreeSwitch(NamedTuple):
    """A virtual switch and its free capacity."""

    name: str
    kind: str
    accelerated: bool | None
    capacity_bps: float | None
    used_bps: float | None


class FreeNode(NamedTuple):
    """A node and its free resources."""

    id: int
    cores: tuple[FreeCore, ...]
    """Whole cores, by their lowest CPU."""
    shared: tuple[FreeCore, ...]
    """All cores with available threads if CPUs may be shared."""
    clusters: tuple[frozenset[int], ...] | None
    """CPUs that share a last-level cache; None: unknown."""
    pages: Mapping[int, int | None]
    """Free pages by size in bytes; None: unknown."""
    normal_free_bytes: int | None
    normal_total_bytes: int | None
    """If it may be oversubscribed, otherwise None."""
    bandwidth_total: float | None
    bandwidth_used: float | None
    ports: tuple[FreePort, ...]
    devices: tuple[tuple[str, str, str], ...]
    """PCI address, kind and model of free ones."""
    host_cpus: tuple[int, ...]
    """Host CPUs not eligible for VMs and not polled on, suitable for hypervisor threads."""
    busy_cpu_count: int
    refused_cpu_count: int
    unknown_cpu_count: int
    whole_count: int
    thread_count: int
    """Of the largest core."""
    uniform: bool
    """Whether all whole cores have the same number of threads."""


class NodeLinkRoom(NamedTuple):
    """The link between two nodes."""

    distance: int | None
    total: float | None
    used: float | None


class HostInventory(NamedTuple):
    """A host's free resources; nodes, ports and CPUs in an order independent of the file's."""

    id: str
    hostname: str
    host: HostDescriptor
    nodes: tuple[FreeNode, ...]
    links: Mapping[tuple[int, int], NodeLinkRoom]
    nic_limits: Mapping[str, float | None]
    nic_used: Mapping[str, float]
    switches: Mapping[str, FreeSwitch]
    smt_off: bool
    spare_core_count: int
    """Cores without VM or virtual switch."""
    vms: frozenset[str]
    """VMs on the host."""
    homeless_ports: tuple[FreePort, ...]
    """Ports with unknown node."""
    homeless_devices: tuple[tuple[str, str, str], ...]


@lru_cache(maxsize=65_536)
def build_address_sort_key(pci_id: str) -> tuple[object, ...]:
    """Return the sort key of a PCI address, with hexadecimal numbers by value."""
    return tuple((0, int(part, 16), "") if _is_hex(part) else (1, 0, part) for part in re.split(r"[:.]", pci_id))


def build_natural_sort_key(name: str) -> tuple[object, ...]:
    """Return the natural sort key of a name, so that `host-2` precedes `host-10`."""
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _DIGITS.split(name) if part)


def build_inventory(host: HostDescriptor) -> HostInventory:
    """Build the inventory of a host."""
    polled = frozenset(cpu for each in host.capabilities.vswitches for cpu in each.cpus.value or ())
    nics = [nic for node in host.resources.numa_nodes for nic in node.nics] + list(host.resources.unplaced_nics)
    switches = {netdev: each.name for each in host.capabilities.vswitches for netdev in each.ports.value or ()}
    counted = [_NodeCounter(node, polled) for node in sorted(host.resources.numa_nodes, key=lambda node: node.id)]
    return HostInventory(
        id=identify_host(host),
        hostname=host.host.hostname.value or identify_host(host),
        host=host,
        nodes=tuple(each.room(_list_ports(each.node.nics, switches)) for each in counted),
        links={
            (min(link.a, link.b), max(link.a, link.b)): NodeLinkRoom(
                link.distance.value, link.bandwidth.total_bytes_per_s.value, link.bandwidth.used_bytes_per_s.value
            )
            for link in host.resources.links
        },
        nic_limits={nic.id: nic.pci_limit_bps.value for nic in nics},
        nic_used={nic.id: sum(_sum_promised_bps(port) for port in nic.ports) for nic in nics},
        switches={
            each.name: FreeSwitch(
                each.name,
                each.kind.value or "",
                None if each.acceleration.value is None else each.acceleration.value != "none",
                each.capacity_bps.value,
                each.used_bps.value,
            )
            for each in host.capabilities.vswitches
        },
        smt_off=all(each.largest <= 1 for each in counted),
        spare_core_count=sum(each.spare_count for each in counted),
        vms=frozenset(owner for each in counted for owner in each.owners),
        homeless_ports=_list_ports(host.resources.unplaced_nics, switches),
        homeless_devices=tuple(
            (each.pci_id, each.kind, each.model.value or "")
            for each in sorted(
                host.resources.unplaced_accelerators, key=lambda each: build_address_sort_key(each.pci_id)
            )
            if each.in_use.value is False
        ),
    )


def identify_host(host: HostDescriptor) -> str:
    """Return the unique name of a host."""
    return host.host.id.value or host.host.hostname.value or "unnamed host"


class _NodeCounter:
    """Counts the CPUs of a node; the only loop over every CPU of every host."""

    def __init__(self, node: NumaNode, polled: frozenset[int]) -> None:
        self.node = node
        self.largest = 0
        self.spare_count = self.busy = self.refused = self.unknown = 0
        self.host_cpus: list[int] = []
        self.owners: set[str] = set()
        self.cores: list[FreeCore] = []
        self.shared: list[FreeCore] = []
        for siblings in node.cpus.sibling_sets:
            # Most cores of most hosts are free or not, as a whole: no more is looked at than has to be.
            if all(_is_free(node.cpus.cpu.get(cpu)) for cpu in siblings) and polled.isdisjoint(siblings):
                core = FreeCore(tuple(sorted(siblings)), whole=True)
                self.cores.append(core)
                self.shared.append(core)
                self.spare_count += 1
                self.largest = max(self.largest, len(siblings))
            else:
                self._count(tuple(sorted(siblings)), polled)
        self.cores.sort()
        self.shared.sort()

    def _count(self, siblings: tuple[int, ...], polled: frozenset[int]) -> None:
        states = self.node.cpus.cpu
        self.largest = max(self.largest, len(siblings))
        open_cpus: list[int] = []
        is_assigned = False
        refused = 0
        for cpu in siblings:
            state = states.get(cpu)
            eligible = state and state.eligible.value
            in_use = state and state.in_use.value
            if state and state.owners:
                self.owners.update(state.owners)
            # A CPU of the host's own may be in use too; that leaves it the host's.
            if cpu in polled or (state and (state.owners or (in_use and eligible is not False))):
                is_assigned = True
                self.busy += 1
                if state and eligible and cpu not in polled and _has_room(state):
                    open_cpus.append(cpu)
            elif eligible and in_use is False:
                open_cpus.append(cpu)
            elif eligible is False:
                refused += 1
                self.host_cpus.append(cpu)
            else:
                self.unknown += 1
                is_assigned = is_assigned or eligible is True
        self.refused += refused
        if open_cpus:
            self.shared.append(FreeCore(tuple(open_cpus), whole=False, is_assigned=is_assigned))
        self.spare_count += not is_assigned

    def room(self, ports: tuple[FreePort, ...]) -> FreeNode:
        """Return the free resources of the node."""
        memory = self.node.memory
        sizes = {len(core.cpus) for core in self.cores}
        return FreeNode(
            id=self.node.id,
            cores=tuple(self.cores),
            shared=tuple(self.shared),
            clusters=_list_clusters(self.node),
            pages={each.size_bytes: _free_pages(each) for each in memory.large_pages},
            normal_free_bytes=_free_normal(memory),
            normal_total_bytes=memory.normal.total_bytes.value if memory.normal.oversubscribable.value else None,
            bandwidth_total=memory.bandwidth.total_bytes_per_s.value,
            bandwidth_used=memory.bandwidth.used_bytes_per_s.value,
            ports=ports,
            devices=tuple(
                (each.pci_id, each.kind, each.model.value or "")
                for each in sorted(self.node.accelerators, key=lambda each: build_address_sort_key(each.pci_id))
                if each.in_use.value is False
            ),
            host_cpus=tuple(sorted(self.host_cpus)),
            busy_cpu_count=self.busy,
            refused_cpu_count=self.refused,
            unknown_cpu_count=self.unknown,
            whole_count=len(self.cores),
            thread_count=max(sizes, default=0),
            uniform=len(sizes) <= 1,
        )


def _is_free(state: CpuState | None) -> bool:
    """Return whether a CPU is known to be eligible and unused."""
    return state is not None and state.in_use.value is False and state.eligible.value is True and not state.owners


def _has_room(state: CpuState) -> bool:
    """Return whether a shared CPU can take another vCPU."""
    ratio = state.oversubscription_ratio.value
    return state.use.value == "shared" and ratio is not None and len(state.owners) + 1 <= ratio


def _list_clusters(node: NumaNode) -> tuple[frozenset[int], ...] | None:
    sets = node.cpus.clusters.value
    return None if sets is None else tuple(frozenset(each) for each in sorted(sets))


def _free_pages(pages: LargePages) -> int | None:
    total, used = pages.total_count.value, pages.used_count.value
    return None if total is None or used is None else max(0, total - used - (pages.reserved_count.value or 0))


def _free_normal(memory: NodeMemory) -> int | None:
    normal = memory.normal
    if normal.free_bytes.value is not None:
        return normal.free_bytes.value
    if normal.total_bytes.value is None or normal.usage_ratio.value is None:
        return None
    return int(normal.total_bytes.value * (1 - normal.usage_ratio.value))


def _sum_promised_bps(port: Port) -> float:
    """Return the bandwidth of a card's slot in use: a dedicated port's speed, or the rate limits of VFs."""
    if port.use.value == "dedicated" and port.in_use.value:
        return float(port.speed_bps.value or 0)
    vfs = port.sriov.vfs if port.sriov else ()
    return sum(vf.pacing_bps.value or 0.0 for vf in vfs if vf.in_use.value is not False)


def _list_ports(nics: tuple[Nic, ...], switches: Mapping[str, str]) -> tuple[FreePort, ...]:
    rooms = (_build_port(port, nic, switches) for nic in nics for port in nic.ports)
    return tuple(sorted(rooms, key=lambda room: build_address_sort_key(room.pci_id)))


def _build_port(port: Port, nic: Nic, switches: Mapping[str, str]) -> FreePort:
    vfs = sorted(port.sriov.vfs if port.sriov else (), key=lambda vf: build_address_sort_key(vf.pci_id))
    used_vfs = [vf for vf in vfs if vf.in_use.value is not False]
    vswitch = port.vswitch or switches.get(port.netdev, "")
    refusal = _explain_ineligible(port.eligible)
    dedicated = refusal or _explain_use(port, vswitch) or (f"{len(used_vfs)} of its VFs in use" if used_vfs else "")
    free = tuple(vf.pci_id for vf in vfs if vf.in_use.value is False)
    return FreePort(
        pci_id=port.pci_id,
        netdev=port.netdev,
        nic=nic.id,
        speed_bps=port.speed_bps.value,
        link_speed_bps=port.link_speed_bps.value,
        down=port.link.value is False,
        dedicated_refusal=dedicated,
        sriov_refusal=refusal or _explain_missing_vf(port, free),
        vfs=free,
        paced_bps=sum(vf.pacing_bps.value or 0.0 for vf in used_vfs),
        unpaced_count=sum(not vf.pacing_bps.value for vf in used_vfs),
        opened=bool(used_vfs) or bool(vswitch) or port.in_use.value is not False,
        vswitch=vswitch,
        vswitch_refusal=refusal or ("" if vswitch else "on no virtual switch"),
    )


def _explain_ineligible(eligible: Observation[bool]) -> str:
    if eligible.value is None:
        return "eligibility for VMs is unknown" + (f" ({eligible.why})" if eligible.why else "")
    return "" if eligible.value else "not for VMs"


def _explain_use(port: Port, vswitch: str) -> str:
    if vswitch:
        return f"on virtual switch {vswitch}"
    if port.in_use.value is None:
        return "use is unknown" + (f" ({port.in_use.why})" if port.in_use.why else "")
    return f"in use by {', '.join(port.owners) or 'unknown owners'}" if port.in_use.value else ""


def _explain_missing_vf(port: Port, free: tuple[str, ...]) -> str:
    if port.sriov is None:
        return "no SR-IOV"
    if port.use.value == "dedicated" and port.in_use.value is not False:
        return f"all of it in use by {', '.join(port.owners) or 'unknown owners'}"
    return "" if free else "no VF free"


def _is_hex(part: str) -> bool:
    return bool(part) and all(char in "0123456789abcdefABCDEF" for char in part)
