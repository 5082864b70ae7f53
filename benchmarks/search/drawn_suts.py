"""Simulated SUTs whose parameters are drawn for each seed, so that a search cannot suit a single set of them."""

import math
import random
from collections.abc import Callable, Mapping

from nodrop.simulation.forwarder import SimulatedForwarder
from nodrop.simulation.registry import create

CAPACITY_PPS = 9.1e6


def _draw_modes(draws: random.Random) -> Mapping[str, float]:
    """Draw the time in each of two modes 10 % apart: some seconds."""
    return {"slow_pps": 0.9 * CAPACITY_PPS, "dwell_s": _draw_log_uniform(draws, 2.0, 15.0)}


def _draw_knee(draws: random.Random) -> Mapping[str, float]:
    """Draw the width of a knee: 4 to 16 % of the load."""
    half_ratio = _draw_log_uniform(draws, 0.02, 0.08)
    return {"knee_pps": CAPACITY_PPS * (1.0 - half_ratio), "capacity_pps": CAPACITY_PPS * (1.0 + half_ratio)}


def _draw_warm_up(draws: random.Random) -> Mapping[str, float]:
    """Draw a start 2 to 20 % below the capacity, and a time constant of 5 s to 100 s."""
    return {"cold_ratio": _draw_log_uniform(draws, 0.02, 0.2), "warm_up_s": _draw_log_uniform(draws, 5.0, 100.0)}


DRAWN: Mapping[str, Callable[[random.Random], Mapping[str, float]]] = {
    "two-modes-time": _draw_modes,
    "smooth-knee": _draw_knee,
    "warm-up": _draw_warm_up,
}
"""Draws the parameters of a kind of SUT; those that it leaves out have their defaults."""


def create_drawn(kind: str, seed: int) -> SimulatedForwarder:
    """Return a SUT of a kind in `DRAWN` with the parameters of a seed."""
    return create(kind, seed, DRAWN[kind](random.Random(f"{kind} {seed}")))


def _draw_log_uniform(draws: random.Random, low: float, high: float) -> float:
    return math.exp(draws.uniform(math.log(low), math.log(high)))
