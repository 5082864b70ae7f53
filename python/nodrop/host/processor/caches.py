"""Caches and their number, from sysfs or CPUID.

Source: Linux, Documentation/ABI/testing/sysfs-devices-system-cpu; Intel SDM volume 2, CPUID leaf 4; AMD APM volume 3,
function 8000_001D.
"""

import re
from typing import NamedTuple

from nodrop.host import cpu_lists, observations
from nodrop.host.cpu_lists import CPUS
from nodrop.host.processor.inputs import ProcessorInputs
from nodrop.model.chd import Cache, TlbKind
from nodrop.model.observation import Observation

_SIZE = re.compile(r"(\d{1,9})([KMG]?)")
_UNIT = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_KINDS: dict[str, TlbKind] = {"Data": "data", "Instruction": "instruction", "Unified": "unified"}
_CODES: dict[int, TlbKind] = {1: "data", 2: "instruction", 3: "unified"}
_SETS_MAX = 2**20


class CpuidCache(NamedTuple):
    """A cache as listed by CPUID."""

    level: int
    kind: TlbKind
    size_bytes: int
    line_bytes: int
    ways_count: int
    source: str


def read_caches(chip: ProcessorInputs) -> tuple[Cache, ...]:
    """Read the caches of the first CPU, and the number of each on the machine."""
    moment, tree = chip.source.moment, chip.source.tree
    caches = []
    for name in tree.list_directory(f"{chip.first}/cache"):
        path = f"{chip.first}/cache/{name}"
        level, kind = tree.read_number(f"{path}/level"), _KINDS.get(tree.read_text(f"{path}/type") or "")
        if not name.startswith("index") or level is None or not 1 <= level <= 9 or kind is None:
            continue
        shared = _read_shared_cpus(chip, path)
        caches.append(
            Cache(
                level=level,
                kind=kind,
                size_bytes=_observe_size(chip, f"{path}/size"),
                line_bytes=observations.observe_number(chip.source, f"{path}/coherency_line_size"),
                ways_count=observations.observe_number(chip.source, f"{path}/ways_of_associativity"),
                shared_cpus=observations.observe_unreadable(chip.source, f"{path}/shared_cpu_list")
                if shared is None
                else moment.reported(shared, f"{path}/shared_cpu_map"),
                instance_count=_count_instances(chip, name),
            )
        )
    return tuple(caches) or tuple(_from_cpuid(chip, each) for each in list_cpuid_caches(chip))


def list_cpuid_caches(chip: ProcessorInputs) -> tuple[CpuidCache, ...]:
    """List the caches of CPUID leaf 4, or AMD's equivalent function."""
    cpuid = chip.source.cpuid
    leaf = 0x8000_001D if chip.amd else 4
    caches = []
    for place, each in enumerate(cpuid.list_subleaves(leaf) if cpuid else ()):
        kind = _CODES.get(each.eax & 0x1F)
        if kind is None or each.ecx >= _SETS_MAX:
            break
        line, parts, ways = (each.ebx & 0xFFF) + 1, (each.ebx >> 12 & 0x3FF) + 1, (each.ebx >> 22) + 1
        size = line * parts * ways * (each.ecx + 1)
        caches.append(CpuidCache(max(1, each.eax >> 5 & 7), kind, size, line, ways, f"cpuid {leaf:#x}/{place}"))
    return tuple(caches)


def _from_cpuid(chip: ProcessorInputs, each: CpuidCache) -> Cache:
    moment = chip.source.moment
    return Cache(
        level=each.level,
        kind=each.kind,
        size_bytes=moment.reported(each.size_bytes, each.source),
        line_bytes=moment.reported(each.line_bytes, each.source),
        ways_count=moment.reported(each.ways_count, each.source),
        shared_cpus=moment.unknown("CPUID does not list them", each.source),
        instance_count=moment.unknown("CPUID does not count them", each.source),
    )


def _observe_size(chip: ProcessorInputs, path: str) -> Observation[int]:
    text = chip.source.tree.read_text(path)
    if text is None:
        return observations.observe_unreadable(chip.source, path)
    if (match := _SIZE.fullmatch(text)) is None:
        return chip.source.moment.unknown(f"holds {text[:40]!r}, a size expected", path)
    size = int(match[1]) * _UNIT[match[2]]
    if not size:
        return chip.source.moment.unknown("the firmware does not tell it: 0", path)
    return chip.source.moment.reported(size, path)


def _read_shared_cpus(chip: ProcessorInputs, path: str) -> tuple[int, ...] | None:
    """Return the CPUs that share a cache, by the mask as lscpu and hwloc do: lists of old kernels may be wrong."""
    cpus = cpu_lists.read_cpu_mask(chip.source.tree, f"{path}/shared_cpu_map")
    return cpu_lists.read_cpu_list(chip.source.tree, f"{path}/shared_cpu_list") if cpus is None else cpus


def _count_instances(chip: ProcessorInputs, name: str) -> Observation[int]:
    """Count the caches of all CPUs, shared ones once."""
    counted_cpus: set[int] = set()
    count = 0
    for cpu in chip.cpus:
        if int(cpu[3:]) in counted_cpus:
            continue
        shared = _read_shared_cpus(chip, f"{CPUS}/{cpu}/cache/{name}")
        if shared:
            count += 1
            counted_cpus.update(shared)
    path = f"{CPUS}/cpu*/cache/{name}/shared_cpu_map"
    return chip.source.moment.reported(count, path) if count else chip.source.moment.unknown("no list of CPUs", path)
