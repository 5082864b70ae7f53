"""What is to be said of a placement: why, what was substituted, what could not be checked, what is left."""

from nodrop.model.placement import Placement
from nodrop.vm.place.decision import Decision


def remarked(placement: Placement, decision: Decision) -> Placement:
    """The placement with all that is to be said of it."""
    assert decision.candidates
    return placement
