"""The course of the load, from what was written."""

from nodrop.config.schema import PatternConfig
from nodrop.model.pattern import (
    BurstLoad,
    FlatLoad,
    LoadPattern,
    PoissonLoad,
    RandomLoad,
    StairLoad,
    WaveLoad,
)


def plan_pattern(asked: PatternConfig) -> LoadPattern:
    """The pattern with the keys that its kind heeds."""
    period_s, amplitude_ratio = asked.period, asked.amplitude
    match asked.kind:
        case "flat":
            return FlatLoad()
        case "burst":
            return BurstLoad(period_s=period_s, duty_ratio=asked.duty)
        case "stair":
            return StairLoad(
                period_s=period_s,
                amplitude_ratio=amplitude_ratio,
                step_count=asked.steps,
                direction=asked.direction,
            )
        case "random":
            return RandomLoad(period_s=period_s, amplitude_ratio=amplitude_ratio, seed=asked.seed)
        case "poisson":
            return PoissonLoad(seed=asked.seed)
        case _:
            return WaveLoad(kind=asked.kind, period_s=period_s, amplitude_ratio=amplitude_ratio)
