"""Keys of the test procedures of `nodrop test`."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from nodrop.model.base import Value
from nodrop.model.trial_event import check_event
from nodrop.units import parse_pps, parse_ratio, parse_seconds

StreamRate = Annotated[float, Field(gt=0, le=1e9), BeforeValidator(parse_pps, json_schema_input_type=float | str)]
Growth = Annotated[float, Field(ge=0.001, le=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]
Time = Annotated[float, Field(gt=0, le=3600), BeforeValidator(parse_seconds, json_schema_input_type=float | str)]
Event = Annotated[str, BeforeValidator(check_event)]


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
