"""Cores for vCPUs: how many a node needs, and which.

A core is never shared with another VM. Paired vCPUs use the threads of one core exclusively; single vCPUs get a core
each or share the threads of cores, according to the VM's thread policy. With SMT off a pair uses two cores of one
cluster. If CPUs may be oversubscribed, threads are counted instead of cores.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.model.vmd import ThreadPolicy
from nodrop.vm.place.inventory import FreeCore, FreeNode
from nodrop.vm.place.requirements import SetNeed

CpuAssignment = list[dict[int, int]]
"""For each set, the CPU of each vCPU."""


class CoreRules(NamedTuple):
    """Rules for assigning a VM's vCPUs to cores."""

    policy: ThreadPolicy
    shared: bool
    """CPUs may be oversubscribed."""
    smt_off: bool


def count_cores(node: FreeNode, needs: Sequence[SetNeed], manner: CoreRules) -> int | None:
    """Return the minimum of free cores that these sets use on a node; None: they do not fit.

    As the count is minimal, no placement that fits is rejected.
    """
    if manner.shared or not node.uniform or manner.smt_off:
        assignment = assign_cpus(node, needs, manner)
        return None if assignment is None else _count_opened(node, assignment)
    threads = node.thread_count
    if any(not can_fit_alone(need, threads, manner) for need in needs):
        return None
    count = sum(count_set_cores(need, threads, manner) for need in needs)
    return count if count <= node.whole_count else None


def can_fit_alone(need: SetNeed, threads: int, manner: CoreRules) -> bool:
    """Return whether cores with this number of threads can satisfy a set, regardless of their number."""
    if need.singles and manner.policy == "require" and threads < 2:
        return False
    return not need.groups or max(map(len, need.groups)) <= threads


def count_set_cores(need: SetNeed, threads: int, manner: CoreRules) -> int:
    """Return the cores with this number of threads that a set uses."""
    singles = len(need.singles)
    return len(need.groups) + (singles if manner.policy == "isolate" else -(-singles // max(threads, 1)))


def assign_cpus(node: FreeNode, needs: Sequence[SetNeed], manner: CoreRules) -> CpuAssignment | None:
    """Assign CPUs of a node to these sets deterministically; None if they do not fit."""
    if manner.shared:
        return _assign_threads(node, needs, manner)
    if manner.smt_off:
        return _assign_without_smt(node, needs, manner)
    return _assign_cores(node, needs, manner)


def _count_opened(node: FreeNode, assignment: CpuAssignment) -> int:
    cpus = {cpu for each in assignment for cpu in each.values()}
    part_used = {core.cpus for core in node.shared if core.is_assigned}
    return sum(not cpus.isdisjoint(core.cpus) for core in node.shared if core.cpus not in part_used)


def _assign_cores(node: FreeNode, needs: Sequence[SetNeed], manner: CoreRules) -> CpuAssignment | None:
    """Assign groups to the smallest sufficient cores, the largest group first, to leave the most for the others."""
    free = _sort_by_cluster(node, needs)
    assignment: CpuAssignment = [{} for _ in needs]
    for size, position, group in sorted(_iter_groups(needs), key=lambda each: (-each[0], each[1])):
        core = min((each for each in free if len(each.cpus) >= size), key=lambda each: len(each.cpus), default=None)
        if core is None:
            return None
        free.remove(core)
        assignment[position].update(zip(group, core.cpus, strict=False))
    for position, need in enumerate(needs):
        singles = list(need.singles)
        while singles:
            core = _select_core_for_singles(free, len(singles), manner.policy)
            if core is None:
                return None
            free.remove(core)
            threads = core.cpus[:1] if manner.policy == "isolate" else core.cpus
            assignment[position].update(zip(singles, threads, strict=False))
            del singles[: len(threads)]
    return assignment


def _select_core_for_singles(free: Sequence[FreeCore], left: int, policy: ThreadPolicy) -> FreeCore | None:
    """Return the best core for single vCPUs: the largest they fill, otherwise the smallest that holds them."""
    if policy == "isolate":
        return min(free, key=lambda core: len(core.cpus), default=None)
    fit = [core for core in free if policy == "prefer" or len(core.cpus) > 1]
    filled = [core for core in fit if len(core.cpus) <= left]
    if filled:
        return max(filled, key=lambda core: len(core.cpus))
    return min(fit, key=lambda core: len(core.cpus), default=None)


def _sort_by_cluster(node: FreeNode, needs: Sequence[SetNeed]) -> list[FreeCore]:
    """Return whole cores, first those of the tightest cluster that holds all vCPUs, then of the emptiest ones."""
    if not node.clusters or len(node.clusters) < 2:
        return list(node.cores)
    requested = sum(len(need.groups) + len(need.singles) for need in needs)
    of_cluster = [(cluster, [core for core in node.cores if core.cpus[0] in cluster]) for cluster in node.clusters]
    of_cluster.sort(
        key=lambda each: (len(each[1]) < requested, len(each[1]) if len(each[1]) >= requested else -len(each[1]))
    )
    near = [core for _, cores in of_cluster for core in cores]
    return near + [core for core in node.cores if core not in near]


def _assign_without_smt(node: FreeNode, needs: Sequence[SetNeed], manner: CoreRules) -> CpuAssignment | None:
    """Assign one core to each vCPU, those of a pair in one cluster."""
    if manner.policy == "require" and any(need.singles for need in needs):
        return None
    free = [core.cpus[0] for core in node.cores]
    if sum(need.vcpu_count for need in needs) > len(free):
        return None
    clusters = [[cpu for cpu in free if cpu in cluster] for cluster in node.clusters] if node.clusters else [free]
    groups = sorted(_iter_groups(needs), key=lambda each: (-each[0], each[1]))
    cluster_indices = _pack_pieces([len(each) for each in clusters], [size for size, _, _ in groups])
    if cluster_indices is None:
        return None
    assignment: CpuAssignment = [{} for _ in needs]
    for (size, position, group), cluster in zip(groups, cluster_indices, strict=True):
        assignment[position].update(zip(group, clusters[cluster][:size], strict=True))
        del clusters[cluster][:size]
    assigned = {cpu for each in assignment for cpu in each.values()}
    left = iter([cpu for cpu in free if cpu not in assigned])
    for position, need in enumerate(needs):
        assignment[position].update((vcpu, next(left)) for vcpu in need.singles)
    return assignment


def _pack_pieces(
    rooms: list[int], sizes: Sequence[int], dead: set[tuple[object, ...]] | None = None
) -> list[int] | None:
    """Return the bin for each size, largest first; tries tight bins first, all before giving up."""
    if not sizes:
        return []
    dead = set() if dead is None else dead
    state = (len(sizes), *sorted(rooms))
    if state in dead:
        return None
    tried: set[int] = set()
    for room in sorted(range(len(rooms)), key=lambda each: (rooms[each], each)):
        if rooms[room] < sizes[0] or rooms[room] in tried:
            continue
        tried.add(rooms[room])
        rooms[room] -= sizes[0]
        rest = _pack_pieces(rooms, sizes[1:], dead)
        rooms[room] += sizes[0]
        if rest is not None:
            return [room, *rest]
    dead.add(state)
    return None


def _assign_threads(node: FreeNode, needs: Sequence[SetNeed], manner: CoreRules) -> CpuAssignment | None:
    """Assign any free threads, first on cores in use; a pair is still on one core."""
    cores = sorted(node.shared, key=lambda core: (not core.is_assigned, -len(core.cpus), core.cpus))
    free = [list(core.cpus) for core in cores]
    groups = sorted(_iter_groups(needs), key=lambda each: (-each[0], each[1]))
    pieces = (
        [(position, (vcpu,)) for _, position, group in groups for vcpu in group]
        if manner.smt_off
        else [(position, group) for _, position, group in groups]
    )
    core_indices = _fit_first(free, pieces) or _pack_pieces(
        [len(each) for each in free], [len(each) for _, each in pieces]
    )
    if core_indices is None:
        return None
    assignment: CpuAssignment = [{} for _ in needs]
    for (position, piece), room in zip(pieces, core_indices, strict=True):
        assignment[position].update(zip(piece, free[room], strict=False))
        del free[room][: len(piece)]
    begun = set(core_indices) | {room for room, core in enumerate(cores) if core.is_assigned}
    order = sorted(range(len(free)), key=lambda room: room not in begun)
    left = iter([cpu for room in order for cpu in free[room]])
    for position, need in enumerate(needs):
        for vcpu in need.singles:
            cpu = next(left, None)
            if cpu is None:
                return None
            assignment[position][vcpu] = cpu
    return assignment


def _fit_first(free: Sequence[Sequence[int]], pieces: Sequence[tuple[int, tuple[int, ...]]]) -> list[int] | None:
    """Return for each piece the first core with enough free threads."""
    rooms = [len(each) for each in free]
    indices = []
    for _, piece in pieces:
        room = next((each for each, left in enumerate(rooms) if left >= len(piece)), None)
        if room is None:
            return None
        rooms[room] -= len(piece)
        indices.append(room)
    return indices


def _iter_groups(needs: Sequence[SetNeed]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield size, position of its set and vCPUs of every group."""
    for position, need in enumerate(needs):
        for group in need.groups:
            yield len(group), position, group
