"""Keys of the test procedures of `nodrop test`."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from nodrop.config.policer import BurstSize
from nodrop.model.base import Value
from nodrop.model.choices import PatternKind, RateLayer, Rfc2544Test
from nodrop.model.trial_event import check_event
from nodrop.units import parse_bps, parse_pps, parse_ratio, parse_seconds

StreamRate = Annotated[float, Field(gt=0, le=1e9), BeforeValidator(parse_pps, json_schema_input_type=float | str)]
Growth = Annotated[float, Field(ge=0.001, le=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]
Time = Annotated[float, Field(gt=0, le=3600), BeforeValidator(parse_seconds, json_schema_input_type=float | str)]
RestTime = Annotated[float, Field(ge=0, le=3600), BeforeValidator(parse_seconds, json_schema_input_type=float | str)]
LossLimit = Annotated[float, Field(ge=0, lt=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]
Event = Annotated[str, BeforeValidator(check_event)]
ServiceRate = Annotated[float, Field(ge=0, le=1e12), BeforeValidator(parse_bps, json_schema_input_type=float | str)]
Availability = Annotated[float, Field(gt=0, le=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]
StepRatio = Annotated[float, Field(ge=0.01, le=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]
StepTime = Annotated[float, Field(ge=1, le=60), BeforeValidator(parse_seconds, json_schema_input_type=float | str)]
PerformanceTime = Annotated[
    float, Field(ge=1, le=86400), BeforeValidator(parse_seconds, json_schema_input_type=float | str)
]
Share = Annotated[float, Field(gt=0, lt=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]


class FailoverConfig(Value):
    """Failover convergence (`nodrop test failover`), see docs/how-to/failover.md."""

    streams: int = Field(default=20, ge=1, le=4096)
    """Streams of each direction in the first round, as many as routes; 1 to 4096."""
    max_streams: int | None = Field(default=None, ge=1, le=4096)
    """Streams up to which they grow from round to round while the SLA is met; 1 to 4096; null: one round."""
    growth: Growth = 0.1
    """Growth of the streams from round to round, rounded up to a whole stream, e.g. `10%`; 0.1 % to 100 %."""
    refine: bool = False
    """Whether to bisect between the last round that meets the SLA and the first that does not."""
    stream_rate: StreamRate = 1000
    """Rate of each stream, e.g. `1kpps`; its inverse is the resolution of the times. Above 0."""
    sla: Time = 0.05
    """Longest time from the trigger until the last stream arrives again, e.g. `50ms`; above 0."""
    steady: Time = 2
    """Time from the begin of a trial to the trigger; above 0."""
    settle: Time = 3
    """Time for the streams to recover, after the trigger and after the way back; above 0."""
    trigger: tuple[Event, ...] = ("0s kill 0",)
    """Events that cause the failover, as in `trial_events`; the first at 0s. They run one after another."""
    revert: tuple[Event, ...] = ("0s start 0",)
    """Events that restore the primary path, in the same form, the first at 0s; empty: the way back is not measured."""


class ScaleOutConfig(Value):
    """Scale-out (`nodrop test scale-out`), see docs/how-to/scale-out.md."""

    users: int = Field(default=20, ge=1, le=2048)
    """Existing users, each a stream of each direction; 1 to 2048."""
    user_rate: StreamRate | None = None
    """Rate of a user in each direction, e.g. `100pps`; null: the share of a user in the load that a search finds within
    the SLA. Above 0."""
    growth: tuple[Growth, ...] = Field(default=(0.05, 0.1, 0.15, 0.2), max_length=20)
    """Users that join, as shares of the existing ones, rounded up; a run each, e.g. `[5%, 10%]`; 0.1 % to 100 %."""
    loss: Share = 0.001
    """Largest loss ratio of a second that meets the SLA, e.g. `0.1%`; above 0, below 100 %."""
    settle: Time = 5
    """Time with the existing users only, before others join; above 0."""
    hold: Time = 20
    """Time that the system has to scale out, e.g. `10min`; above 0."""
    return_time: Time = 5
    """Time after the others have left, to scale in; above 0."""


class InstancesConfig(Value):
    """The most instances within an SLA (`nodrop test instances`), see docs/how-to/compare-hypervisors.md."""

    max: int = Field(default=32, ge=1, le=128)
    """Most instances to measure, each in a chain of its own; 1 to 128."""
    rate: StreamRate = 10_000
    """Rate of each instance in each direction, e.g. `10kpps`; above 0."""
    loss: LossLimit = 0.001
    """Largest loss ratio of an instance that meets the SLA, e.g. `0.1%`; 0 up to, not including, 100 %."""
    latency: Time = 0.01
    """Largest 99th percentile of the latency of an instance that meets the SLA, e.g. `10ms`; above 0."""
    duration: Time = 5
    """Duration of the trials that search the number; above 0."""
    confirmation: Time = 20
    """Duration of the trial that confirms it, e.g. `60s`; above 0."""


class PatternsConfig(Value):
    """Load patterns compared with flat load (`nodrop test patterns`), see docs/reference/load-patterns.md."""

    kinds: tuple[PatternKind, ...] = ("burst", "sawtooth", "sinusoid", "stair", "random", "poisson")
    """Load patterns, of those of `pattern.kind`; flat load is measured in any case."""


class Rfc2544Config(Value):
    """The tests of RFC 2544 (`nodrop test rfc2544`), see docs/how-to/rfc2544.md. Null values come from `quick`."""

    tests: tuple[Rfc2544Test, ...] = ("throughput", "latency", "frame-loss-rate", "back-to-back")
    """Tests to carry out; all but the frame loss rate begin with throughput."""
    quick: bool = False
    """Whether short trials and few repeats are enough: minutes instead of hours, with the deviations in the report."""
    trial: Time | None = None
    """Duration of the trials that decide throughput and frame loss rate, e.g. `60s`; above 0; null: 60 s, quick 2 s."""
    latency_trial: Time | None = None
    """Duration of a latency trial, e.g. `120s`; above 0; null: 120 s, quick 2 s."""
    latency_repeats: int | None = Field(default=None, ge=1, le=1000)
    """Latency trials of each frame size; 1 to 1000; null: 20. Without effect if `quick`, where latency is that of the
    trial that proves throughput."""
    bursts: int | None = Field(default=None, ge=1, le=1000)
    """Searches of the longest burst of each frame size; 1 to 1000; null: 50, quick 5."""
    rest: RestTime | None = None
    """Least time without traffic before a burst, e.g. `2s`; from 0; null: 2 s, quick 0.2 s."""


class Y1564Config(Value):
    """Service activation after ITU-T Y.1564 (`nodrop test y1564`), see docs/how-to/y1564.md."""

    cir: ServiceRate | None = None
    """Committed information rate of each direction, e.g. `1Mbps`; 0 if there is only an excess rate; needed."""
    cbs: BurstSize = 0
    """Committed burst size in bytes, e.g. `12500`; at least a frame; 0: unknown."""
    eir: ServiceRate = 0
    """Excess information rate of each direction, e.g. `500kbps`; 0: none."""
    ebs: BurstSize = 0
    """Excess burst size in bytes; at least a frame; 0: unknown."""
    rate_layer: RateLayer = "l2"
    """Bits that `cir` and `eir` count: `l2`, from destination MAC address to FCS; `l1`, preamble and gap as well."""
    flr: LossLimit = 0.001
    """Largest frame loss ratio that is accepted, e.g. `0.1%`; 0 up to, not including, 100 %."""
    ftd: Time | None = None
    """Largest mean frame transfer delay, one way, e.g. `10ms`; above 0; null: not judged."""
    fdv: Time | None = None
    """Largest frame delay variation, the 99.9th percentile of the delay minus the smallest, e.g. `2ms`; above 0; null:
    not judged."""
    avail: Availability | None = None
    """Least availability in the performance test, e.g. `99.9%`; above 0, up to 100 %; null: not judged."""
    step: StepTime = 10
    """Duration of a step of the configuration test; 1 to 60 s."""
    steps: tuple[StepRatio, ...] = Field(default=(0.25, 0.5, 0.75, 1.0), max_length=8)
    """Rates of the first steps as shares of `cir`, up to 8, ascending, the last `100%`; `[100%]`: CIR at once."""
    margin: ServiceRate | None = None
    """Rate by which the frames that pass may exceed `cir` + `eir`, for bursts that a policer rightly lets pass; null:
    (`cbs` + `ebs`) * 8 / `step`, or 1 % of `cir` + `eir` if neither is known."""
    duration: PerformanceTime = 900
    """Duration of the performance test at `cir`, e.g. `15min`, `2h`; 1 s to 24 h."""
    bursts: bool = False
    """Whether bursts at the line rate test `cbs` and `ebs`, which need at most 2 s to fill; the tester must reach the
    line rate, `link_speed`."""
    continue_on_fail: bool = False
    """Whether the tests go on after one that did not pass, up to the performance test."""


class MigrationConfig(Value):
    """Migration of a VM (`nodrop test migration`), see docs/how-to/migration.md."""

    migrate: tuple[Event, ...] = ("0s withdraw 0",)
    """Events that migrate the VM, as in `trial_events`; the first at 0s. They run one after another."""
    back: tuple[Event, ...] = ("0s restore 0",)
    """Events that migrate it back, likewise; `[]`: it stays."""
    rate: StreamRate | None = None
    """Load during a migration, over all directions, e.g. `100kpps`; null: a share of the least rate that the search
    before finds. Above 0."""
    share: Share = 0.5
    """That share, e.g. `50%`; above 0, below 100 %."""
    compare: bool = True
    """Whether to search the rate before and after the migrations, and compare them."""
    steady: Time = 2
    """Time from the begin of a trial to the migration; above 0."""
    settle: Time = 3
    """Time for the migration to end and the traffic to recover, on each way, e.g. `60s`; above 0."""
