"""Requirements of a profile as counts, for matching with an inventory."""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nodrop.model.vmd import Interface, Profile, VcpuSet


class SetNeed(NamedTuple):
    """Requirements of a vCPU set."""

    number: int
    """Index of the set in its profile."""
    groups: tuple[tuple[int, ...], ...]
    """vCPUs that share a core."""
    singles: tuple[int, ...]
    page_bytes: int
    page_count: int
    normal_bytes: int
    bandwidth: float
    """Memory bandwidth in bytes/s; 0: not required."""
    interfaces: tuple[Interface, ...]
    kinds: tuple[int, ...]
    """Of the interfaces: equal for equal requirements, in any set."""

    @property
    def vcpu_count(self) -> int:
        """Number of vCPUs."""
        return sum(map(len, self.groups)) + len(self.singles)

    @property
    def requirements_key(self) -> tuple[object, ...]:
        """Equal for sets with equal requirements."""
        return (tuple(len(each) for each in self.groups), len(self.singles), *self[3:])


class VmNeed(NamedTuple):
    """Requirements of a VM."""

    profile: Profile
    sets: tuple[SetNeed, ...]
    links: tuple[tuple[int, int, float], ...]
    """Two sets, and bytes/s between them."""
    devices: tuple[tuple[str, str], ...]
    """Kind and model, one entry per device."""

    @property
    def page_sizes(self) -> frozenset[int]:
        """Sizes of large pages required."""
        return frozenset(each.page_bytes for each in self.sets if each.page_count)


def count_needs(profile: Profile) -> VmNeed:
    """Count the requirements of a profile."""
    usage = profile.impact.usage if profile.impact else {}
    memory_share = usage.get("memory_bytes_per_s", 0.0) / profile.vcpu_count
    kinds: dict[Interface, int] = {}
    for each in profile.vcpu_sets:
        for interface in each.interfaces:
            kinds.setdefault(interface, len(kinds))
    return VmNeed(
        profile=profile,
        sets=tuple(_count_set(index, each, memory_share, kinds) for index, each in enumerate(profile.vcpu_sets)),
        links=tuple(_count_links(profile, usage.get("inter_node_bytes_per_s", 0.0))),
        devices=tuple((each.kind, each.model) for each in profile.other_io for _ in range(each.count)),
    )


def _count_set(index: int, requested: VcpuSet, memory_share: float, kinds: Mapping[Interface, int]) -> SetNeed:
    paired = {vcpu for pair in requested.pairs for vcpu in pair}
    page_bytes = requested.memory.large_page_bytes or 0
    return SetNeed(
        number=index,
        groups=requested.pairs,
        singles=tuple(vcpu for vcpu in requested.vcpus if vcpu not in paired),
        page_bytes=page_bytes,
        page_count=requested.memory.large_page_count,
        normal_bytes=max(0, requested.memory.total_bytes - page_bytes * requested.memory.large_page_count),
        bandwidth=requested.memory.bandwidth_bytes_per_s or memory_share * len(requested.vcpus),
        interfaces=requested.interfaces,
        kinds=tuple(kinds[each] for each in requested.interfaces),
    )


def _count_links(profile: Profile, usage: float) -> Iterator[tuple[int, int, float]]:
    """Yield the required links, or the worst-case use between nodes, spread evenly. Source: 8.2.2.5, option 3."""
    if profile.links or not usage:
        for link in profile.links:
            yield min(link.sets), max(link.sets), link.bandwidth_bps / 8
        return
    set_count = len(profile.vcpu_sets)
    for a in range(set_count):
        for b in range(a + 1, set_count):
            yield a, b, usage / math.comb(set_count, 2)
