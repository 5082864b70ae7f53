"""Axes: units in which figures read well, and what stands along logarithmic ones."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nodrop.charts.base import Spec

LOG_SCALE_RATIO = 30.0
"""Figures that differ by more than this factor are shown on a logarithmic axis."""
LOG_MARGIN = 0.08
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


class AxisUnit(NamedTuple):
    """What an axis counts in."""

    name: str
    size: float


def pick_rate_unit(most_pps: float) -> AxisUnit:
    """For loads up to this one."""
    return _largest(
        (AxisUnit("Gpps", 1e9), AxisUnit("Mpps", 1e6), AxisUnit("kpps", 1e3), AxisUnit("pps", 1.0)), most_pps
    )


def pick_bit_unit(most_bps: float) -> AxisUnit:
    """For bit rates up to this one."""
    return _largest(
        (AxisUnit("Gb/s", 1e9), AxisUnit("Mb/s", 1e6), AxisUnit("kb/s", 1e3), AxisUnit("b/s", 1.0)), most_bps
    )


def pick_time_unit(most_ns: float) -> AxisUnit:
    """For short times up to this one, given in nanoseconds."""
    return _largest((AxisUnit("s", 1e9), AxisUnit("ms", 1e6), AxisUnit("µs", 1e3), AxisUnit("ns", 1.0)), most_ns)


def _largest(units: Sequence[AxisUnit], most: float) -> AxisUnit:
    return next((unit for unit in units if most >= unit.size), units[-1])


def build_log_scale(low: float, high: float) -> Spec:
    """A logarithmic axis with some room at both ends."""
    room = max((high / low) ** LOG_MARGIN, 1.05)
    return {"type": "log", "domain": [low / room, high * room], "nice": False}


def build_log_axis(scale: Spec) -> Spec:
    """What stands along a logarithmic axis."""
    return {"values": list_round_values(*scale["domain"]), "format": "~g"}


def build_scale(figures: Sequence[float]) -> tuple[Spec, Spec]:
    """Scale and axis for figures: from zero, or logarithmic where they lie far apart."""
    above = [figure for figure in figures if figure > 0] or [1.0]
    if max(above) <= LOG_SCALE_RATIO * min(above):
        return {"type": "linear", "domain": [0, 1.12 * max(above)], "nice": False}, {}
    scale = build_log_scale(min(above), max(above))
    return scale, build_log_axis(scale)


def list_round_values(low: float, high: float) -> list[float]:
    """Figures worth a line on a logarithmic axis: powers of ten, and 2 and 5 times these where they are few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if math.log10(high / low) < 3.5 else (1,)
    values = [float(f"{factor}e{decade}") for decade in decades for factor in factors]
    return [value for value in values if low <= value <= high]


def build_percentile_axis(title: str, most: float) -> Spec:
    """The axis of 1 / (1 - p) up to there."""
    shown = [(value, text) for value, text in PERCENTILES if value <= most * 1.001]
    named = "".join(f"datum.value < {value * 1.01:g} ? '{text}' : " for value, text in shown)
    return {"title": title, "values": [value for value, _ in shown], "labelExpr": f"{named}''", "labelFlush": False}
