"""Thresholds for the figures of a result, as users write them: `ndr>5Mpps`, `p99@50%<50us`, `loss<=0.1%`."""

import re
from typing import Literal, NamedTuple

from nodrop.units import parse_bps, parse_pps, parse_ratio, parse_seconds

EXPECTATION_FORMS = (
    "an expectation; write for example 'ndr>5Mpps', 'p99@50%<50us' (at 50 % of the goal that allows the most loss), "
    "'max@ndr<1ms', or at a fixed rate 'loss<=0.1%' or 'p99<50us'"
)
COMPARISONS = {"<": float.__lt__, "<=": float.__le__, ">": float.__gt__, ">=": float.__ge__}

_EXPECTATION = re.compile(r"\s*([^\s@<>=]+)\s*(?:@\s*([^\s<>=]+)\s*)?(<=|>=|<|>)\s*(\S.*?)\s*")
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")


class Expectation(NamedTuple):
    """A threshold for one figure."""

    figure: Literal["load", "loss", "latency"]
    name: str
    """Label of the goal in upper case for a load; `min`, `mean`, `max` or a percentile, `p99.9`, for a latency."""
    point: str | float | None
    """Of a latency after a search: the label of a goal in upper case, or a share of the load at the goal that allows
    the most loss. None at a fixed rate."""
    comparison: str
    """`<`, `<=`, `>` or `>=`."""
    limit: float
    """Frames per second, ratio or nanoseconds; bits per second on the wire with `is_bits`."""
    is_bits: bool
    text: str
    """As the user wrote it."""

    def is_met(self, value: float) -> bool:
        """Return whether a value is on the right side of the limit."""
        return COMPARISONS[self.comparison](float(value), self.limit)

    @property
    def percentile(self) -> float | None:
        """The percentile of a latency; None for another statistic."""
        match = _PERCENTILE.fullmatch(self.name)
        return float(match[1]) if match else None


def parse_expectation(value: object) -> Expectation:
    """Parse an expectation. Raises ValueError with the valid forms."""
    match = _EXPECTATION.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise ValueError(f"{value!r} is not {EXPECTATION_FORMS}")
    name, point, comparison, limit = match.groups()
    text = str(value).strip()
    lower = name.lower()
    percentile = _PERCENTILE.fullmatch(lower)
    if percentile and not 0 < float(percentile[1]) <= 100:
        raise ValueError(f"{text!r}: no such percentile ({name}); write above p0 and at most p100")
    if percentile or lower in ("min", "mean", "max"):
        limit_ns = parse_seconds(limit) * 1e9
        return Expectation("latency", lower, _parse_point(point), comparison, limit_ns, False, text)
    if point:
        raise ValueError(f"{text!r}: only a latency is measured at a load; write for example p99@{point}")
    if lower == "loss":
        return Expectation("loss", lower, None, comparison, parse_ratio(limit), False, text)
    is_bits = limit.lower().endswith("bps")
    return Expectation(
        "load", name.upper(), None, comparison, parse_bps(limit) if is_bits else parse_pps(limit), is_bits, text
    )


def check_expectation(value: object) -> object:
    """Return the value unchanged if it is an expectation. Raises ValueError with the valid forms."""
    parse_expectation(value)
    return value


def _parse_point(point: str | None) -> str | float | None:
    return parse_ratio(point) if point and point.endswith("%") else point.upper() if point else None
