"""Availability of CPUs: eligibility for VMs, current users and utilization. ETSI GS NFV-PER 001 clause 8.1.1.4."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nodrop.host import cpu_users, libvirt, vm_cpu_policy
from nodrop.host.cpu_users import CpuThread, CpuUsers
from nodrop.host.inputs import Source
from nodrop.host.utilization import RESCTRL, HostLoad
from nodrop.host.vm_cpu_policy import ISOLATED, VmCpuPolicy
from nodrop.model.chd import Bandwidth, CpuState, NodeCpus, NumaNode, Use
from nodrop.model.observation import Observation
from nodrop.system.cpu_sets import parse_cpu_list

CPUS = "/sys/devices/system/cpu"
THREADS = "/proc/*/task/*/status"


class CpuHolders(NamedTuple):
    """The users of each CPU."""

    alone: Mapping[int, tuple[str, ...]]
    """Owners that a CPU is reserved for, or whose thread may run on this CPU only."""
    among_others: Mapping[int, tuple[str, ...]]
    """Owners whose threads may run on this CPU and on others."""
    hidden: str
    """Why there may be more users; empty: there are none."""


def add_availability(
    source: Source, nodes: Sequence[NumaNode], load: HostLoad, declared: Sequence[int] | None
) -> tuple[NumaNode, ...]:
    """Return the nodes with eligibility, use and utilization of their CPUs."""
    online = [cpu for node in nodes for cpu in node.cpus.ids]
    decided = vm_cpu_policy.find_policy(source, declared, online)
    holders = _find_holders(source, frozenset(online))
    caches = _collect_cache_ids(source, nodes) if load.memory_bytes_per_s else {}
    return tuple(
        node.replace(
            cpus=_with_states(source, node.cpus, decided, holders, load),
            memory=node.memory.replace(bandwidth=_build_bandwidth(source, node, caches, load)),
        )
        for node in nodes
    )


def _find_holders(source: Source, online: frozenset[int]) -> CpuHolders:
    isolated = frozenset(parse_cpu_list(source.tree.read_text(ISOLATED) or "") or ())
    users: CpuUsers = cpu_users.find_cpu_users(source.tree, isolated)
    alone = {cpu: list(names) for cpu, names in vm_cpu_policy.read_kubelet_owners(source.tree).items()}
    shared = dict[int, list[str]]()
    for thread in (*users.threads, *_list_bound_threads(source)):
        cpus = online.intersection(thread.cpus)
        for cpu in cpus:
            (alone if len(cpus) == 1 else shared).setdefault(cpu, []).append(thread.owner)
    return CpuHolders(_deduplicate_owners(alone), _deduplicate_owners(shared), users.hidden)


def _list_bound_threads(source: Source) -> Iterator[CpuThread]:
    """Yield vCPU threads as libvirt reports them, including VMs whose processes are hidden from this one."""
    for vm in libvirt.list_domains(source):
        yield from (CpuThread(f"VM {vm.name}", cpus) for cpus in vm.vcpu_cpus.values())


def _deduplicate_owners(names: Mapping[int, Sequence[str]]) -> dict[int, tuple[str, ...]]:
    return {cpu: tuple(dict.fromkeys(each)) for cpu, each in names.items()}


def _with_states(source: Source, cpus: NodeCpus, decided: VmCpuPolicy, holders: CpuHolders, load: HostLoad) -> NodeCpus:
    states = {
        cpu: _build_cpu_state(source, cpu, holders).replace(
            eligible=decided.observe_eligibility(source, cpu),
            oversubscription_ratio=decided.observe_ratio(source, cpu),
            usage_ratio=load.observe_cpu(source, cpu),
        )
        for cpu in cpus.ids
    }
    return cpus.replace(cpu=states)


def _build_cpu_state(source: Source, cpu: int, holders: CpuHolders) -> CpuState:
    """Return the state of a CPU: dedicated if its one owner is bound to it only, otherwise shared."""
    alone, sharing = holders.alone.get(cpu, ()), holders.among_others.get(cpu, ())
    names = tuple(dict.fromkeys((*alone, *sharing)))
    moment = source.moment
    if names:
        use: Use = "dedicated" if len(names) == 1 and alone else "shared"
        reason = "bound to it alone" if use == "dedicated" else "may run on it"
        return CpuState(
            in_use=moment.inferred(True, THREADS, reason), use=moment.inferred(use, THREADS, reason), owners=names
        )
    if holders.hidden:
        return CpuState(in_use=moment.unknown(holders.hidden, THREADS), use=moment.unknown(holders.hidden, THREADS))
    reason = "no VM, pod or polling thread is bound to it"
    free: Use = "none"
    return CpuState(in_use=moment.inferred(False, THREADS, reason), use=moment.inferred(free, THREADS, reason))


def _collect_cache_ids(source: Source, nodes: Sequence[NumaNode]) -> dict[int, frozenset[int | None]]:
    """Return the last-level caches of each node's CPUs."""
    return {
        node.id: frozenset(source.tree.read_number(f"{CPUS}/cpu{cpu}/cache/index3/id") for cpu in node.cpus.ids)
        for node in nodes
    }


def _build_bandwidth(
    source: Source, node: NumaNode, caches: Mapping[int, frozenset[int | None]], load: HostLoad
) -> Bandwidth:
    """Return the memory bandwidth of the last-level caches that belong to this node only."""
    path, own_caches = f"{RESCTRL}/mon_data", caches.get(node.id, frozenset())
    other_caches = frozenset[int | None]().union(*(each for id_, each in caches.items() if id_ != node.id))
    used: Observation[float]
    if load.why:
        used = source.moment.unknown(load.why, path)
    elif not load.memory_bytes_per_s:
        used = source.moment.unknown("needs resctrl with memory bandwidth monitoring mounted", path)
    elif not own_caches or own_caches & other_caches or not own_caches.issubset(load.memory_bytes_per_s):
        used = source.moment.unknown("no last-level cache is known to be its alone", path)
    else:
        total = sum(load.memory_bytes_per_s[cache] for cache in own_caches if cache is not None)
        used = source.moment.seen(total, path, "measured", f"over {load.window_s:.2f} s")
    return node.memory.bandwidth.replace(used_bytes_per_s=used)
