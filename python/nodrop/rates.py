"""Rates as users ask for them, and what a link carries: `10kpps`, `2.5Gbps`, `50%`, or what to search for.

Rates in pps and bps are totals over all directions; a percentage is of the line rate of each direction.
"""

import re
from collections.abc import Collection
from typing import Literal, NamedTuple

from nodrop.errors import ConfigError
from nodrop.units import format_bps, format_pps

WIRE_OVERHEAD_BYTES = 20
"""Preamble, start of frame and gap between frames. Source: IEEE 802.3 section 4.4.2 (8 + 12 byte times)."""
LINK_SPEED_BPS = 10_000_000_000
"""What a veth link reports as its speed."""
SEARCH_GOALS = ("NDR", "PDR")
"""Goals that a rate may ask for."""
RATE_FORMS = "a rate; write for example 10kpps, 1Mpps, 2.5Gbps, 50%, or ndr, pdr, ndr_pdr to search"
SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
ROUNDING_TOLERANCE = 1e-9
"""Exactly the line rate is so but for the last digits."""

_FIXED = re.compile(
    r"\s*([+-]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*(?:(%)|([kmgt]?)(pps|bps))\s*", re.IGNORECASE
)


class FixedRate(NamedTuple):
    """One load, to be offered as it is."""

    amount: float
    """Above 0; a ratio is at most 1."""
    unit: Literal["pps", "bps", "ratio"]
    """Frames or bits on the wire, gaps included, in total; or a share of the line rate of each direction."""


class SearchedRate(NamedTuple):
    """The highest loads that meet goals, to be searched for."""

    labels: tuple[str, ...]
    """Of the goals, in no particular order."""


class TheoreticalRate(NamedTuple):
    """The most that several links carry together."""

    rate_pps: float
    rate_bps: float
    """Without headers that are added on the way, gaps included."""


def parse_rate(written: object) -> FixedRate | SearchedRate:
    """What a user wrote as rate. Raises ValueError naming the forms there are."""
    if not isinstance(written, str):
        raise ValueError(f"{written!r} is not {RATE_FORMS}")
    labels = tuple(word.upper() for word in re.split(r"[_,\s]+", written.strip()))
    if set(labels) <= set(SEARCH_GOALS):
        return SearchedRate(tuple(dict.fromkeys(labels)))
    matched = _FIXED.fullmatch(written)
    if not matched:
        raise ValueError(f"{written!r} is not {RATE_FORMS}")
    number, percent, prefix, unit = matched.groups()
    if unit and unit.startswith("B"):
        raise ValueError(f"{written!r} asked, B stands for bytes; write bits, as {8 * float(number):g}{prefix}bps")
    amount = float(number) / 100 if percent else float(number) * SCALES[prefix.lower()]
    if amount <= 0 or (percent and amount > 1):
        allowed = "a share of the line rate; write above 0 and at most 100%" if percent else "a rate; write one above 0"
        raise ValueError(f"{written!r} is not {allowed}")
    if percent:
        return FixedRate(amount, "ratio")
    return FixedRate(amount, "pps" if unit.lower() == "pps" else "bps")


def check_rate(written: object) -> object:
    """What was written, when it is a rate. Raises ValueError naming the forms there are."""
    parse_rate(written)
    return written


def line_rate_pps(frame_bytes: float, link_speed_bps: float = LINK_SPEED_BPS) -> float:
    """Frames per second that fill one direction of a link (RFC 1242 section 3.5, RFC 2544 section 20)."""
    return link_speed_bps / ((frame_bytes + WIRE_OVERHEAD_BYTES) * 8)


def fixed_load_pps(
    rate: FixedRate, frame_bytes: float, direction_ratios: Collection[float], link_speed_bps: float
) -> float:
    """The load that a rate asks for, in frames per second over all directions.

    Args:
        rate: what was asked.
        frame_bytes: mean frame size, with FCS.
        direction_ratios: the part of the load that each direction has; a percentage is of the fullest one.
        link_speed_bps: of each direction.

    Raises: ConfigError where a direction would have to carry more than its line rate.
    """
    full_pps = line_rate_pps(frame_bytes, link_speed_bps) / max(direction_ratios)
    if rate.unit == "ratio":
        return rate.amount * full_pps
    load_pps = rate.amount if rate.unit == "pps" else rate.amount / ((frame_bytes + WIRE_OVERHEAD_BYTES) * 8)
    if load_pps > full_pps * (1 + ROUNDING_TOLERANCE):
        asked = format_pps(load_pps) if rate.unit == "pps" else format_bps(rate.amount)
        full_bps = full_pps * (frame_bytes + WIRE_OVERHEAD_BYTES) * 8
        raise ConfigError(
            f"rate: {asked} asked, {frame_bytes:g}-byte frames fill the links at {format_pps(full_pps)}, "
            f"{format_bps(full_bps)} ({len(direction_ratios)} x {format_bps(link_speed_bps)}); ask for less, or say "
            "how fast the links are (link_speed)"
        )
    return load_pps


def theoretical_rate(
    frame_bytes: float, extra_bytes: float, link_speed_bps: float, direction_count: int
) -> TheoreticalRate:
    """The most that reaches a SUT behind links on which every frame has more headers than those it was sent with.

    Args:
        frame_bytes: mean frame size as sent, with FCS.
        extra_bytes: of the headers that are added.
        link_speed_bps: of each direction.
        direction_count: directions with traffic.
    """
    rate_pps = direction_count * line_rate_pps(frame_bytes + extra_bytes, link_speed_bps)
    return TheoreticalRate(rate_pps, rate_pps * (frame_bytes + WIRE_OVERHEAD_BYTES) * 8)
