"""CPUs and core siblings, from the sysfs files of old and new kernels."""

import re
from collections.abc import Mapping, Sequence

from nodrop.host.file_tree import FileTree
from nodrop.system.cpu_sets import parse_cpu_list

CPUS = "/sys/devices/system/cpu"
_MASK = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{1,8})*")
_WORDS_MAX = 4096
"""Words of 32 CPUs each."""


def read_cpu_list(tree: FileTree, path: str) -> tuple[int, ...] | None:
    """Return the CPUs of a file such as `0-3,8`; None: see `FileTree.why`."""
    text = tree.read_text(path)
    if text is None:
        return None
    cpus = parse_cpu_list(text)
    if cpus is None:
        tree.record_unexpected(path, text, "a list of CPUs")
    return cpus


def read_cpu_mask(tree: FileTree, path: str) -> tuple[int, ...] | None:
    """Return the CPUs of a mask file such as `00000000,0000010f`, used by old kernels; None: see `FileTree.why`."""
    text = tree.read_text(path)
    if text is None:
        return None
    if not _MASK.fullmatch(text) or text.count(",") >= _WORDS_MAX:
        tree.record_unexpected(path, text, "a mask of CPUs")
        return None
    bits = int("".join(word.zfill(8) for word in text.split(",")), 16)
    return tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def read_list_or_mask(tree: FileTree, as_list: str, as_mask: str) -> tuple[int, ...] | None:
    """Return the CPUs of the list file, or of the mask file if the list is not readable."""
    cpus = read_cpu_list(tree, as_list)
    return read_cpu_mask(tree, as_mask) if cpus is None else cpus


def read_online_cpus(tree: FileTree) -> tuple[int, ...]:
    """Return the CPUs that are online; empty if not reported."""
    online = read_cpu_list(tree, f"{CPUS}/online")
    if online is None:
        online = tuple(
            int(name[3:])
            for name in tree.list_directory(CPUS)
            if name.startswith("cpu") and name[3:].isdecimal() and tree.read_number(f"{CPUS}/{name}/online") != 0
        )
    return online or tuple(_read_cpuinfo_topology(tree))


def read_siblings(tree: FileTree, cpus: Sequence[int], warnings: list[str]) -> Mapping[int, tuple[int, ...]]:
    """Return the threads of each CPU's core, including itself."""
    siblings = dict[int, tuple[int, ...]]()
    for cpu in cpus:
        topology = f"{CPUS}/cpu{cpu}/topology"
        threads = read_cpu_list(tree, f"{topology}/core_cpus_list")
        if threads is None:
            threads = read_list_or_mask(tree, f"{topology}/thread_siblings_list", f"{topology}/thread_siblings")
        if threads is not None:
            siblings[cpu] = threads
    missing = [cpu for cpu in cpus if cpu not in siblings]
    if missing:
        siblings |= _collect_siblings_by_core_id(tree, missing)
    if alone := [cpu for cpu in cpus if cpu not in siblings]:
        path = f"{CPUS}/cpu{alone[0]}/topology/thread_siblings_list"
        warnings.append(
            f"which CPUs share a core is not known ({path}: {tree.failure_reason(path)}); "
            "each is counted as a core of its own"
        )
    return siblings


def _collect_siblings_by_core_id(tree: FileTree, cpus: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return siblings by socket and core id of /proc/cpuinfo."""
    info = _read_cpuinfo_topology(tree)
    cores = dict[tuple[str, str], list[int]]()
    for cpu in cpus:
        fields = info.get(cpu, {})
        if "core id" in fields:
            cores.setdefault((fields.get("physical id", ""), fields["core id"]), []).append(cpu)
    return {cpu: tuple(threads) for threads in cores.values() for cpu in threads}


def _read_cpuinfo_topology(tree: FileTree) -> dict[int, dict[str, str]]:
    """Return the topology fields of each CPU in /proc/cpuinfo."""
    topology = dict[int, dict[str, str]]()
    fields = dict[str, str]()
    for line in (tree.read_text("/proc/cpuinfo") or "").splitlines():
        key, _, value = (part.strip() for part in line.partition(":"))
        if key == "processor" and value.isdecimal() and len(value) < 7:
            fields = topology.setdefault(int(value), {})
        elif key in ("physical id", "core id"):
            fields[key] = value
    return topology
