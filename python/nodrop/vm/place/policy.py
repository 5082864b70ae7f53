"""Placement options in addition to the VM's requirements."""

from typing import NamedTuple

from nodrop.model.placement import Policy
from nodrop.vm.ranking import Ranking
from nodrop.vm.ranking.rankings import WorstCaseRanking

GIB = 2**30
STEPS_MAX = 200_000
"""Search steps for a VM, divided among all hosts, before the result is undecided; a host takes some dozens."""
STEPS_MIN = 2_000
"""Minimum per host, regardless of the number of hosts."""


class HostReserve(NamedTuple):
    """Resources kept for the host. Source: ETSI GS NFV-PER 001 Annex A, "Memory Available", "Core Availability"."""

    core_count: int = 1
    """On the entire host, including cores not eligible for VMs."""
    memory_bytes: int = GIB
    """Of normal memory on every node that a VM uses."""


class PlacementOptions(NamedTuple):
    """Options of a placement."""

    policy: Policy = "best-fit"
    ranking: Ranking = WorstCaseRanking()
    reserve: HostReserve = HostReserve()
    guarantee_min_ratio: float = 1.0
    """Accept processors below the required rank that guarantee this share of the KPIs."""
    unknown_passes: bool = False
    """Warn about unknown host-wide facts (ISA, memory speed, capabilities) instead of rejecting the host."""
    steps_max: int = STEPS_MAX


DEFAULT_PLACEMENT_OPTIONS = PlacementOptions()
