"""Why a VM goes where it goes, and why not elsewhere."""

from nodrop.model.placement import PlacementResult, Rejection
from nodrop.vm.place.assemble import assembled
from nodrop.vm.place.decision import Decision
from nodrop.vm.place.inventory import Inventory
from nodrop.vm.place.remarks import remarked
from nodrop.vm.place.violations import violations


def explained(decision: Decision) -> PlacementResult:
    """A decision with its reasons: the placement to the last resource, and all that stands against each other host."""
    best = decision.candidates[0] if decision.candidates else None
    return PlacementResult(
        vm=decision.vm,
        policy=decision.terms.policy,
        placement=remarked(assembled(decision.vm, best), decision) if best else None,
        alternatives=tuple(each.inventory.id for each in decision.candidates[1:]),
        rejections=tuple(rejection(decision, host) for host in decision.refused),
    )


def rejection(decision: Decision, host: Inventory) -> Rejection:
    """Everything that stands against a host."""
    return Rejection(host_id=host.id, hostname=host.hostname, violations=violations(decision, host))
