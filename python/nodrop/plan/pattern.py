"""The load pattern of a configuration."""

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


def plan_pattern(section: PatternConfig) -> LoadPattern:
    """Return the pattern with the keys that its kind uses."""
    period_s, amplitude_ratio = section.period, section.amplitude
    match section.kind:
        case "flat":
            return FlatLoad()
        case "burst":
            return BurstLoad(period_s=period_s, duty_ratio=section.duty)
        case "stair":
            return StairLoad(
                period_s=period_s,
                amplitude_ratio=amplitude_ratio,
                step_count=section.steps,
                direction=section.direction,
            )
        case "random":
            return RandomLoad(period_s=period_s, amplitude_ratio=amplitude_ratio, seed=section.seed)
        case "poisson":
            return PoissonLoad(seed=section.seed)
        case _:
            return WaveLoad(kind=section.kind, period_s=period_s, amplitude_ratio=amplitude_ratio)
