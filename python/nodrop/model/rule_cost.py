"""Placement rules, each broken separately to measure its cost on a host. ETSI GS NFV-PER 001 clauses 6 to 8."""

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.choices import AntagonistKind

BASELINE_VARIANT = "kept"
"""The variant of a suite that follows all rules, to which the others are compared."""


class PlacementRule(Value):
    """A rule, and how it is broken on this host."""

    key: str
    """Stable, for programs and flags: `same-core`. It is the variant of the runs that break the rule."""
    text: str
    """The violation, for people: `on the tester's CPU`."""
    why: str
    """The expected effect, in a sentence."""
    clause: str
    """Source of the rule."""
    how: str = ""
    """The violation on this host: `forwarder on CPU 0`."""
    note: str = ""
    """Side effects to consider when judging the figure."""
    why_not: str = ""
    """Why this host cannot break the rule, as a sentence; empty if it can."""
    antagonist: AntagonistKind | None = None
    """The noisy neighbor that breaks it, for impact option 1."""
    vnf_count: int = Field(default=1, ge=1)
    """Number of identical VNFs, for impact option 2; figures are those of one VNF."""


class RuleCostPlan(Value):
    """The settings of a suite that measures the cost of rules."""

    vm: str = ""
    """The VM Descriptor; empty if there is none."""
    baseline: str
    """The placement that follows all rules, in words."""
    goals: tuple[str, ...] = Field(min_length=1)
    """Keys of measures, e.g. `ndr`: the cost refers to the first that the baseline has."""
    share: float = Field(default=0.9, gt=0, le=1)
    """Share of a single VNF's performance that identical ones must reach."""
    rules: tuple[PlacementRule, ...]
    """All rules, including those that this host cannot break."""
