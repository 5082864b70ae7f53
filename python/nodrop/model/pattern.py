"""Load patterns of a trial, whose mean is the intended load (ETSI GS NFV-PER 001 C.5).

The period is adjusted so that a trial has an integer number of periods. In the formulas m is the mean load, a the
amplitude, p the position in a period from 0 to 1.
"""

from typing import Annotated, Literal

from pydantic import Field

from nodrop.model.base import Value

StairDirection = Literal["up", "down", "up_down"]


class FlatLoad(Value):
    """Constant m."""

    kind: Literal["flat"] = "flat"


class BurstLoad(Value):
    """m / duty for the first part of each period, then nothing."""

    kind: Literal["burst"] = "burst"
    period_s: float = Field(ge=1e-4)
    duty_ratio: float = Field(ge=0.001, le=1)


class WaveLoad(Value):
    """Sawtooth m (1 - a + 2 a p), triangle m (1 - a) to m (1 + a) and back, sinusoid m (1 + a sin 2πp)."""

    kind: Literal["sawtooth", "triangle", "sinusoid"]
    period_s: float = Field(ge=1e-4)
    amplitude_ratio: float = Field(ge=0, le=1)


class StairLoad(Value):
    """From m (1 - a) to m (1 + a) in equal steps of equal length; a period is a full stair."""

    kind: Literal["stair"] = "stair"
    period_s: float = Field(ge=1e-4)
    amplitude_ratio: float = Field(ge=0, le=1)
    step_count: int = Field(ge=2, le=1000)
    direction: StairDirection


class RandomLoad(Value):
    """A new load in each period, uniformly distributed from m (1 - a) to m (1 + a), scaled so that the mean is m."""

    kind: Literal["random"] = "random"
    period_s: float = Field(ge=1e-4)
    amplitude_ratio: float = Field(ge=0, le=1)
    seed: int = Field(ge=0)


class PoissonLoad(Value):
    """Exponentially distributed gaps, scaled so that the mean is m."""

    kind: Literal["poisson"] = "poisson"
    seed: int = Field(ge=0)


LoadPattern = Annotated[
    FlatLoad | BurstLoad | WaveLoad | StairLoad | RandomLoad | PoissonLoad, Field(discriminator="kind")
]
