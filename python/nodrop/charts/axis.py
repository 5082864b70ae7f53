"""Axes of charts: units with readable values, and the ticks of logarithmic axes."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nodrop.charts.base import Spec

LOG_SCALE_RATIO = 30.0
"""Ratio of values from which an axis is logarithmic."""
LOG_MARGIN = 0.08
"""Margin at each end of a logarithmic axis, as a share of its length."""
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
"""Positions of percentiles on an axis of 1 / (1 - p), as drawn by HdrHistogram."""


class AxisUnit(NamedTuple):
    """The unit of an axis."""

    name: str
    size: float


def pick_rate_unit(most_pps: float) -> AxisUnit:
    """Return the unit for loads up to a maximum."""
    return _pick_largest(
        (AxisUnit("Gpps", 1e9), AxisUnit("Mpps", 1e6), AxisUnit("kpps", 1e3), AxisUnit("pps", 1.0)), most_pps
    )


def pick_bit_unit(most_bps: float) -> AxisUnit:
    """Return the unit for bit rates up to a maximum."""
    return _pick_largest(
        (AxisUnit("Gb/s", 1e9), AxisUnit("Mb/s", 1e6), AxisUnit("kb/s", 1e3), AxisUnit("b/s", 1.0)), most_bps
    )


def pick_time_unit(most_ns: float) -> AxisUnit:
    """Return the unit for times up to a maximum in nanoseconds."""
    return _pick_largest((AxisUnit("s", 1e9), AxisUnit("ms", 1e6), AxisUnit("µs", 1e3), AxisUnit("ns", 1.0)), most_ns)


def _pick_largest(units: Sequence[AxisUnit], most: float) -> AxisUnit:
    return next((unit for unit in units if most >= unit.size), units[-1])


def build_log_scale(low: float, high: float) -> Spec:
    """Build a logarithmic scale with a margin at both ends."""
    margin = max((high / low) ** LOG_MARGIN, 1.05)
    return {"type": "log", "domain": [low / margin, high * margin], "nice": False}


def build_log_axis(scale: Spec) -> Spec:
    """Build the ticks of a logarithmic axis."""
    return {"values": list_round_values(*scale["domain"]), "format": "~g"}


def build_scale(figures: Sequence[float]) -> tuple[Spec, Spec]:
    """Build scale and axis for values: linear from zero, or logarithmic for a wide range."""
    above = [figure for figure in figures if figure > 0] or [1.0]
    if max(above) <= LOG_SCALE_RATIO * min(above):
        return {"type": "linear", "domain": [0, 1.12 * max(above)], "nice": False}, {}
    scale = build_log_scale(min(above), max(above))
    return scale, build_log_axis(scale)


def compute_position(value: float, scale: Spec) -> float:
    """Return the position of a value on the axis, from 0 to 1."""
    low, high = scale["domain"]
    if scale["type"] == "log":
        low, high, value = math.log(low), math.log(high), math.log(value)
    return float((value - low) / (high - low))


def space_labels(heights: Mapping[int, float], label_height: float, panel_height: float) -> dict[int, float]:
    """Space labels at least one label height apart, in order, and within the panel where possible."""
    placed: dict[int, float] = {}
    free = label_height / 2
    for position, height in sorted(heights.items(), key=lambda item: item[1]):
        placed[position] = max(height, free)
        free = placed[position] + label_height
    free = panel_height - label_height / 2
    for position in reversed(list(placed)):
        placed[position] = min(placed[position], free)
        free = placed[position] - label_height
    return placed


def list_round_values(low: float, high: float) -> list[float]:
    """Return round values for a logarithmic axis: powers of ten, with 2 and 5 times these for a short axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if math.log10(high / low) < 3.5 else (1,)
    values = [float(f"{factor}e{decade}") for decade in decades for factor in factors]
    return [value for value in values if low <= value <= high]


def build_percentile_axis(title: str, most: float) -> Spec:
    """Build an axis of 1 / (1 - p) up to a maximum."""
    labels = [(value, text) for value, text in PERCENTILES if value <= most * 1.001]
    expression = "".join(f"datum.value < {value * 1.01:g} ? '{text}' : " for value, text in labels)
    return {
        "title": title,
        "values": [value for value, _ in labels],
        "labelExpr": f"{expression}''",
        "labelFlush": False,
    }
