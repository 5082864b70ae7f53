"""All kinds of simulated SUTs by name."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from types import MappingProxyType

from nodrop.errors import ConfigError
from nodrop.simulation.flow_table import FlowTable
from nodrop.simulation.forwarder import SimulatedForwarder
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

KINDS: dict[str, type[SimulatedForwarder]] = {
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
    "flow-table": FlowTable,
    "dead-link": DeadLink,
    "perfect-link": PerfectLink,
}
"""Each kind has its own parameters, all with defaults."""


def create(name: str, seed: int, parameters: Mapping[str, float] = MappingProxyType({})) -> SimulatedForwarder:
    """Create a SUT. Raises ConfigError for an unknown kind or parameter.

    Args:
        name: name of the kind.
        seed: seed of its random numbers.
        parameters: values that replace defaults.
    """
    if name not in KINDS:
        raise ConfigError(f"unknown simulated SUT {name!r}; choose one of {', '.join(KINDS)}")
    defaults = get_default_parameters(name)
    for key in parameters:
        if key not in defaults:
            raise ConfigError(
                f"unknown parameter {key!r} of the simulated SUT {name}; choose from {', '.join(defaults)}"
            )
    return KINDS[name](seed=seed, **parameters)


def get_default_parameters(name: str) -> dict[str, float]:
    """Return the parameters of a kind with their defaults."""
    sut = KINDS[name]()
    return {field.name: getattr(sut, field.name) for field in fields(sut) if field.init and field.name != "seed"}


SUTS: dict[str, Callable[[int], SimulatedForwarder]] = {name: partial(create, name) for name in KINDS}
"""Factories that create a SUT of each kind from a seed."""
