"""Keys of a pool of VNF instances."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from nodrop.model.base import Value
from nodrop.model.choices import InstanceSelection
from nodrop.units import parse_pps, parse_ratio, parse_seconds

ProbeInterval = Annotated[
    float, Field(ge=0.002, le=60), BeforeValidator(parse_seconds, json_schema_input_type=float | str)
]
PoolLoss = Annotated[float, Field(gt=0, le=1), BeforeValidator(parse_ratio, json_schema_input_type=float | str)]
PoolRate = Annotated[float, Field(gt=0, le=1e9), BeforeValidator(parse_pps, json_schema_input_type=float | str)]
MoveTime = Annotated[float, Field(ge=0, le=60), BeforeValidator(parse_seconds, json_schema_input_type=float | str)]


class PoolConfig(Value):
    """Instances of a layer 2 VNF behind a balancer (`sut: pool`), see docs/how-to/failover.md."""

    instances: int = Field(default=2, ge=1, le=32)
    """Instances that run from the beginning; 1 to 32."""
    spares: int = Field(default=0, ge=0, le=32)
    """Further instances, out of service until an event of a trial or the pool itself starts them; 0 to 32."""
    selection: InstanceSelection = "hash"
    """Selection of the instance of a flow: by a `hash` of its addresses and ports among all in service, or the first
    one in service, with the others on `standby`."""
    probe_interval: ProbeInterval = 0.01
    """Time between two probes of the balancer through an instance, in whole milliseconds, e.g. `10ms`."""
    probe_misses: int = Field(default=3, ge=1, le=1000)
    """Probes in a row without an answer after which an instance is down; 1 to 1000."""
    move_delay: MoveTime = 0
    """Time from a change of the instances in service until the first flow moves, in whole milliseconds, e.g. `50ms`,
    as a control plane needs to converge; 0 to 60 s."""
    move_interval: MoveTime = 0
    """Time between two flows that move, in the order in which they were first seen, in whole milliseconds; 0 to
    60 s."""
    scale_out_loss: PoolLoss | None = None
    """Share of frames, e.g. `1%`, that the running instances drop in a whole second of a trial at a fixed rate from
    which the pool starts one of its spares; null: it starts none."""
    scale_out_delay: MoveTime = 5
    """Time from the end of that second until the instance takes flows, as a VM needs to boot, e.g. `5s`; 0 to 60 s."""
    scale_in_rate: PoolRate | None = None
    """Frames per second, both ways together, e.g. `2.1kpps`: after a whole second with fewer, the pool takes the
    instance out of service that it started last; null: it keeps them until the end of the trial."""
