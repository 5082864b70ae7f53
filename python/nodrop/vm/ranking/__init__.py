"""Processors ranked: whether another one will do, and what of the promised performance it guarantees.

Source: ETSI GS NFV-PER 001 clauses 8.2.2.1 (a ranking by benchmarks, or by features) and 8.2.2.5 (worst case).
"""

from typing import NamedTuple, Protocol

from nodrop.model.chd import Processor
from nodrop.model.vmd import ProcessorRequirements

AS_DECLARED = "as declared"


class ProcessorStanding(NamedTuple):
    """How a processor stands to the one that a VM's figures are from."""

    ratio: float | None
    """Of the promised performance that can be expected, at most 1; None: nothing can be said."""
    label: str
    """`as declared`, `extrapolated (worst-case): ...`, or why nothing can be said."""
    met: bool = True
    """Whether the rank that is asked is reached."""
    asked: str = ""
    found: str = ""
    substitution: str = ""
    """A sentence, where it is another processor."""


class Ranking(Protocol):
    """One way to compare processors."""

    @property
    def name(self) -> str:
        """As in reports."""

    def standing(self, asked: ProcessorRequirements, found: Processor) -> ProcessorStanding:
        """How a host's processor stands to what a VM asks."""
