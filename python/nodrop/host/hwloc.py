"""Cross-check with hwloc, an independent reader of the same files and of CPUID."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from nodrop.host.inputs import Source
from nodrop.model.chd import NumaNode
from nodrop.system.cpu_sets import format_cpu_list

KEEP_GPU_NODES = "HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES=1"
"""Include GPU memory that the kernel exposes as NUMA nodes, which hwloc omits by default."""
COMMAND = ("env", KEEP_GPU_NODES, "lstopo-no-graphics", "--of", "xml", "--disallowed")
_SET = re.compile(r"(?:0x)?[0-9a-fA-F]{1,8}(?:,(?:(?:0x)?[0-9a-fA-F]{1,8})?){0,4096}")


class CacheKind(NamedTuple):
    """A level and type of cache."""

    level: int
    kind: str
    """`data`, `instruction` or `unified`."""


class HwlocTopology(NamedTuple):
    """The parts of an hwloc topology that a CHD covers too; CPUs by their OS number."""

    nodes: Mapping[int, tuple[int, ...]]
    memory_bytes: Mapping[int, int]
    cores: frozenset[tuple[int, ...]]
    packages: Mapping[int, tuple[int, ...]]
    caches: Mapping[CacheKind, frozenset[tuple[int, tuple[int, ...]]]]
    """Size in bytes and CPUs of each, by kind."""


def read_hwloc(source: Source) -> HwlocTopology | None:
    """Return hwloc's topology of this machine; None if it is not installed or does not answer."""
    text = source.programs(*COMMAND).text
    return parse_hwloc(text) if text else None


def parse_hwloc(text: str) -> HwlocTopology | None:
    """Parse an XML export of hwloc 2; None: not one."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return None
    objects = [(found.get("type", ""), found) for found in root.iter("object")]
    caches = dict[CacheKind, set[tuple[int, tuple[int, ...]]]]()
    for kind, found in objects:
        if match := re.fullmatch(r"L([1-9])(i?)Cache", kind):
            of = {"0": "unified", "1": "data", "2": "instruction"}.get(found.get("cache_type", ""), "")
            caches.setdefault(CacheKind(int(match[1]), of), set()).add(
                (_parse_number(found, "cache_size"), _parse_cpuset(found))
            )
    numbered = [(found, _parse_number(found, "os_index")) for kind, found in objects if kind == "NUMANode"]
    return HwlocTopology(
        nodes={number: _parse_cpuset(found) for found, number in numbered},
        memory_bytes={number: _parse_number(found, "local_memory") for found, number in numbered},
        cores=frozenset(_parse_cpuset(found) for kind, found in objects if kind == "Core"),
        packages={
            _parse_number(found, "os_index"): _parse_cpuset(found) for kind, found in objects if kind == "Package"
        },
        caches={kind: frozenset(found) for kind, found in caches.items()},
    )


def find_disagreements(nodes: Sequence[NumaNode], seen: HwlocTopology | None) -> tuple[str, ...]:
    """Return one sentence for each difference from hwloc; empty without hwloc data."""
    return tuple(_iter_disagreements(nodes, seen)) if seen else ()


def _iter_disagreements(nodes: Sequence[NumaNode], seen: HwlocTopology) -> Iterator[str]:
    ours = {node.id: node.cpus.ids for node in nodes}
    for id_ in sorted(set(ours) | set(seen.nodes)):
        if id_ not in ours or id_ not in seen.nodes:
            yield f"node {id_} is {'not known to hwloc' if id_ in ours else 'known to hwloc only'}"
        elif ours[id_] and set(ours[id_]) != set(seen.nodes[id_]):  # of others hwloc says the nearest
            theirs = format_cpu_list(seen.nodes[id_]) or "none"
            yield f"node {id_} has CPUs {format_cpu_list(ours[id_]) or 'none'}, hwloc says {theirs}"
    sets = frozenset(each for node in nodes for each in node.cpus.sibling_sets)
    if seen.cores and sets != seen.cores:
        first = min(sets ^ seen.cores)
        yield f"hwloc says otherwise which CPUs share a core, as of CPUs {format_cpu_list(first)}"
    for node in nodes:
        size, said = node.memory.total_bytes.value, seen.memory_bytes.get(node.id)
        if size is not None and said is not None and size != said:
            yield f"node {node.id} has {size} bytes of memory, hwloc says {said}"


def _parse_number(found: ElementTree.Element, name: str) -> int:
    written = found.get(name, "")
    return int(written) if written.isdecimal() and len(written) < 20 else 0


def _parse_cpuset(found: ElementTree.Element) -> tuple[int, ...]:
    """Parse a CPU set of hwloc, e.g. `0x0000000f,,0x1`: 32-bit words, the highest first, empty ones are 0."""
    written = found.get("cpuset", "")
    if not _SET.fullmatch(written):
        return ()
    words = [int(word or "0", 16) for word in written.split(",")]
    bits = 0
    for word in words:
        bits = bits << 32 | word
    return tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)
