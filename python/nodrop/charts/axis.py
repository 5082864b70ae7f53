"""Axes: units in which figures read well, and what stands along logarithmic ones."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nodrop.charts.base import Spec

WIDE = 30.0
"""Figures that differ by more than this factor are shown on a logarithmic axis."""
LOG_ROOM = 0.08
"""How far a logarithmic axis goes on beyond its ends, as a share of its length."""
PERCENTILES: tuple[tuple[float, str], ...] = (
    (1, "0 %"),
    (2, "50 %"),
    (4, "75 %"),
    (10, "90 %"),
    (100, "99 %"),
    (1e3, "99.9 %"),
    (1e4, "99.99 %"),
    (1e5, "99.999 %"),
    (1e6, "99.9999 %"),
)
"""Where percentiles stand on an axis of 1 / (1 - p), as HdrHistogram draws them."""


class Unit(NamedTuple):
    """What an axis counts in."""

    name: str
    size: float


def rate_unit(most_pps: float) -> Unit:
    """For loads up to this one."""
    return _largest((Unit("Gpps", 1e9), Unit("Mpps", 1e6), Unit("kpps", 1e3), Unit("pps", 1.0)), most_pps)


def bit_unit(most_bps: float) -> Unit:
    """For bit rates up to this one."""
    return _largest((Unit("Gb/s", 1e9), Unit("Mb/s", 1e6), Unit("kb/s", 1e3), Unit("b/s", 1.0)), most_bps)


def time_unit(most_ns: float) -> Unit:
    """For short times up to this one, given in nanoseconds."""
    return _largest((Unit("s", 1e9), Unit("ms", 1e6), Unit("µs", 1e3), Unit("ns", 1.0)), most_ns)


def _largest(units: Sequence[Unit], most: float) -> Unit:
    return next((unit for unit in units if most >= unit.size), units[-1])


def log_scale(low: float, high: float) -> Spec:
    """A logarithmic axis with some room at both ends."""
    room = max((high / low) ** LOG_ROOM, 1.05)
    return {"type": "log", "domain": [low / room, high * room], "nice": False}


def log_axis(scale: Spec) -> Spec:
    """What stands along a logarithmic axis."""
    return {"values": round_values(*scale["domain"]), "format": "~g"}


def spread(figures: Sequence[float]) -> tuple[Spec, Spec]:
    """Scale and axis for figures: from zero, or logarithmic where they lie far apart."""
    above = [figure for figure in figures if figure > 0] or [1.0]
    if max(above) <= WIDE * min(above):
        return {"type": "linear", "domain": [0, 1.12 * max(above)], "nice": False}, {}
    scale = log_scale(min(above), max(above))
    return scale, log_axis(scale)


def round_values(low: float, high: float) -> list[float]:
    """Figures worth a line on a logarithmic axis: powers of ten, and 2 and 5 times these where they are few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if math.log10(high / low) < 3.5 else (1,)
    values = [float(f"{factor}e{decade}") for decade in decades for factor in factors]
    return [value for value in values if low <= value <= high]


def percentile_axis(title: str, most: float) -> Spec:
    """The axis of 1 / (1 - p) up to there."""
    shown = [(value, text) for value, text in PERCENTILES if value <= most * 1.001]
    named = "".join(f"datum.value < {value * 1.01:g} ? '{text}' : " for value, text in shown)
    return {"title": title, "values": [value for value, _ in shown], "labelExpr": f"{named}''", "labelFlush": False}
