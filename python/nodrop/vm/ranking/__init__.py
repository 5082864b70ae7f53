"""Processor rankings: whether a substitute suffices, and the share of the promised performance it guarantees.

Source: ETSI GS NFV-PER 001 clauses 8.2.2.1 (a ranking by benchmarks, or by features) and 8.2.2.5 (worst case).
"""

from typing import NamedTuple, Protocol

from nodrop.model.chd import Processor
from nodrop.model.vmd import ProcessorRequirements

AS_DECLARED = "as declared"


class ProcessorStanding(NamedTuple):
    """Rank of a processor relative to the one that the VM's figures refer to."""

    ratio: float | None
    """Expected share of the promised performance, at most 1; None: unknown."""
    label: str
    """`as declared`, `extrapolated (worst-case): ...`, or why it is unknown."""
    met: bool = True
    """Whether it reaches the required rank."""
    asked: str = ""
    found: str = ""
    substitution: str = ""
    """A sentence, for a different processor."""


class Ranking(Protocol):
    """A method to compare processors."""

    @property
    def name(self) -> str:
        """Name in reports."""

    def rank_processor(self, requested: ProcessorRequirements, actual: Processor) -> ProcessorStanding:
        """Rank a host's processor against a VM's requirements."""
