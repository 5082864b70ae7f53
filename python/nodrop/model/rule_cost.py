"""Rules of placement, each broken alone, to see what it is worth on a host. ETSI GS NFV-PER 001 clauses 6 to 8."""

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.choices import AntagonistKind

BASELINE_VARIANT = "kept"
"""The variant of a suite that keeps all rules: what the others are compared with."""


class PlacementRule(Value):
    """A rule, and how it is broken on this host."""

    key: str
    """Stable, for programs and flags: `same-core`. Runs that break it have it as their variant."""
    text: str
    """What is done wrong, for people: `on the tester's CPU`."""
    why: str
    """Why it should cost, in a sentence."""
    clause: str
    """Where the rule is from."""
    how: str = ""
    """How it is broken here: `forwarder on CPU 0`."""
    note: str = ""
    """What else that does, which has to be known to believe the figure."""
    why_not: str = ""
    """Why this host cannot break it, as a sentence; empty where it can."""
    antagonist: AntagonistKind | None = None
    """The noisy neighbour that breaks it, of impact option 1."""
    vnf_count: int = Field(default=1, ge=1)
    """Identical VNFs at once, of impact option 2; figures are then those of one of them."""


class RuleCostPlan(Value):
    """What was asked of a suite that prices rules."""

    vm: str = ""
    """The VM Descriptor it is for; empty where none was given."""
    baseline: str
    """The placement that keeps all rules, in words."""
    goals: tuple[str, ...] = Field(min_length=1)
    """Keys of the measures that prices may be of, as `ndr`: of the first that was found with all rules kept."""
    share: float = Field(default=0.9, gt=0, le=1)
    """Share of what one VNF does alone, down to which identical ones do well enough."""
    rules: tuple[PlacementRule, ...]
    """All of them, also those that cannot be broken here."""
