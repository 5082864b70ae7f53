"""VM placement: the best host that meets every requirement, and the exact resources on it.

Source: ETSI GS NFV-PER 001 clauses 4 and 8. docs/concepts/placement.md defines when a requirement is met.
"""

from collections.abc import Sequence

from nodrop.model.chd import HostDescriptor
from nodrop.model.placement import PlacementResult, Policy
from nodrop.model.vmd import VmDescriptor
from nodrop.vm.place.explanations import explain_decision
from nodrop.vm.place.host_choice import Decision, choose_host
from nodrop.vm.place.inventory import HostInventory, build_inventory
from nodrop.vm.place.policy import DEFAULT_PLACEMENT_OPTIONS, HostReserve, PlacementOptions
from nodrop.vm.place.residual_host import subtract_placement
from nodrop.vm.ranking import Ranking

__all__ = [
    "Decision",
    "HostInventory",
    "HostReserve",
    "PlacementOptions",
    "build_inventory",
    "choose_host",
    "explain_decision",
    "place_vm",
    "subtract_placement",
]


def place_vm(
    vmd: VmDescriptor,
    hosts: Sequence[HostDescriptor],
    policy: Policy = "best-fit",
    ranking: Ranking = DEFAULT_PLACEMENT_OPTIONS.ranking,
    *,
    options: PlacementOptions = DEFAULT_PLACEMENT_OPTIONS,
    vm: str = "",
) -> PlacementResult:
    """Place a VM, or return every reason why no host fits.

    Args:
        vmd: the VM's requirements.
        hosts: candidate hosts, in any order.
        policy: how to choose among hosts that fit.
        ranking: how to compare processors.
        options: other options; `policy` and `ranking` override those in it.
        vm: name of this instance; empty: that of the VMD.
    """
    options = options._replace(policy=policy, ranking=ranking)
    return explain_decision(choose_host(vmd, [build_inventory(each) for each in hosts], options, vm))
