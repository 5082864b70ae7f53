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
    objects = [(element.get("type", ""), element) for element in root.iter("object")]
    caches = dict[CacheKind, set[tuple[int, tuple[int, ...]]]]()
    for kind, element in objects:
        if match := re.fullmatch(r"L([1-9])(i?)Cache", kind):
            of = {"0": "unified", "1": "data", "2": "instruction"}.get(element.get("cache_type", ""), "")
            caches.setdefault(CacheKind(int(match[1]), of), set()).add(
                (_parse_number(element, "cache_size"), _parse_cpuset(element))
            )
    numbered = [(element, _parse_number(element, "os_index")) for kind, element in objects if kind == "NUMANode"]
    return HwlocTopology(
        nodes={number: _parse_cpuset(element) for element, number in numbered},
        memory_bytes={number: _parse_number(element, "local_memory") for element, number in numbered},
        cores=frozenset(_parse_cpuset(element) for kind, element in objects if kind == "Core"),
        packages={
            _parse_number(element, "os_index"): _parse_cpuset(element) for kind, element in objects if kind == "Package"
        },
        caches={kind: frozenset(element) for kind, element in caches.items()},
    )


def find_disagreements(nodes: Sequence[NumaNode], topology: HwlocTopology | None) -> tuple[str, ...]:
    """Return one sentence for each difference from hwloc; empty without hwloc data."""
    return tuple(_iter_disagreements(nodes, topology)) if topology else ()


def _iter_disagreements(nodes: Sequence[NumaNode], topology: HwlocTopology) -> Iterator[str]:
    cpus_by_node = {node.id: node.cpus.ids for node in nodes}
    for id_ in sorted(set(cpus_by_node) | set(topology.nodes)):
        if id_ not in cpus_by_node or id_ not in topology.nodes:
            yield f"node {id_} is {'not known to hwloc' if id_ in cpus_by_node else 'known to hwloc only'}"
        # for nodes without CPUs hwloc names the nearest
        elif cpus_by_node[id_] and set(cpus_by_node[id_]) != set(topology.nodes[id_]):
            cpus = format_cpu_list(topology.nodes[id_]) or "none"
            yield f"node {id_} has CPUs {format_cpu_list(cpus_by_node[id_]) or 'none'}, hwloc says {cpus}"
    sets = frozenset(each for node in nodes for each in node.cpus.sibling_sets)
    if topology.cores and sets != topology.cores:
        first = min(sets ^ topology.cores)
        yield f"hwloc says otherwise which CPUs share a core, as of CPUs {format_cpu_list(first)}"
    for node in nodes:
        size, memory_bytes = node.memory.total_bytes.value, topology.memory_bytes.get(node.id)
        if size is not None and memory_bytes is not None and size != memory_bytes:
            yield f"node {node.id} has {size} bytes of memory, hwloc says {memory_bytes}"


def _parse_number(element: ElementTree.Element, name: str) -> int:
    text = element.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def _parse_cpuset(element: ElementTree.Element) -> tuple[int, ...]:
    """Parse a CPU set of hwloc, e.g. `0x0000000f,,0x1`: 32-bit words, the highest first, empty ones are 0."""
    text = element.get("cpuset", "")
    if not _SET.fullmatch(text):
        return ()
    words = [int(word or "0", 16) for word in text.split(",")]
    bits = 0
    for word in words:
        bits = bits << 32 | word
    return tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)
