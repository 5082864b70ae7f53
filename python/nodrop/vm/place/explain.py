"""Why a VM goes where it goes, and why not elsewhere."""

from collections.abc import Iterator

from nodrop.model.placement import Constraint, PlacementResult, Rejection
from nodrop.vm.place.assemble import assemble_placement
from nodrop.vm.place.explanations import add_explanations
from nodrop.vm.place.host_choice import Decision
from nodrop.vm.place.violations import find_deciding, list_violations

REJECTIONS_IN_FULL = 3
"""Hosts that are refused and explained in full in any case."""


def explain_decision(decision: Decision, *, in_full: bool = True) -> PlacementResult:
    """A decision with its reasons: the placement to the last resource, and what stands against each other host.

    Args:
        decision: what became of a VM.
        in_full: every reason of every host. Else, where many are refused, what decides first of each, and every reason
            of one host for each constraint that decides: people read no more of a thousand.
    """
    best = decision.candidates[0] if decision.candidates else None
    return PlacementResult(
        vm=decision.vm,
        policy=decision.options.policy,
        placement=add_explanations(assemble_placement(decision.vm, best), decision) if best else None,
        alternatives=tuple(each.inventory.id for each in decision.candidates[1:]),
        rejections=tuple(_rejections(decision, in_full or len(decision.refused) <= REJECTIONS_IN_FULL)),
    )


def _rejections(decision: Decision, in_full: bool) -> Iterator[Rejection]:
    told: set[Constraint] = set()
    for host in decision.refused:
        first = () if in_full else find_deciding(decision, host)
        if not first or first[0].constraint not in told:
            told.update(each.constraint for each in first)
            first = list_violations(decision, host)
        yield Rejection(host_id=host.id, hostname=host.hostname, violations=first)
