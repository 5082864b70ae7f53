"""Ways in which repeats of one set-up differ: realistic ones, and nasty ones."""

import math
from collections.abc import Callable
from random import Random
from typing import NamedTuple

SD = 0.005
"""From run to run on a quiet machine."""
Draw = Callable[[Random, int], list[float]]
"""How far each of so many runs, in the order of time, is from the truth; on the logarithm."""


class Noise(NamedTuple):
    """One way."""

    name: str
    text: str
    draw: Draw
    in_turn: bool = False
    """Whether A and B are measured in turn, and not one after the other."""
    grid: float | None = None
    """Distance of the loads that a search tries, the same in every run; None: bounds lie anywhere."""
    width: float = SD
    """Between the bounds."""
    demanded: bool = True
    """Whether the share of false alarms is demanded to be the nominal one."""


def gaussian(sd: float) -> Draw:
    """Independent and normal."""
    return lambda rng, count: [rng.gauss(0.0, sd) for _ in range(count)]


def heavy_tailed(rng: Random, count: int) -> list[float]:
    """Student's t of 2 degrees of freedom, half of it within about 0.4 %: no variance at all."""
    return [SD * rng.gauss(0.0, 1.0) / math.sqrt(rng.expovariate(1.0)) for _ in range(count)]


def dips(rng: Random, count: int) -> list[float]:
    """Good as a rule; one run in eight loses 2 to 10 % to something else on the machine."""
    return [rng.gauss(0.0, SD / 2) - (rng.uniform(0.02, 0.1) if rng.random() < 0.125 else 0.0) for _ in range(count)]


def modes(share: float, apart: float) -> Draw:
    """Two bands, as by the CPU or the queue that a run happens to get; the band lasts for the run."""

    def draw(rng: Random, count: int) -> list[float]:
        return [rng.gauss(0.0, SD / 2) - (apart if rng.random() < share else 0.0) for _ in range(count)]

    return draw


def drift(step: float) -> Draw:
    """The machine gets slower by as much with every run."""
    return lambda rng, count: [rng.gauss(0.0, SD) - step * index for index in range(count)]


def wander(rng: Random, count: int) -> list[float]:
    """A random walk of 0.5 % from run to run, with 0.25 % of noise."""
    at, found = 0.0, []
    for _ in range(count):
        at += rng.gauss(0.0, SD)
        found.append(at + rng.gauss(0.0, SD / 2))
    return found


NOISES = (
    Noise("gaussian", "0.5 %, independent", gaussian(SD)),
    Noise("gaussian-2", "2 %, independent", gaussian(4 * SD)),
    Noise("heavy-tails", "Student's t of 2 degrees of freedom", heavy_tailed),
    Noise("dips", "one run in eight loses 2 to 10 %", dips),
    Noise("modes-even", "two bands 3 % apart, as likely", modes(0.5, 0.03)),
    Noise("modes-rare", "two bands 5 % apart, one run in five low", modes(0.2, 0.05)),
    Noise("quantized", "0.1 %, on loads 0.5 % apart", gaussian(SD / 5), grid=0.005),
    Noise("quantized-coarse", "0.3 %, on loads 1 % apart", gaussian(0.003), grid=0.01, width=0.01),
    Noise("identical", "no noise at all, on loads 0.5 % apart", gaussian(0.0), grid=0.005),
    Noise("drift", "0.5 % and 0.2 % slower each run; in turn", drift(0.002), in_turn=True),
    Noise("wander", "random walk of 0.5 % a run; in turn", wander, in_turn=True),
    Noise("drift-blocks", "the same as drift; all of A, then all of B", drift(0.002), demanded=False),
    Noise("wander-blocks", "the same as wander; all of A, then all of B", wander, demanded=False),
)


Placed = list[tuple[int, float]]
"""Places in the order of time, and how far the run there is from the truth."""


def sides(noise: Noise, rng: Random, count: int) -> tuple[Placed, Placed]:
    """So many runs of A and of B."""
    found = list(enumerate(noise.draw(rng, 2 * count)))
    return (found[::2], found[1::2]) if noise.in_turn else (found[:count], found[count:])
