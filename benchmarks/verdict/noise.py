"""Kinds of noise between repeats of one setup, realistic and adverse."""

import math
from collections.abc import Callable
from random import Random
from typing import NamedTuple

SD = 0.005
"""Relative standard deviation from run to run on a quiet machine."""
Draw = Callable[[Random, int], list[float]]
"""(random numbers, number of runs) -> deviation of each run from the truth, as a logarithm, in chronological order."""


class Noise(NamedTuple):
    """A kind of noise."""

    name: str
    description: str
    draw: Draw
    is_interleaved: bool = False
    """Whether A and B are measured alternately; otherwise all of A before all of B."""
    grid: float | None = None
    """Distance of the loads of a search, the same in every run, as a logarithm; None: bounds are arbitrary loads."""
    width: float = SD
    """Distance between the bounds, as a logarithm."""
    has_requirement: bool = True
    """Whether the share of false alarms must not exceed the nominal one."""


def create_gaussian(sd: float) -> Draw:
    """Return independent gaussian noise."""
    return lambda rng, count: [rng.gauss(0.0, sd) for _ in range(count)]


def draw_heavy_tailed(rng: Random, count: int) -> list[float]:
    """Draw Student's t of 2 degrees of freedom, half of it within about 0.4 %; its variance is infinite."""
    return [SD * rng.gauss(0.0, 1.0) / math.sqrt(rng.expovariate(1.0)) for _ in range(count)]


def draw_dips(rng: Random, count: int) -> list[float]:
    """Draw little noise; one run in eight loses 2 to 10 % to other work on the machine."""
    return [rng.gauss(0.0, SD / 2) - (rng.uniform(0.02, 0.1) if rng.random() < 0.125 else 0.0) for _ in range(count)]


def create_modes(share: float, distance: float) -> Draw:
    """Return noise of two bands, e.g. by the CPU or queue assigned to a run; each run stays in one band."""

    def draw(rng: Random, count: int) -> list[float]:
        return [rng.gauss(0.0, SD / 2) - (distance if rng.random() < share else 0.0) for _ in range(count)]

    return draw


def create_drift(step: float) -> Draw:
    """Return noise of a machine that gets slower by the same share with every run."""
    return lambda rng, count: [rng.gauss(0.0, SD) - step * index for index in range(count)]


def draw_random_walk(rng: Random, count: int) -> list[float]:
    """Draw a random walk of 0.5 % from run to run, with 0.25 % of noise."""
    position, deviations = 0.0, []
    for _ in range(count):
        position += rng.gauss(0.0, SD)
        deviations.append(position + rng.gauss(0.0, SD / 2))
    return deviations


NOISES = (
    Noise("gaussian", "0.5 %, independent", create_gaussian(SD)),
    Noise("gaussian-2", "2 %, independent", create_gaussian(4 * SD)),
    Noise("heavy-tails", "Student's t of 2 degrees of freedom", draw_heavy_tailed),
    Noise("dips", "one run in eight loses 2 to 10 %", draw_dips),
    Noise("modes-even", "two bands 3 % apart, equally likely", create_modes(0.5, 0.03)),
    Noise("modes-rare", "two bands 5 % apart, one run in five low", create_modes(0.2, 0.05)),
    Noise("quantized", "0.1 %, on loads 0.5 % apart", create_gaussian(SD / 5), grid=0.005),
    Noise("quantized-coarse", "0.3 %, on loads 1 % apart", create_gaussian(0.003), grid=0.01, width=0.01),
    Noise("identical", "no noise, on loads 0.5 % apart", create_gaussian(0.0), grid=0.005),
    Noise("drift", "0.5 %, and 0.2 % slower each run; alternating", create_drift(0.002), is_interleaved=True),
    Noise("wander", "random walk of 0.5 % per run; alternating", draw_random_walk, is_interleaved=True),
    Noise("drift-blocks", "as drift; all of A, then all of B", create_drift(0.002), has_requirement=False),
    Noise("wander-blocks", "as wander; all of A, then all of B", draw_random_walk, has_requirement=False),
)
"""Their names are those of the command line and of JSON files."""


RunDeviations = list[tuple[int, float]]
"""Position of each run in chronological order, and its deviation from the truth."""


def draw_deviations(noise: Noise, rng: Random, count: int) -> tuple[RunDeviations, RunDeviations]:
    """Draw the deviations of `count` runs of A and of B."""
    deviations = list(enumerate(noise.draw(rng, 2 * count)))
    if noise.is_interleaved:
        return deviations[::2], deviations[1::2]
    return deviations[:count], deviations[count:]
