"""Traffic rates as users write them (`10kpps`, `2.5Gbps`, `50%`, `50%NDR`, or goals to search for), and line rates.

Rates in pps and bps are totals over all directions; a percentage refers to the line rate of each direction.
"""

import re
from collections.abc import Collection
from typing import Literal, NamedTuple

from nodrop.errors import ConfigError
from nodrop.units import SCALES, format_bps, format_pps, parse_bps

WIRE_OVERHEAD_BYTES = 20
"""Preamble, start of frame and gap between frames. Source: IEEE 802.3 section 4.4.2 (8 + 12 byte times)."""
LINK_SPEED_BPS = 10_000_000_000
"""The speed that a veth link reports."""
SEARCH_GOALS = ("NDR", "PDR")
"""Goals that a rate may name."""
RATE_FORMS = "a rate; write for example 10kpps, 1Mpps, 2.5Gbps, 50%, or ndr, pdr, ndr_pdr, 50%NDR to search"
ROUNDING_TOLERANCE = 1e-9
"""Relative tolerance within which a load equals the line rate."""

_FIXED = re.compile(r"\s*([+-]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*(?:(%)|([kmgt]?)pps)\s*", re.IGNORECASE)
_BITS = re.compile(r".*(?:ps|/s)\s*", re.IGNORECASE)
_RELATIVE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*(?:of\s+)?(NDR|PDR)\s*", re.IGNORECASE)


class FixedRate(NamedTuple):
    """A load to offer unchanged."""

    amount: float
    """Above 0; a ratio is at most 1."""
    unit: Literal["pps", "bps", "ratio"]
    """Frames or bits on the wire, gaps included, in total; or a ratio of the line rate of each direction."""


class SearchedRate(NamedTuple):
    """The highest loads that meet goals, to be searched for."""

    labels: tuple[str, ...]
    """Labels of the goals, in any order."""
    load_ratio: float | None = None
    """Share of the load found at which to measure then, of one goal; None: the usual latency trials."""


class TheoreticalRate(NamedTuple):
    """The maximum that several links carry together."""

    rate_pps: float
    rate_bps: float
    """Gaps included, headers that are added on the way excluded."""


def parse_rate(value: object) -> FixedRate | SearchedRate:
    """Parse a rate. Raises ValueError with the valid forms."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not {RATE_FORMS}")
    labels = tuple(word.upper() for word in re.split(r"[_,\s]+", value.strip()))
    if set(labels) <= set(SEARCH_GOALS):
        return SearchedRate(tuple(dict.fromkeys(labels)))
    if relative := _RELATIVE.fullmatch(value):
        ratio = float(relative[1]) / 100
        if not 0 < ratio <= 1:
            raise ValueError(f"{value!r} is not a share of {relative[2].upper()}; write above 0% and at most 100%")
        return SearchedRate((relative[2].upper(),), ratio)
    rate = _parse_fixed_rate(value)
    if rate.amount <= 0 or (rate.unit == "ratio" and rate.amount > 1):
        share = "a share of the line rate; write above 0% and at most 100%"
        raise ValueError(f"{value!r} is not {share if rate.unit == 'ratio' else 'a rate; write above 0'}")
    return rate


def _parse_fixed_rate(value: str) -> FixedRate:
    if match := _FIXED.fullmatch(value):
        number, percent, prefix = match.groups()
        if percent:
            return FixedRate(float(number) / 100, "ratio")
        return FixedRate(float(number) * SCALES[prefix.lower()], "pps")
    if not _BITS.fullmatch(value):
        raise ValueError(f"{value!r} is not {RATE_FORMS}")
    return FixedRate(parse_bps(value), "bps")


def check_rate(value: object) -> object:
    """Return the value unchanged if it is a rate. Raises ValueError with the valid forms."""
    parse_rate(value)
    return value


def compute_line_rate_pps(frame_bytes: float, link_speed_bps: float = LINK_SPEED_BPS) -> float:
    """Return the frames per second that fill one direction of a link (RFC 1242 section 3.5, RFC 2544 section 20)."""
    return link_speed_bps / ((frame_bytes + WIRE_OVERHEAD_BYTES) * 8)


def compute_fixed_load_pps(
    rate: FixedRate, frame_bytes: float, direction_ratios: Collection[float], link_speed_bps: float
) -> float:
    """Return the load of a rate, in frames per second over all directions.

    Args:
        rate: the requested rate.
        frame_bytes: mean frame size, with FCS.
        direction_ratios: the part of the load of each direction; a percentage refers to the largest part.
        link_speed_bps: speed of each direction.

    Raises: ConfigError if a direction would have to carry more than its line rate.
    """
    full_pps = compute_line_rate_pps(frame_bytes, link_speed_bps) / max(direction_ratios)
    if rate.unit == "ratio":
        return rate.amount * full_pps
    load_pps = rate.amount if rate.unit == "pps" else rate.amount / ((frame_bytes + WIRE_OVERHEAD_BYTES) * 8)
    if load_pps > full_pps * (1 + ROUNDING_TOLERANCE):
        requested = format_pps(load_pps) if rate.unit == "pps" else format_bps(rate.amount)
        full_bps = full_pps * (frame_bytes + WIRE_OVERHEAD_BYTES) * 8
        raise ConfigError(
            f"rate: above the line rate ({requested}), which is {format_pps(full_pps)} or {format_bps(full_bps)} for "
            f"{frame_bytes:g}-byte frames ({len(direction_ratios)} x {format_bps(link_speed_bps)}); write a lower "
            "rate, "
            "or set the speed of the links (link_speed)"
        )
    return load_pps


def compute_theoretical_rate(
    frame_bytes: float, extra_bytes: float, link_speed_bps: float, direction_count: int
) -> TheoreticalRate:
    """Return the maximum that reaches a SUT behind links on which frames have more headers than when sent.

    Args:
        frame_bytes: mean frame size as sent, with FCS.
        extra_bytes: bytes of the added headers.
        link_speed_bps: speed of each direction.
        direction_count: directions with traffic.
    """
    rate_pps = direction_count * compute_line_rate_pps(frame_bytes + extra_bytes, link_speed_bps)
    return TheoreticalRate(rate_pps, rate_pps * (frame_bytes + WIRE_OVERHEAD_BYTES) * 8)
