"""Several runs that belong together, frame sizes or repeats: `results/<suite id>/suite.json`."""

from typing import Literal

from nodrop.model.base import Value
from nodrop.model.result import Status
from nodrop.model.rule_cost import RuleCostPlan


class SuiteRun(Value):
    """One of its runs."""

    frame_size: str
    """As `64` or `IMIX`."""
    run_id: str
    variant: str = ""
    """Which of the set-ups that are measured in turn, `A` or `B`, or the rule it breaks; empty where there is one."""
    repeat: int = 1
    """Which repeat of it, from 1."""
    status: Status
    removed: bool = False
    """Whether its result was removed since."""


class Suite(Value):
    """What was asked for as one and is kept as several results."""

    schema_version: Literal["1"] = "1"
    suite_id: str
    started_at: str
    """UTC, ISO 8601."""
    wall_s: float
    status: Status
    """Complete when every run of it is."""
    error: str | None = None
    frame_sizes: tuple[str, ...]
    """All that were asked for, in order."""
    repeat_count: int = 1
    """How often each was asked for."""
    pricing: RuleCostPlan | None = None
    """Where its runs break rules of placement, to see what these are worth."""
    runs: tuple[SuiteRun, ...]
    """Those that began, in order."""
