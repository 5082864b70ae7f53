"""Every kind of simulated SUT by name."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from types import MappingProxyType

from nodrop.errors import ConfigError
from nodrop.simulation.forwarder import Forwarder
from nodrop.simulation.stalls import StallPeriodic, StallRandom
from nodrop.simulation.stationary import (
    DeadLink,
    DeepBuffer,
    DurationDependent,
    HardLimit,
    LossFloor,
    LossFloorRare,
    LossInversion,
    PerfectLink,
    SmoothKnee,
    TesterOverload,
    TesterOverloadAbove,
)
from nodrop.simulation.time_varying_capacity import NoisyWindows, TwoModesTime
from nodrop.simulation.varying_capacity import Degrading, Drift, NoisyCapacity, TwoModesTrial, WarmUp

KINDS: dict[str, type[Forwarder]] = {
    "hard-limit": HardLimit,
    "smooth-knee": SmoothKnee,
    "noisy-capacity": NoisyCapacity,
    "noisy-windows": NoisyWindows,
    "stall-periodic": StallPeriodic,
    "stall-random": StallRandom,
    "two-modes-trial": TwoModesTrial,
    "two-modes-time": TwoModesTime,
    "degrading": Degrading,
    "deep-buffer": DeepBuffer,
    "loss-floor": LossFloor,
    "loss-floor-rare": LossFloorRare,
    "tester-overload": TesterOverload,
    "tester-overload-above": TesterOverloadAbove,
    "warm-up": WarmUp,
    "loss-inversion": LossInversion,
    "duration-dependent": DurationDependent,
    "drift": Drift,
    "dead-link": DeadLink,
    "perfect-link": PerfectLink,
}
"""Each with parameters of its own, all of which have defaults."""


def create(name: str, seed: int, parameters: Mapping[str, float] = MappingProxyType({})) -> Forwarder:
    """A SUT of the kind. Raises ConfigError when there is no such kind, or it has no such parameter.

    Args:
        name: of the kind.
        seed: of its random numbers.
        parameters: those that are not to have their defaults.
    """
    if name not in KINDS:
        raise ConfigError(f"a simulated SUT {name!r} asked, there is none; choose one of {', '.join(KINDS)}")
    known = parameters_of(name)
    for key in parameters:
        if key not in known:
            raise ConfigError(f"parameter {key!r} of the SUT {name} asked, there is none; it has {', '.join(known)}")
    return KINDS[name](seed=seed, **parameters)


def parameters_of(name: str) -> dict[str, float]:
    """What may be set of a kind, with its defaults."""
    sut = KINDS[name]()
    return {field.name: getattr(sut, field.name) for field in fields(sut) if field.init and field.name != "seed"}


SUTS: dict[str, Callable[[int], Forwarder]] = {name: partial(create, name) for name in KINDS}
"""What makes a SUT of each kind from a seed."""
