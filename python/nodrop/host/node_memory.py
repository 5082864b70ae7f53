"""Memory of a NUMA node: large pages of every size, and normal memory.

Source: ETSI GS NFV-PER 001 clause 8.1.1.4; Linux, Documentation/admin-guide/mm/hugetlbpage.rst and
Documentation/ABI/stable/sysfs-devices-node.
"""

from collections.abc import Mapping, Sequence

from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source
from nodrop.model.chd import Bandwidth, LargePages, NodeMemory, NormalMemory
from nodrop.model.observation import Observation
from nodrop.units import format_bytes

NODES = "/sys/devices/system/node"
HUGEPAGES = "/sys/kernel/mm/hugepages"
OVERCOMMIT = "/proc/sys/vm/overcommit_memory"
RECLAIMABLE = ("MemFree", "Active(file)", "Inactive(file)", "SReclaimable")
MIB = 1 << 20
TOLERATED_RATIO = 0.05
"""Normal deviation between the kernel's own totals: old kernels count their reserved memory on nodes."""


def describe_node_memory(source: Source, node: int, *, alone: bool) -> NodeMemory:
    """Describe the memory of a node; machine-wide values apply if it is the only node."""
    info, path = _read_meminfo(source.tree, node, alone=alone)
    total = _observe_bytes(source, info, "MemTotal", path)
    pages = _list_large_pages(source, node, info, path, alone=alone)
    return NodeMemory(
        total_bytes=total,
        large_pages=pages,
        normal=_build_normal(source, total, pages, info, path),
        bandwidth=_build_bandwidth(source, node),
    )


def find_contradictions(source: Source, nodes: Sequence[NodeMemory]) -> list[str]:
    """Return a warning if the memory of all nodes differs from the machine's total; the kernel reports both."""
    whole = _read_meminfo(source.tree, -1, alone=True)[0].get("MemTotal", 0)
    sizes = [node.total_bytes.value for node in nodes]
    total = sum(size for size in sizes if size is not None)
    if None in sizes or not whole or abs(total - whole) <= TOLERATED_RATIO * whole:
        return []
    return [
        f"nodes have {format_bytes(total)} of memory together, the machine has {format_bytes(whole)} by /proc/meminfo"
    ]


def _read_meminfo(tree: FileTree, node: int, *, alone: bool) -> tuple[Mapping[str, int], str]:
    """Return the values of meminfo (sizes in bytes) and its path. A line is e.g. `Node 0 MemTotal:  32768 kB`."""
    path = f"{NODES}/node{node}/meminfo"
    text = tree.read_text(path)
    if text is None and alone:
        path = "/proc/meminfo"
        text = tree.read_text(path)
    fields = dict[str, int]()
    for line in (text or "").splitlines():
        key, _, value = line.removeprefix(f"Node {node} ").partition(":")
        number, _, unit = value.strip().partition(" ")
        if number.isdecimal() and len(number) <= 18 and unit in ("", "kB"):
            fields[key.strip()] = int(number) * (1024 if unit else 1)
    return fields, path


def _observe_bytes(source: Source, info: Mapping[str, int], key: str, path: str) -> Observation[int]:
    if key in info:
        return source.moment.reported(info[key], f"{path} {key}")
    return source.moment.unknown(source.tree.failure_reason(path) or f"has no {key} that is a number", path)


def _list_large_pages(
    source: Source, node: int, info: Mapping[str, int], path: str, *, alone: bool
) -> tuple[LargePages, ...]:
    """Return large pages of every size on this node; on old kernels only the default size."""
    tree = source.tree
    directory = f"{NODES}/node{node}/hugepages"
    if not tree.list_directory(directory) and alone:
        directory = HUGEPAGES
    sizes = sorted(filter(None, (_parse_size(name) for name in tree.list_directory(directory))))
    if sizes:
        return tuple(_build_pages(source, f"{directory}/hugepages-{size >> 10}kB", size, alone=alone) for size in sizes)
    size_path = "/proc/meminfo"
    size = _read_meminfo(tree, -1, alone=True)[0].get("Hugepagesize", 0)
    if not size or "HugePages_Total" not in info:
        return ()
    total, free = info["HugePages_Total"], info.get("HugePages_Free")
    return (
        LargePages(
            size_bytes=size,
            total_count=source.moment.reported(total, f"{path} HugePages_Total", f"size from {size_path}"),
            used_count=_observe_used(source, total, free, f"{path} HugePages_Free"),
            surplus_count=_observe_bytes(source, info, "HugePages_Surp", path),
            reserved_count=_observe_bytes(source, info, "HugePages_Rsvd", path)
            if alone
            else _observe_machine_count(source),
        ),
    )


def _parse_size(name: str) -> int:
    """Parse the bytes of `hugepages-2048kB`; 0: no such name."""
    size = name.removeprefix("hugepages-").removesuffix("kB")
    return int(size) << 10 if size.isdecimal() and len(size) < 12 and name == f"hugepages-{size}kB" else 0


def _build_pages(source: Source, directory: str, size: int, *, alone: bool) -> LargePages:
    total = _observe_count(source, f"{directory}/nr_hugepages")
    free = source.tree.read_number(f"{directory}/free_hugepages")
    reserved = f"{HUGEPAGES}/hugepages-{size >> 10}kB/resv_hugepages"
    return LargePages(
        size_bytes=size,
        total_count=total,
        used_count=_observe_used(source, total.value, free, f"{directory}/free_hugepages"),
        surplus_count=_observe_count(source, f"{directory}/surplus_hugepages"),
        reserved_count=_observe_count(source, reserved)
        if alone
        else _observe_machine_count(source, reserved, total.value),
    )


def _observe_count(source: Source, path: str) -> Observation[int]:
    count = source.tree.read_number(path)
    if count is None or count < 0:
        return source.moment.unknown(source.tree.failure_reason(path) or f"holds {count}, a count expected", path)
    return source.moment.reported(count, path)


def _observe_used(source: Source, total: int | None, free: int | None, path: str) -> Observation[int]:
    if total is None or free is None:
        return source.moment.unknown(source.tree.failure_reason(path) or "their total is not known", path)
    if not 0 <= free <= total:
        return source.moment.unknown(f"holds {free}, more than the {total} there are", path)
    return source.moment.inferred(total - free, path, "total less free")


def _observe_machine_count(source: Source, path: str = HUGEPAGES, total: int | None = None) -> Observation[int]:
    count = source.tree.read_number(path)
    if count == 0 or total == 0:
        return source.moment.inferred(0, path, "none on the whole machine" if count == 0 else "the node has none")
    return source.moment.unknown(
        "the kernel counts them for the whole machine only" + (f": {count}" if count else ""), path
    )


def _build_normal(
    source: Source,
    total: Observation[int],
    pages: tuple[LargePages, ...],
    info: Mapping[str, int],
    path: str,
) -> NormalMemory:
    """Return memory outside large pages. Free memory includes the reclaimable page cache."""
    moment = source.moment
    large = [each.size_bytes * each.total_count.value for each in pages if each.total_count.value is not None]
    size: Observation[int]
    if total.value is None or len(large) < len(pages):
        size = moment.unknown("the node's memory or its large pages are not known", path)
    elif sum(large) > total.value:
        size = moment.unknown("its large pages are more than its memory", path)
    else:
        size = moment.inferred(total.value - sum(large), path, "memory less large pages")
    free: Observation[int] = moment.unknown(source.tree.failure_reason(path) or "has no MemFree that is a number", path)
    if "MemFree" in info:
        counted = [key for key in RECLAIMABLE if key in info]
        free = moment.inferred(sum(info[key] for key in counted), path, " + ".join(counted))
        if size.value is not None and free.value is not None and free.value > size.value:
            free = moment.unknown(f"{free.value} bytes are more than there are", path)
    usage: Observation[float] = moment.unknown("free or total is not known", path)
    if size.value and free.value is not None:
        usage = moment.inferred(round(1 - free.value / size.value, 4), path, "what is not free, of the total")
    return NormalMemory(
        total_bytes=size, free_bytes=free, usage_ratio=usage, oversubscribable=_observe_oversubscribable(source)
    )


def _observe_oversubscribable(source: Source) -> Observation[bool]:
    """Return whether memory can be overcommitted. Source: Linux, Documentation/mm/overcommit-accounting.rst."""
    mode = source.tree.read_number(OVERCOMMIT)
    if mode not in (0, 1, 2):
        return source.moment.unknown(
            source.tree.failure_reason(OVERCOMMIT) or f"holds {mode}, 0 to 2 expected", OVERCOMMIT
        )
    means = ("unless it is obviously too much", "always", "never")[mode]
    return source.moment.reported(mode != 2, OVERCOMMIT, f"vm.overcommit_memory={mode}: {means}")


def _build_bandwidth(source: Source, node: int) -> Bandwidth:
    """Return the read bandwidth of the nearest CPUs from ACPI HMAT. Source: numaperf.rst; MiB per second."""
    path = f"{NODES}/node{node}/access0/initiators/read_bandwidth"
    speed = source.tree.read_number(path)
    if not speed or speed < 0:
        return Bandwidth(
            total_bytes_per_s=source.moment.unknown(_explain_missing_bandwidth(source.tree.failure_reason(path)), path)
        )
    return Bandwidth(
        total_bytes_per_s=source.moment.reported(
            float(speed * MIB), path, "reads by the nearest CPUs, says the firmware"
        )
    )


def _explain_missing_bandwidth(reason: str) -> str:
    return "the firmware does not say" if reason == "no such file" else reason or "the firmware says 0"
