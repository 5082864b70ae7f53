"""An independent judge of placements: random hosts and VMs, a check of a placement, and exhaustive search.

Nothing here is from `nodrop.vm`: the rules are implemented again, from ETSI GS NFV-PER 001 clause 8 and
docs/concepts/placement.md, in the plainest way.
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.hosts import GBPS, GIB, MOMENT, Shape, host

from nodrop.model.chd import (
    Accelerator,
    Bandwidth,
    CpuState,
    HostDescriptor,
    LargePages,
    Nic,
    NodeCpus,
    NodeLink,
    NodeMemory,
    NormalMemory,
    NumaNode,
    Port,
    Sriov,
    Vf,
    VSwitch,
)
from nodrop.model.observation import Observation
from nodrop.model.placement import Placement, Policy
from nodrop.model.vmd import (
    HypervisorRequirements,
    Interface,
    OtherIo,
    Profile,
    SetLink,
    SetMemory,
    VcpuSet,
    VmDescriptor,
)

SPEEDS = (10 * GBPS, 25 * GBPS)
UNKNOWN = MOMENT.unknown("not reported")


class Rules(NamedTuple):
    """Rules of a placement in addition to the VM's requirements."""

    policy: Policy = "best-fit"
    reserve_cores: int = 1
    reserve_bytes: int = GIB


# Random hosts and VMs


def random_host(draw: random.Random, name: str = "host-a") -> HostDescriptor:
    """Draw a small host: one to three nodes, partly used, partly unknown."""
    plain = host(name, Shape(nodes=1))
    threads = draw.choice((1, 2, 2, 2, 0, 4))
    ids = list(range(64))
    draw.shuffle(ids)
    nodes = tuple(_node(draw, each, threads, ids) for each in range(draw.choice((1, 2, 2, 3))))
    links = tuple(
        NodeLink(a=a, b=b, distance=MOMENT.reported(draw.choice((12, 21)), "test"), bandwidth=_bandwidth(draw, 2e9))
        for a in range(len(nodes))
        for b in range(a + 1, len(nodes))
        if draw.random() < 0.8
    )
    switch = VSwitch(
        name="br0",
        kind=MOMENT.reported("ovs", "test"),
        acceleration=MOMENT.reported(draw.choice(("dpdk", "none")), "test"),
        capacity_bps=draw.choice((UNKNOWN, MOMENT.reported(8e9, "test"))),
        used_bps=draw.choice((UNKNOWN, MOMENT.reported(2e9, "test"))),
        cpus=MOMENT.reported((draw.choice(nodes[0].cpus.ids),) if draw.random() < 0.2 else (), "test"),
    )
    unplaced = (_nic(draw, 7),) if draw.random() < 0.2 else ()
    return plain.model_copy(
        update={
            "capabilities": plain.capabilities.model_copy(update={"vswitches": (switch,)}),
            "resources": plain.resources.model_copy(
                update={"numa_nodes": nodes, "links": links, "unplaced_nics": unplaced}
            ),
        }
    )


def _node(draw: random.Random, node: int, threads: int, ids: list[int]) -> NumaNode:
    count = draw.randint(1, 2 if threads == 4 else 4)
    sets = tuple(tuple(ids.pop() for _ in range(threads or draw.choice((1, 2)))) for _ in range(count))
    states: dict[int, CpuState] = {}
    for siblings in sets:
        kind = draw.choices(("free", "mixed", "host", "pool"), (12, 2, 1, 2))[0]
        states |= {cpu: _state(draw, kind) for cpu in siblings}
    cpus = [cpu for siblings in sets for cpu in siblings]
    return NumaNode(
        id=node,
        socket=MOMENT.reported(node, "test"),
        cpus=NodeCpus(ids=tuple(sorted(cpus)), sibling_sets=sets, cpu=states, clusters=_clusters(draw, sets)),
        memory=NodeMemory(
            total_bytes=MOMENT.reported(16 * GIB, "test"),
            large_pages=tuple(
                LargePages(
                    size_bytes=size,
                    total_count=MOMENT.reported(draw.randint(2, 6), "test"),
                    used_count=draw.choice((*[MOMENT.reported(each, "test") for each in (0, 0, 1, 2)], UNKNOWN)),
                    reserved_count=draw.choice((MOMENT.reported(0, "test"), MOMENT.reported(1, "test"), UNKNOWN)),
                )
                for size in (GIB, 2 * 2**20)
                if draw.random() < 0.9
            ),
            normal=NormalMemory(
                total_bytes=MOMENT.reported(8 * GIB, "test"),
                free_bytes=draw.choice((UNKNOWN, *(MOMENT.reported(each * GIB, "test") for each in (2, 4, 5, 6, 7)))),
                oversubscribable=MOMENT.reported(draw.random() < 0.5, "test"),
            ),
            bandwidth=_bandwidth(draw, 10e9),
        ),
        nics=tuple(_nic(draw, 2 * node + each) for each in range(draw.choice((0, 1, 2, 2)))),
        accelerators=(
            (
                Accelerator(
                    pci_id=f"0000:{node}f:00.0",
                    kind="crypto",
                    node=MOMENT.reported(node, "test"),
                    in_use=MOMENT.reported(draw.random() < 0.3, "test"),
                ),
            )
            if draw.random() < 0.4
            else ()
        ),
    )


def _clusters(draw: random.Random, sets: Sequence[tuple[int, ...]]) -> Observation[tuple[tuple[int, ...], ...]]:
    if draw.random() < 0.4:
        return Observation[tuple[tuple[int, ...], ...]]()
    cut = draw.randint(0, len(sets))
    parts = (sets[:cut], sets[cut:])
    value = tuple(tuple(cpu for siblings in part for cpu in siblings) for part in parts if part)
    return Observation[tuple[tuple[int, ...], ...]](value=value, source="test", confidence="reported")


def _state(draw: random.Random, kind: str) -> CpuState:
    if kind == "mixed":
        kind = draw.choice(("free", "free", "used", "host", "unknown", "pool"))
    if kind == "unknown":
        return CpuState(eligible=draw.choice((UNKNOWN, MOMENT.reported(True, "test"))), in_use=UNKNOWN)
    if kind == "pool":
        owners = tuple(f"vm-{each}" for each in range(draw.randint(1, 2)))
        return CpuState(
            eligible=MOMENT.reported(True, "test"),
            in_use=MOMENT.reported(True, "test"),
            use=Observation(value="shared", source="test", confidence="reported"),
            owners=owners,
            oversubscription_ratio=draw.choice((UNKNOWN, MOMENT.reported(2.0, "test"), MOMENT.reported(4.0, "test"))),
        )
    used = kind == "used"
    return CpuState(
        eligible=MOMENT.reported(kind != "host", "test"),
        in_use=UNKNOWN if kind == "host" else MOMENT.reported(used, "test"),
        use=Observation(value="dedicated" if used else "none", source="test", confidence="reported"),
        owners=("vm-x",) if used else (),
    )


def _bandwidth(draw: random.Random, most: float) -> Bandwidth:
    return Bandwidth(
        total_bytes_per_s=draw.choice((UNKNOWN, MOMENT.reported(most, "test"))),
        used_bytes_per_s=draw.choice((UNKNOWN, MOMENT.reported(most / 4, "test"))),
    )


def _nic(draw: random.Random, number: int) -> Nic:
    card = f"0000:{number:02x}:00"
    return Nic(
        id=card,
        node=MOMENT.reported(0, "test"),
        pci_limit_bps=draw.choice((UNKNOWN, MOMENT.reported(15e9, "test"), MOMENT.reported(60e9, "test"))),
        ports=tuple(_port(draw, card, each) for each in range(draw.choice((1, 2)))),
    )


def _port(draw: random.Random, card: str, function: int) -> Port:
    on_switch = draw.random() < 0.25
    used = draw.random() < 0.1
    in_use = on_switch or used
    vfs = tuple(
        Vf(
            pci_id=f"{card[:-2]}{function + 1:02x}.{each}",
            in_use=draw.choice(
                (MOMENT.reported(False, "test"), MOMENT.reported(False, "test"), MOMENT.reported(True, "test"), UNKNOWN)
            ),
            pacing_bps=draw.choice((UNKNOWN, MOMENT.reported(0.0, "test"), MOMENT.reported(3e9, "test"))),
        )
        for each in range(draw.choice((0, 1, 2, 3)))
    )
    return Port(
        pci_id=f"{card}.{function}",
        speed_bps=draw.choice(
            (*(MOMENT.reported(each, "test") for each in SPEEDS), MOMENT.reported(SPEEDS[0], "test"), UNKNOWN)
        ),
        link=draw.choice(
            (MOMENT.reported(True, "test"), MOMENT.reported(True, "test"), MOMENT.reported(False, "test"), UNKNOWN)
        ),
        eligible=MOMENT.reported(True, "test")
        if draw.random() < 0.85
        else draw.choice((UNKNOWN, MOMENT.reported(False, "test"))),
        in_use=MOMENT.reported(in_use, "test") if draw.random() < 0.9 else UNKNOWN,
        use=Observation(
            value="dedicated" if used else "shared" if on_switch else "none", source="test", confidence="reported"
        ),
        sriov=Sriov(total_count=MOMENT.reported(8, "test"), configured_count=MOMENT.reported(len(vfs), "test"), vfs=vfs)
        if vfs or draw.random() < 0.5
        else None,
        vswitch="br0" if on_switch else "",
    )


def random_vm(draw: random.Random) -> VmDescriptor:
    """Draw a small VM of one to three sets."""
    sets: list[VcpuSet] = []
    names = itertools.count()
    remaining = 5
    for number in range(draw.choice((1, 1, 2, 2, 3))):
        count = min(remaining, draw.randint(1, 3))
        if not count:
            break
        remaining -= count
        sets.append(_set(draw, [next(names) for _ in range(count)], number))
    links = ()
    if len(sets) > 1 and draw.random() < 0.4:
        links = (SetLink(sets=(0, 1), bandwidth_bps=draw.choice((1e9, 14e9))),)
    profile = Profile(
        hypervisor=HypervisorRequirements(accelerated_vswitch=draw.random() < 0.1),
        thread_policy=draw.choice(("prefer", "prefer", "isolate", "require")),
        topology="unrestricted" if draw.random() < 0.15 else "restricted",
        separate_nodes=draw.random() < 0.2,
        cpu_oversubscription_allowed=draw.random() < 0.2,
        memory_oversubscription_allowed=draw.random() < 0.2,
        vcpu_sets=tuple(sets),
        links=links,
        other_io=(OtherIo(),) if draw.random() < 0.1 else (),
    )
    return VmDescriptor(name="vm", profiles=(profile,))


def _set(draw: random.Random, vcpus: list[int], number: int) -> VcpuSet:
    pairs = (tuple(vcpus[:2]),) if len(vcpus) > 1 and draw.random() < 0.5 else ()
    page_bytes = draw.choice((None, None, None, GIB, GIB, 2 * 2**20))
    pages = draw.randint(1, 2) if page_bytes else 0
    interfaces = tuple(
        Interface(
            speed_bps=draw.choice((SPEEDS[0], SPEEDS[0], SPEEDS[1])),
            bandwidth_bps=draw.choice((None, 2e9, 5e9, 8e9)),
            mode=draw.choice(("dedicated", "sriov", "sriov", "vswitch")),
        )
        for _ in range(draw.choice((0, 0, 0, 0, 0, 1, 1, 1, 2) if number == 0 else (0, 0, 0, 0, 1)))
    )
    return VcpuSet(
        vcpus=tuple(vcpus),
        pairs=pairs,
        memory=SetMemory(
            total_bytes=pages * (page_bytes or 0) + draw.choice((0, 0, 1, 2)) * GIB or GIB,
            large_page_bytes=page_bytes,
            large_page_count=pages,
            bandwidth_bytes_per_s=draw.choice((None, None, None, 4e9)),
        ),
        interfaces=interfaces,
    )


# Resources of a host


def polled(chd: HostDescriptor) -> set[int]:
    return {cpu for each in chd.capabilities.vswitches for cpu in each.cpus.value or ()}


def is_free(state: CpuState) -> bool:
    return state.eligible.value is True and state.in_use.value is False and not state.owners


def can_share(state: CpuState) -> bool:
    ratio = state.oversubscription_ratio.value
    return (
        state.eligible.value is True and state.use.value == "shared" and ratio is not None and len(state.owners) < ratio
    )


def usable_cpus(chd: HostDescriptor, node: NumaNode, shared: bool) -> dict[int, tuple[int, ...]]:
    """Return the CPUs available to a VM, with their cores."""
    polled_cpus = polled(chd)
    result = {}
    for siblings in node.cpus.sibling_sets:
        states = {cpu: node.cpus.cpu[cpu] for cpu in siblings}
        free = {cpu for cpu, state in states.items() if is_free(state) and cpu not in polled_cpus}
        if shared:
            free |= {cpu for cpu, state in states.items() if can_share(state) and cpu not in polled_cpus}
        elif free != set(siblings):
            continue
        result |= {cpu: tuple(sorted(siblings)) for cpu in free}
    return result


def is_occupied(chd: HostDescriptor, node: NumaNode, siblings: Sequence[int]) -> bool:
    """Return whether a VM or a switch is, or may be, on a core."""
    polled_cpus = polled(chd)
    for cpu in siblings:
        state = node.cpus.cpu[cpu]
        if cpu in polled_cpus or state.owners:
            return True
        if state.eligible.value is True and state.in_use.value is not False:
            return True
        if state.eligible.value is None and state.in_use.value is True:
            return True
    return False


def smt_off(chd: HostDescriptor) -> bool:
    return all(len(siblings) == 1 for node in chd.resources.numa_nodes for siblings in node.cpus.sibling_sets)


# Rules for vCPUs


def cpus_obey(
    chd: HostDescriptor, profile: Profile, placed: dict[int, dict[int, int]], node_of: dict[int, NumaNode]
) -> bool:
    """Return whether vCPUs obey the rules, all sets together; `placed` by set, then vCPU."""
    shared = profile.cpu_oversubscription_allowed
    nodes = {id(node): node for node in node_of.values()}
    core_of: dict[int, tuple[int, ...]] = {}
    for node in nodes.values():
        core_of |= usable_cpus(chd, node, shared)
    everything = [cpu for cpus in placed.values() for cpu in cpus.values()]
    if len(set(everything)) < len(everything) or any(cpu not in core_of for cpu in everything):
        return False
    off = smt_off(chd) and any(each.pairs for each in profile.vcpu_sets)
    on_core: dict[tuple[int, ...], set[tuple[int, object]]] = {}
    for number, cpus in placed.items():
        requested = profile.vcpu_sets[number]
        paired = {vcpu: pair for pair in requested.pairs for vcpu in pair}
        for vcpu, cpu in cpus.items():
            on_core.setdefault(core_of[cpu], set()).add((number, paired.get(vcpu, "single")))
        for pair in requested.pairs:
            cores = {core_of[cpus[vcpu]] for vcpu in pair}
            if off and not shared and not _in_one_cluster(node_of, [cpus[vcpu] for vcpu in pair], nodes.values()):
                return False
            if not off and len(cores) > 1:
                return False
        if not shared and not _singles_obey(profile, [cpus[v] for v in requested.vcpus if v not in paired], core_of):
            return False
    return shared or all(len(who) == 1 for who in on_core.values())


def _in_one_cluster(_: object, cpus: Sequence[int], nodes: Iterator[NumaNode] | object) -> bool:
    for node in nodes:  # type: ignore[attr-defined]
        if set(cpus) <= set(node.cpus.ids):
            clusters = node.cpus.clusters.value
            return clusters is None or any(set(cpus) <= set(each) for each in clusters)
    return False


def _singles_obey(profile: Profile, cpus: Sequence[int], core_of: dict[int, tuple[int, ...]]) -> bool:
    cores = [core_of[cpu] for cpu in cpus]
    if profile.thread_policy == "isolate":
        return len(set(cores)) == len(cores)
    if profile.thread_policy == "require":
        not_full = [core for core in set(cores) if cores.count(core) < len(core)]
        return all(len(core) > 1 for core in cores) and len(not_full) <= 1
    return True


def newly_used_cores(chd: HostDescriptor, cpus: set[int]) -> int:
    """Return the cores that were unused before."""
    return sum(
        not cpus.isdisjoint(siblings) and not is_occupied(chd, node, siblings)
        for node in chd.resources.numa_nodes
        for siblings in node.cpus.sibling_sets
    )


# Rules for memory, ports and other resources


def pages_free(node: NumaNode, size: int) -> int:
    for each in node.memory.large_pages:
        if each.size_bytes == size:
            if each.total_count.value is None or each.used_count.value is None:
                return 0
            return max(0, each.total_count.value - each.used_count.value - (each.reserved_count.value or 0))
    return 0


def normal_free(node: NumaNode, profile: Profile) -> int:
    normal = node.memory.normal
    if profile.memory_oversubscription_allowed and normal.oversubscribable.value is True:
        return normal.total_bytes.value or 0
    return normal.free_bytes.value or 0


def exceeds(requested: float, bandwidth: Bandwidth | None) -> bool:
    if not requested or bandwidth is None or bandwidth.total_bytes_per_s.value is None:
        return False
    return requested > bandwidth.total_bytes_per_s.value - (bandwidth.used_bytes_per_s.value or 0)


def normal_bytes(vcpu_set: VcpuSet) -> int:
    return vcpu_set.memory.total_bytes - (vcpu_set.memory.large_page_bytes or 0) * vcpu_set.memory.large_page_count


def memory_obeys(node: NumaNode, profile: Profile, sets: Sequence[VcpuSet], rules: Rules) -> bool:
    for size in (GIB, 2 * 2**20):
        requested = sum(each.memory.large_page_count for each in sets if each.memory.large_page_bytes == size)
        if requested > pages_free(node, size):
            return False
    normal = sum(normal_bytes(each) for each in sets)
    if normal and normal + rules.reserve_bytes > normal_free(node, profile):
        return False
    return not exceeds(sum(each.memory.bandwidth_bytes_per_s or 0 for each in sets), node.memory.bandwidth)


def reserved_bps(interface: Interface) -> float:
    return interface.bandwidth_bps or (interface.speed_bps if interface.mode == "dedicated" else 0)


def ports_obey(chd: HostDescriptor, profile: Profile, ends: Sequence[tuple[Interface, Nic, Port]]) -> bool:
    """Return whether interfaces may end on these ports, all together."""
    switches = {each.name: each for each in chd.capabilities.vswitches}
    on_switch: dict[str, float] = {}
    on_nic: dict[str, float] = {}
    limits: dict[str, float | None] = {}
    on_port: dict[str, list[Interface]] = {}
    ports: dict[str, Port] = {}
    for interface, nic, port in ends:
        if (
            port.speed_bps.value is None
            or port.speed_bps.value < interface.speed_bps
            or port.eligible.value is not True
        ):
            return False
        on_nic[nic.id] = on_nic.get(nic.id, sum(map(_pacing_bps, nic.ports))) + reserved_bps(interface)
        limits[nic.id] = nic.pci_limit_bps.value
        on_port.setdefault(port.pci_id, []).append(interface)
        ports[port.pci_id] = port
        if interface.mode == "vswitch":
            if not port.vswitch or (
                profile.hypervisor.accelerated_vswitch
                and switches[port.vswitch].acceleration.value not in ("dpdk", "hardware")
            ):
                return False
            on_switch[port.vswitch] = on_switch.get(port.vswitch, 0) + reserved_bps(interface)
    for name, requested in on_switch.items():
        capacity = switches[name].capacity_bps.value
        if capacity is not None and requested and requested + (switches[name].used_bps.value or 0) > capacity:
            return False
    if any(limits[nic] is not None and used > limits[nic] for nic, used in on_nic.items()):  # type: ignore[operator]
        return False
    return all(_port_obeys(ports[pci_id], interfaces) for pci_id, interfaces in on_port.items())


def _pacing_bps(port: Port) -> float:
    if port.use.value == "dedicated" and port.in_use.value:
        return port.speed_bps.value or 0
    return sum(
        vf.pacing_bps.value or 0 for vf in (port.sriov.vfs if port.sriov else ()) if vf.in_use.value is not False
    )


def _port_obeys(port: Port, interfaces: Sequence[Interface]) -> bool:
    vfs = port.sriov.vfs if port.sriov else ()
    used = [vf for vf in vfs if vf.in_use.value is not False]
    modes = [each.mode for each in interfaces]
    if "dedicated" in modes:
        return len(modes) == 1 and port.in_use.value is False and not used and not port.vswitch
    if modes.count("sriov") > len(vfs) - len(used):
        return False
    if "sriov" in modes and port.use.value == "dedicated" and port.in_use.value is not False:
        return False
    return sum(map(reserved_bps, interfaces)) + sum(vf.pacing_bps.value or 0 for vf in used) <= (
        port.speed_bps.value or 0
    )


def port_cost(rules: Rules, ends: Sequence[tuple[Interface, Nic, Port]]) -> tuple[int, ...]:
    ports = {port.pci_id: port for _, _, port in ends}.values()
    larger = sum((port.speed_bps.value or 0) > interface.speed_bps for interface, _, port in ends)
    down = sum(port.link.value is False for port in ports)
    opened = sum(
        not port.vswitch
        and port.in_use.value is False
        and not any(vf.in_use.value is not False for vf in (port.sriov.vfs if port.sriov else ()))
        for port in ports
    )
    if rules.policy == "minimal-substitutions":
        return (larger, down, opened)
    return (down, -len(ports), larger) if rules.policy == "spread" else (down, opened, larger)


# Exhaustive search


def find_best_rank(vmd: VmDescriptor, chd: HostDescriptor, rules: Rules) -> tuple[float, ...] | None:
    """Return the best rank of a VM whose sets are not split; None: no placement exists."""
    profile, nodes = vmd.profiles[0], chd.resources.numa_nodes
    if profile.hypervisor.accelerated_vswitch and chd.capabilities.vswitches[0].acceleration.value == "none":
        return None
    result = (
        _rank(chd, profile, assignment, rules) for assignment in itertools.product(nodes, repeat=len(profile.vcpu_sets))
    )
    return min((each for each in result if each is not None), default=None)


def _rank(  # noqa: PLR0911
    chd: HostDescriptor, profile: Profile, assignment: Sequence[NumaNode], rules: Rules
) -> tuple[float, ...] | None:
    ids = [node.id for node in assignment]
    if profile.separate_nodes and len(set(ids)) < len(ids):
        return None
    used = 0
    for node in {each.id: each for each in assignment}.values():
        numbers = [number for number, each in enumerate(assignment) if each.id == node.id]
        if not memory_obeys(node, profile, [profile.vcpu_sets[each] for each in numbers], rules):
            return None
        fewest = fewest_cores(chd, profile, node, numbers)
        if fewest is None:
            return None
        used += fewest
    if used > max(0, spare_count(chd) - rules.reserve_cores) or not links_obey(chd, profile, ids):
        return None
    devices = sum(
        each.in_use.value is False
        for node in {each.id: each for each in assignment}.values()
        for each in node.accelerators
    )
    if sum(each.count for each in profile.other_io) > devices:
        return None
    cost = cheapest_ports(chd, profile, assignment, rules)
    if cost is None:
        return None
    return _key(chd, profile, assignment, used, cost, rules)


def spare_count(chd: HostDescriptor) -> int:
    return sum(not is_occupied(chd, node, each) for node in chd.resources.numa_nodes for each in node.cpus.sibling_sets)


def links_obey(chd: HostDescriptor, profile: Profile, ids: Sequence[int]) -> bool:
    between: dict[frozenset[int], float] = {}
    for link in profile.links:
        ends = frozenset(ids[each] for each in link.sets)
        if len(ends) == 2:
            between[ends] = between.get(ends, 0) + link.bandwidth_bps / 8
    bandwidths = {frozenset((each.a, each.b)): each.bandwidth for each in chd.resources.links}
    return not any(exceeds(requested, bandwidths.get(ends)) for ends, requested in between.items())


def fewest_cores(chd: HostDescriptor, profile: Profile, node: NumaNode, numbers: Sequence[int]) -> int | None:
    """Return the fewest cores that vCPUs of sets can begin on CPUs of a node."""
    cpus = sorted(usable_cpus(chd, node, profile.cpu_oversubscription_allowed))
    vcpus = [(number, vcpu) for number in numbers for vcpu in profile.vcpu_sets[number].vcpus]
    counts = []
    for way in itertools.permutations(cpus, len(vcpus)):
        placed: dict[int, dict[int, int]] = {}
        for (number, vcpu), cpu in zip(vcpus, way, strict=True):
            placed.setdefault(number, {})[vcpu] = cpu
        if cpus_obey(chd, profile, placed, dict.fromkeys(numbers, node)):
            counts.append(newly_used_cores(chd, set(way)))
    return min(counts, default=None)


def cheapest_ports(
    chd: HostDescriptor, profile: Profile, assignment: Sequence[NumaNode], rules: Rules
) -> tuple[int, ...] | None:
    choices = [
        [(interface, nic, port) for nic in node.nics for port in nic.ports]
        for node, each in zip(assignment, profile.vcpu_sets, strict=True)
        for interface in each.interfaces
    ]
    costs = (port_cost(rules, ends) for ends in itertools.product(*choices) if ports_obey(chd, profile, ends))
    return min(costs, default=None)


def count_free_cores(chd: HostDescriptor, node: NumaNode) -> int:
    return len(set(usable_cpus(chd, node, shared=False).values()))


def _key(  # noqa: PLR0917
    chd: HostDescriptor,
    profile: Profile,
    assignment: Sequence[NumaNode],
    used_cores: int,
    cost: tuple[int, ...],
    rules: Rules,
) -> tuple[float, ...]:
    used = {node.id: node for node in assignment}.values()
    node_cores = sum(count_free_cores(chd, node) for node in used) - used_cores
    host_cores = sum(count_free_cores(chd, node) for node in chd.resources.numa_nodes) - used_cores
    sizes = {each.memory.large_page_bytes for each in profile.vcpu_sets if each.memory.large_page_count}
    pages = sum(pages_free(node, size) * size for node in used for size in sizes if size)
    pages -= sum((each.memory.large_page_bytes or 0) * each.memory.large_page_count for each in profile.vcpu_sets)
    distances = {frozenset((each.a, each.b)): each.distance.value for each in chd.resources.links}
    ids = [node.id for node in assignment]
    distance = sum(10 if a == b else distances.get(frozenset((a, b))) or 20 for a, b in itertools.combinations(ids, 2))
    groups = sum(len(each.pairs) for each in profile.vcpu_sets) if smt_off(chd) else 0
    if rules.policy == "minimal-substitutions":
        return (groups + cost[0], len(used), distance, node_cores, pages, host_cores, *cost[1:])
    if rules.policy == "spread":
        return (len(used), distance, -host_cores, -node_cores, -pages, *cost[:2], groups + cost[2])
    return (len(used), distance, node_cores, pages, host_cores, *cost[:2], groups + cost[2])


# Check of a placement


def find_faults(placement: Placement, vmd: VmDescriptor, chd: HostDescriptor, rules: Rules) -> list[str]:
    """Return all faults of a placement, also for a VM that may be split."""
    profile = placement.scaled or vmd.profiles[placement.profile]
    nodes = {node.id: node for node in chd.resources.numa_nodes}
    restricted = profile.topology == "restricted"
    wrong: list[str] = []
    if restricted and [each.index for each in placement.sets] != list(range(len(profile.vcpu_sets))):
        wrong.append("sets are missing or in pieces")
    placed: dict[int, dict[int, int]] = {}
    node_of: dict[int, NumaNode] = {}
    for piece in placement.sets:
        placed.setdefault(piece.index, {}).update(piece.cpus)
        node_of[len(node_of)] = nodes[piece.node]
        if not set(piece.cpus.values()) <= set(nodes[piece.node].cpus.ids):
            wrong.append(f"CPUs of set {piece.index} are not on node {piece.node}")
    for number, requested in enumerate(profile.vcpu_sets):
        if set(placed.get(number, {})) != set(requested.vcpus):
            wrong.append(f"vCPUs of set {number} are missing")
    if not wrong and not cpus_obey(chd, profile, placed, node_of):
        wrong.append("vCPUs are where they may not be")
    cpus = {cpu for each in placed.values() for cpu in each.values()}
    if newly_used_cores(chd, cpus) > max(0, spare_count(chd) - rules.reserve_cores):
        wrong.append("the host keeps too few cores")
    wrong += _memory_faults(placement, profile, nodes, rules)
    wrong += _port_faults(placement, profile, chd, nodes)
    if restricted and not links_obey(chd, profile, [each.node for each in placement.sets]):
        wrong.append("links between nodes carry too much")
    if restricted and profile.separate_nodes and len({each.node for each in placement.sets}) < len(placement.sets):
        wrong.append("sets share a node")
    if cpus & set(placement.emulator_cpus):
        wrong.append("the emulator is on a vCPU's CPU")
    return wrong


def _memory_faults(placement: Placement, profile: Profile, nodes: dict[int, NumaNode], rules: Rules) -> Iterator[str]:
    for number, requested in enumerate(profile.vcpu_sets):
        pieces = [each for each in placement.sets if each.index == number]
        if sum(each.large_page_count for each in pieces) != requested.memory.large_page_count:
            yield f"large pages of set {number}"
        if sum(each.normal_bytes for each in pieces) != normal_bytes(requested):
            yield f"memory of set {number}"
    for node in nodes.values():
        pieces = [each for each in placement.sets if each.node == node.id]
        for size in {each.large_page_bytes for each in pieces if each.large_page_bytes}:
            if sum(each.large_page_count for each in pieces if each.large_page_bytes == size) > pages_free(node, size):
                yield f"too many pages of node {node.id}"
        normal = sum(each.normal_bytes for each in pieces)
        if normal and normal + rules.reserve_bytes > normal_free(node, profile):
            yield f"too much memory of node {node.id}"


def _port_faults(
    placement: Placement, profile: Profile, chd: HostDescriptor, nodes: dict[int, NumaNode]
) -> Iterator[str]:
    places = {
        port.pci_id: (number, nic, port)
        for number, nics in [
            *((node.id, node.nics) for node in nodes.values()),
            (None, chd.resources.unplaced_nics),
        ]
        for nic in nics
        for port in nic.ports
    }
    ends, functions = [], []
    for piece in placement.sets:
        for each in piece.interfaces:
            number, nic, port = places[each.port_pci_id]
            requested = profile.vcpu_sets[piece.index].interfaces[each.index]
            ends.append((requested, nic, port))
            if profile.topology == "restricted" and number != piece.node:
                yield f"interface {each.index} of set {piece.index} is on another node"
            if requested.mode != "vswitch":
                functions.append(each.pci_id)
            if requested.mode == "sriov" and not any(
                vf.pci_id == each.pci_id and vf.in_use.value is False for vf in (port.sriov.vfs if port.sriov else ())
            ):
                yield f"{each.pci_id} is no free VF of {port.pci_id}"
    if len(ends) != sum(len(each.interfaces) for each in profile.vcpu_sets):
        yield "interfaces are missing"
    if len(set(functions)) < len(functions):
        yield "a function is given twice"
    if not ports_obey(chd, profile, ends):
        yield "ports are promised too much"
