"""The result of a run: `results/<run id>/result.json`."""

from enum import StrEnum
from typing import Literal

from pydantic import field_validator

from nodrop.model.base import Value
from nodrop.model.facts import Facts
from nodrop.model.goal import Flag, GoalResult
from nodrop.model.message import Message
from nodrop.model.plan import Plan
from nodrop.model.trial import FIXED, TrialResult


class Status(StrEnum):
    """How the run ended."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    """The user stopped it."""
    TIMED_OUT = "timed_out"
    """The search ran out of the time it was given."""
    FAILED = "failed"


class CheckArrival(Value):
    """Learning frames of one stream that arrived with equal headers."""

    port: int
    vlan: int | None
    """Outermost VLAN tag on arrival; None: untagged."""
    src: str
    dst: str
    count: int


class DirectionCheck(Value):
    """End-to-end connectivity of one stream, before the first trial."""

    stream_id: int
    tx_port: int
    rx_port: int
    sent_count: int
    received_count: int
    """Frames that arrived at the expected port."""
    chain: int = 0
    arrivals: tuple[CheckArrival, ...] = ()
    """Arrivals at all ports, by their headers."""


class GoalState(Value):
    """The valid bounds of a goal at some time of a search; None for a bound that was not found yet."""

    label: str
    lower_pps: float | None
    upper_pps: float | None

    @classmethod
    def of(cls, result: GoalResult) -> "GoalState":
        """Return the bounds of a result."""
        lower, upper = result.lower, result.upper
        return cls(
            label=result.goal.label,
            lower_pps=lower.load_pps if lower else None,
            upper_pps=upper.load_pps if upper else None,
        )


class TrialEffect(Message):
    """The effect of a possible outcome of a trial, which `nodrop.formatting.messages` describes."""

    before: tuple[GoalState, ...] = ()
    after: tuple[GoalState, ...] = ()
    next_load_pps: float | None = None
    """Load of the next trial; None if the search ends."""
    next_duration_s: float | None = None


class TrialPreview(Value):
    """The possible effects of a search trial, computed before it starts; empty if computing them takes too long."""

    if_low_loss: TrialEffect = TrialEffect()
    """Effect of a trial without loss."""
    if_high_loss: TrialEffect = TrialEffect()
    """Effect of a trial with more loss than every goal allows."""
    left_s: float | None = None
    """Expected time to the end of the search, this trial included."""


class SearchDecision(TrialPreview):
    """One trial of the search, explained."""

    trial_index: int
    started_s: float
    """Seconds from the start of the search to the start of the trial."""
    before: tuple[GoalState, ...]
    after: tuple[GoalState, ...]


class LatencyResult(Value):
    """The latency at a load: the load and the index of its trial, of the search or after it."""

    label: str
    load_pps: float
    trial_index: int


class EarlierFigure(Value):
    """A rate in earlier runs of the same setup."""

    key: str
    """The key of the measure, e.g. `ndr`."""
    text: str
    """Its name, e.g. `NDR`."""
    count: int
    """Runs that have it."""
    lowest: float
    """In frames per second, both directions together."""
    highest: float


class EarlierRuns(Value):
    """The earlier complete runs of the same setup in the results directory: the repeatability of the figures."""

    run_ids: tuple[str, ...] = ()
    """Newest first; at most 20."""
    figures: tuple[EarlierFigure, ...] = ()


class RunResult(Value):
    """The complete record of one run. It is never rewritten."""

    schema_version: Literal["2"] = "2"
    """1: messages are sentences, without parameters; such results are still read."""
    run_id: str
    started_at: str
    """UTC, ISO 8601."""
    wall_s: float
    status: Status
    error: str | None = None
    """The error that ended an incomplete run."""
    plan: Plan
    facts: Facts | None
    """None if the lab did not come up."""
    checks: tuple[DirectionCheck, ...] = ()
    trials: tuple[TrialResult, ...] = ()
    goals: tuple[GoalResult, ...] = ()
    steps: tuple[SearchDecision, ...] = ()
    """The decisions of the search, by trial."""
    findings: tuple[Flag, ...] = ()
    """What the search saw of the SUT and the tester beyond the goals: warm-up, drift, modes, stalls, buffers."""
    latencies: tuple[LatencyResult, ...] = ()
    earlier_runs: EarlierRuns | None = None
    """None if no rate was found, or the index of results could not be read."""

    @field_validator("schema_version", mode="before")
    @classmethod
    def _accept_version_1(cls, version: object) -> object:
        return "2" if version == "1" else version

    @property
    def fixed_trial(self) -> TrialResult | None:
        """The trial of a run at a fixed rate; None for other runs."""
        return next((trial for trial in self.trials if trial.phase == FIXED), None)
