"""What a placement is to heed besides the VM's own requirements."""

from typing import NamedTuple

from nodrop.model.placement import Policy
from nodrop.vm.ranking import Ranking
from nodrop.vm.ranking.worst_case import WorstCaseRanking

GIB = 2**30
STEPS_MAX = 200_000
"""Tries for a VM, divided among all hosts, before placement says that it does not know; a host takes some dozens."""
STEPS_MIN = 2_000
"""On each host however many there are."""


class HostReserve(NamedTuple):
    """What the host keeps for itself. Source: ETSI GS NFV-PER 001 Annex A, "Memory Available", "Core Availability"."""

    core_count: int = 1
    """Of the whole host; cores that VMs may not have anyway count."""
    memory_bytes: int = GIB
    """Of every node that a VM takes memory from, not in large pages."""


class PlacementOptions(NamedTuple):
    """How to choose among what fits."""

    policy: Policy = "best-fit"
    ranking: Ranking = WorstCaseRanking()
    reserve: HostReserve = HostReserve()
    guarantee_min_ratio: float = 1.0
    """Processors below the rank that is asked will do as long as this share of the KPIs is guaranteed."""
    unknown_passes: bool = False
    """Facts of the whole host that are not known (ISA, memory speed, capabilities) are warned of, not refused."""
    steps_max: int = STEPS_MAX


DEFAULT_PLACEMENT_OPTIONS = PlacementOptions()
