"""A suite of runs, frame sizes or repeats: `results/<suite id>/suite.json`."""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.procedure import ProcedurePlan
from nodrop.model.result import Status
from nodrop.model.rule_cost import RuleCostPlan


class SuiteRun(Value):
    """A run of a suite."""

    frame_size: str
    """For example `64` or `IMIX`."""
    run_id: str
    variant: str = ""
    """The variant, `A` or `B`, of alternating setups, the rule that the run breaks, or the round of a
    procedure; empty without variants."""
    repeat: int = 1
    """Number of the repeat, from 1."""
    status: Status
    removed: bool = False
    """Whether its result has been removed since."""


class Suite(Value):
    """Several runs of one request, each with its own result."""

    schema_version: Literal["1"] = "1"
    suite_id: str
    started_at: str
    """UTC, ISO 8601."""
    wall_s: float
    status: Status
    """Complete if every run is complete."""
    error: str | None = None
    frame_sizes: tuple[str, ...]
    """All requested frame sizes, in order."""
    repeat_count: int = 1
    """Number of repeats of each."""
    pricing: RuleCostPlan | None = None
    """Settings of a suite that measures the cost of placement rules; None for others."""
    procedure: ProcedurePlan | None = Field(default=None, discriminator="name")
    """Settings of the test procedure that chose the runs; None for others."""
    runs: tuple[SuiteRun, ...]
    """The runs that started, in order."""
