"""Where VMs go: hosts that meet every requirement, the best of them, and the exact resources on it.

Source: ETSI GS NFV-PER 001 clauses 4 and 8. docs/concepts/placement.md has what counts as met.
"""

from collections.abc import Sequence

from nodrop.model.chd import HostDescriptor
from nodrop.model.placement import PlacementResult, Policy
from nodrop.model.vmd import VmDescriptor
from nodrop.vm.place.explain import explained
from nodrop.vm.place.host_choice import Decision, decide
from nodrop.vm.place.inventory import Inventory, compiled
from nodrop.vm.place.policy import USUAL, Reserve, Terms
from nodrop.vm.place.residual_host import subtract_placement
from nodrop.vm.ranking import Ranking

__all__ = [
    "Decision",
    "Inventory",
    "Reserve",
    "Terms",
    "compiled",
    "decide",
    "explained",
    "place",
    "subtract_placement",
]


def place(
    vmd: VmDescriptor,
    hosts: Sequence[HostDescriptor],
    policy: Policy = "best-fit",
    ranking: Ranking = USUAL.ranking,
    *,
    terms: Terms = USUAL,
    vm: str = "",
) -> PlacementResult:
    """Where a VM goes, or every reason why it goes nowhere.

    Args:
        vmd: what it needs.
        hosts: what there is; their order does not matter.
        policy: how to choose among hosts that fit.
        ranking: how to compare processors.
        terms: what else to heed; its policy and ranking give way to those named.
        vm: the name of this instance; empty: that of the VMD.
    """
    terms = terms._replace(policy=policy, ranking=ranking)
    return explained(decide(vmd, [compiled(each) for each in hosts], terms, vm))
