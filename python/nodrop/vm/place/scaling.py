"""More vCPUs in place of faster ones, for VMs that say that these are as good."""

import math
from collections.abc import Iterator

from nodrop.model.vmd import Profile, VcpuSet


def add_vcpus(profile: Profile, ratio: float) -> Profile:
    """The profile with so many vCPUs that slower ones do as much: n / ratio in each set, whole groups where grouped.

    Source: ETSI GS NFV-PER 001 clause 8.2.2.5: fewer cores are needed at 2.7 GHz than at 1.8 GHz.
    """
    names = iter(range(max(vcpu for each in profile.vcpu_sets for vcpu in each.vcpus) + 1, 1 << 62))
    return profile.model_copy(
        update={"vcpu_sets": tuple(_add_to_set(each, ratio, names) for each in profile.vcpu_sets)}
    )


def _add_to_set(vcpu_set: VcpuSet, ratio: float, names: Iterator[int]) -> VcpuSet:
    # A hair off, so that 2 / (2/3) is 3 and not 4.
    missing = math.ceil(len(vcpu_set.vcpus) / ratio - 1e-9) - len(vcpu_set.vcpus)
    size = max((len(pair) for pair in vcpu_set.pairs), default=1)
    groups = [tuple(next(names) for _ in range(size)) for _ in range(-(-missing // size))]
    added = tuple(vcpu for group in groups for vcpu in group)
    pairs = (*vcpu_set.pairs, *groups) if size > 1 else vcpu_set.pairs
    return vcpu_set.model_copy(update={"vcpus": (*vcpu_set.vcpus, *added), "pairs": pairs})
