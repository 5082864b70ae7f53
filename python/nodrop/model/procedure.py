"""Settings of the test procedures: suites of runs in which results decide the next run."""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.choices import PatternKind, RateLayer, Rfc2544Test
from nodrop.model.trial_event import PlannedEvent

MILLION = 1_000_000


class FailoverPlan(Value):
    """The settings of a failover procedure. Source: ETSI GS NFV-PER 001 clause C.1.2.2."""

    name: Literal["failover"] = "failover"
    stream_count: int = Field(ge=1)
    """Streams of the first round; a stream stands for a route."""
    stream_count_max: int = Field(ge=1)
    """Streams of the last round, if all rounds before meet the SLA."""
    growth_ratio: float = Field(gt=0, le=1)
    """Growth of the streams from round to round."""
    refine: bool = False
    """Whether to bisect between the last round that meets the SLA and the first that does not."""
    direction_count: Literal[1, 2] = 1
    stream_rate_pps: float = Field(gt=0)
    sla_s: float = Field(gt=0)
    """Longest convergence time allowed."""
    repeat_count: int = Field(ge=1)
    """Repeats of each round."""
    steady_s: float = Field(gt=0)
    """Time from the begin of a trial to the trigger."""
    settle_s: float = Field(gt=0)
    """Time for the streams to converge, after the trigger and after the way back."""
    trigger: tuple[PlannedEvent, ...] = Field(min_length=1)
    """Events that cause the failover; their times count from the first."""
    revert: tuple[PlannedEvent, ...] = ()
    """Events that restore the primary path; empty: the way back is not measured."""

    @property
    def has_growth(self) -> bool:
        """Whether there may be several rounds."""
        return self.stream_count_max > self.stream_count

    @property
    def resolution_s(self) -> float:
        """Time between two frames of a stream: the resolution of every time."""
        return 1.0 / self.stream_rate_pps


class ScaleOutPlan(Value):
    """The settings of a scale-out procedure. Source: ETSI GS NFV-PER 001 clause C.1.2.1."""

    name: Literal["scale-out"] = "scale-out"
    user_count: int = Field(ge=1)
    """Existing users; each is a stream of each direction."""
    user_rate_pps: float | None = Field(default=None, gt=0)
    """Load of a user in each direction; None: a search finds the load that the existing users may have together."""
    growth_ratios: tuple[float, ...] = Field(min_length=1)
    """Users that join, as shares of the existing ones; a run each."""
    direction_count: Literal[1, 2] = 2
    loss_ratio_max: float = Field(gt=0, lt=1)
    """Largest loss ratio of a second that meets the SLA."""
    settle_s: float = Field(gt=0)
    """Time with the existing users only, before others join."""
    hold_s: float = Field(gt=0)
    """Time that the system has to scale out and to show that it forwards the load."""
    return_s: float = Field(gt=0)
    """Time after the others have left, to scale in."""
    scales_in_pool: bool = False
    """Whether the procedure sets the rate below which nodrop's pool scales in."""

    def count_new_users(self, growth_ratio: float) -> int:
        """Return the users that join, rounded up; in integers, as 20 · 1.1 > 22."""
        return max(1, -(-self.user_count * round(growth_ratio * MILLION) // MILLION))


class InstancesPlan(Value):
    """The settings of a procedure of instances. Source: ETSI GS NFV-PER 001 clause C.3."""

    name: Literal["instances"] = "instances"
    instance_count_max: int = Field(ge=1)
    """Most instances to measure."""
    load_pps: float = Field(gt=0)
    """Load of each instance in each direction."""
    direction_count: Literal[1, 2] = 2
    loss_ratio_max: float = Field(ge=0, lt=1)
    """Largest loss ratio of an instance that meets the SLA."""
    latency_max_s: float = Field(gt=0)
    """Largest 99th percentile of the latency of an instance that meets the SLA."""
    duration_s: float = Field(gt=0)
    """Duration of the trials that search."""
    confirmation_s: float = Field(gt=0)
    """Duration of the trial with the result."""


class PatternsPlan(Value):
    """The settings of a procedure of load patterns. Source: ETSI GS NFV-PER 001 clause C.5."""

    name: Literal["patterns"] = "patterns"
    kinds: tuple[PatternKind, ...] = Field(min_length=2)
    """Load patterns in the order of their runs, the flat one first."""
    repeat_count: int = Field(ge=1)
    """Runs of each pattern, in turn."""


class MigrationPlan(Value):
    """The settings of a migration procedure. Source: ETSI GS NFV-PER 001 clause C.1.2.3."""

    name: Literal["migration"] = "migration"
    migrate: tuple[PlannedEvent, ...] = Field(min_length=1)
    """Events that migrate a VM; their times count from the first."""
    back: tuple[PlannedEvent, ...] = ()
    """Events that migrate it back; empty: it stays."""
    load_pps: float | None = Field(default=None, gt=0)
    """Load during a migration, over all directions; None: a share of the rate that a search finds."""
    load_ratio: float = Field(gt=0, lt=1)
    """That share."""
    compares: bool
    """Whether to search the rate before and after the migrations."""
    repeat_count: int = Field(ge=1)
    steady_s: float = Field(gt=0)
    """Time from the begin of a trial to the migration."""
    settle_s: float = Field(gt=0)
    """Time for the migration to end and the traffic to recover, on each way."""

    @property
    def has_search(self) -> bool:
        """Whether a search comes before the migrations."""
        return self.compares or self.load_pps is None


class Rfc2544Plan(Value):
    """The settings of the tests of RFC 2544, as updated by RFC 9004."""

    name: Literal["rfc2544"] = "rfc2544"
    tests: tuple[Rfc2544Test, ...] = Field(min_length=1)
    """The tests, in the order of the RFC."""
    frame_bytes: tuple[int, ...] = Field(min_length=1)
    """Frame sizes, with FCS, in ascending order."""
    direction_count: Literal[1, 2]
    is_quick: bool = False
    """Whether latency is that of the trials that prove throughput."""
    trial_s: float = Field(gt=0)
    """Duration of the trials that decide throughput and frame loss rate (section 24: at least 60 s)."""
    latency_trial_s: float = Field(gt=0)
    """Duration of a latency trial (section 26.2: at least 120 s)."""
    latency_repeat_count: int = Field(ge=1)
    """Latency trials of each size (section 26.2: at least 20)."""
    burst_repeat_count: int = Field(ge=1)
    """Searches of the longest burst of each size (section 26.4: at least 50)."""
    burst_rest_s: float = Field(ge=0)
    """Least time without traffic before a burst (RFC 9004 section 5.4: 2 s)."""
    search_budget_s: float | None = Field(default=None, gt=0)
    """Time limit of each run that searches throughput; None: as long as the search takes."""


class Y1564Plan(Value):
    """The settings of a service activation test after ITU-T Y.1564: one service, its bandwidth profile and its limits.

    Bit rates count frames from destination MAC address to FCS.
    """

    name: Literal["y1564"] = "y1564"
    frame_bytes: int = Field(ge=64)
    """Frame size, with FCS."""
    direction_count: Literal[1, 2]
    """Directions, each with this profile."""
    cir_bps: float = Field(ge=0)
    """Committed information rate."""
    cbs_bytes: int = Field(ge=0)
    """Committed burst size; 0: unknown."""
    eir_bps: float = Field(ge=0)
    """Excess information rate."""
    ebs_bytes: int = Field(ge=0)
    """Excess burst size; 0: unknown."""
    rate_layer: RateLayer = "l2"
    """Layer at which the user wrote the rates."""
    flr_max: float = Field(ge=0, lt=1)
    """Largest frame loss ratio."""
    ftd_max_s: float | None = Field(default=None, gt=0)
    """Largest mean frame transfer delay; None: not judged."""
    fdv_max_s: float | None = Field(default=None, gt=0)
    """Largest frame delay variation, the 99.9th percentile of the delay minus the smallest; None: not judged."""
    availability_min: float | None = Field(default=None, gt=0, le=1)
    """Least availability; None: not judged."""
    step_s: float = Field(gt=0)
    """Duration of a step of the configuration test."""
    step_ratios: tuple[float, ...] = Field(min_length=1)
    """Rates of the first steps as shares of CIR, ascending; the last is 1."""
    margin_bps: float = Field(ge=0)
    """Rate by which the frames that pass may exceed CIR + EIR, for the bursts that a policer lets pass."""
    performance_s: float = Field(gt=0)
    """Duration of the performance test."""
    has_bursts: bool = False
    """Whether bursts at the line rate test CBS and EBS."""
    continues_on_fail: bool = False
    """Whether the tests go on after one that did not pass."""


ProcedurePlan = FailoverPlan | ScaleOutPlan | InstancesPlan | PatternsPlan | MigrationPlan | Rfc2544Plan | Y1564Plan
"""Settings of any procedure; their `name` tells them apart."""
