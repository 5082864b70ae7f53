"""Conversion between what users write ("2Mpps", "0.5%", "30s") and what the code uses (frames per second, ratios,
seconds)."""

import math
import re
from datetime import UTC, datetime, timedelta

SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
"""Memory sizes are powers of two: a "1 GB page" has 2^30 bytes."""
SECONDS = {"": 1.0, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
DAYS = {"min": 1 / 1440, "h": 1 / 24, "d": 1.0, "w": 7.0}

_AGO = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*(min|h|d|w)")
_QUANTITY = re.compile(r"\s*([+-]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*([a-zµ%/]*)\s*", re.IGNORECASE)


_BIT_RATE = re.compile(r"([kmgtKMGT]?)((?<=[kmgtKMGT])i)?(?:(b|[Bb]it|B|[Bb]yte)(?i:ps|/s))?")
"""Unit of a bit rate: prefix, i of a binary prefix, b or B."""


def parse_pps(value: object) -> float:
    """Parse `2Mpps`, `150kpps`, `1.5M` or a number to frames per second. Raises ValueError."""
    return _parse_scaled(value, ("pps",), "a packet rate; write for example 150kpps, 2Mpps or 1.5M")


def parse_bps(value: object) -> float:
    """Parse `10Gbps`, `5 Gbit/s`, `80MBps`, `2Gibps`, `100M` or a number to bits per second. Raises ValueError.

    As in NFVbench, B is a byte, and Ki, Mi, Gi and Ti are powers of 1024.
    """
    expected = "a bit rate; write for example 10Gbps or 100Mbps"
    number, unit = _split_as_written(value, expected)
    match = _BIT_RATE.fullmatch(unit)
    if not match:
        raise ValueError(f"{value!r} is not {expected}")
    prefix, binary, size = match.groups()
    if size == "B" and len(unit) > 2 and unit.isupper():
        raise ValueError(f"{value!r} is either bits or bytes; write {prefix}bps for bits, {prefix}Bps for bytes")
    scale = SIZES[prefix.lower()] if binary else SCALES[prefix.lower()]
    return number * scale * (8 if size in ("B", "Byte", "byte") else 1)


def parse_bytes(value: object) -> int:
    """Parse `10GB`, `512 MiB`, `2M` or a number to bytes of memory; GB and GiB are both 2^30. Raises ValueError."""
    expected = "a size of memory; write for example 10GB, 512MiB or 2M"
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number, unit = _split(value, expected)
    prefix = unit.removesuffix("b").removesuffix("i")
    if prefix not in SIZES or unit == "i" or not (number * SIZES[prefix]).is_integer():
        raise ValueError(f"{value!r} is not {expected}")
    return round(number * SIZES[prefix])


def parse_bytes_per_s(value: object) -> float:
    """Parse `12GB/s`, `8 GiB/s` or a number to bytes per second; G is 10^9, Gi 2^30. Raises ValueError."""
    expected = "a bandwidth in bytes; write for example 12GB/s"
    number, unit = _split(value, expected)
    prefix = unit.removesuffix("b/s") if unit.endswith("b/s") else unit
    binary = prefix.endswith("i") and SIZES.get(prefix[:-1])
    if not binary and prefix not in SCALES:
        raise ValueError(f"{value!r} is not {expected}")
    return number * (binary or SCALES[prefix])


def parse_mhz(value: object) -> float:
    """Parse `2.7GHz`, `2700 MHz` or a number to megahertz. Raises ValueError."""
    expected = "a clock rate; write for example 2.7GHz or 2700"
    number, unit = _split(value, expected)
    if unit not in ("", "mhz", "ghz"):
        raise ValueError(f"{value!r} is not {expected}")
    return number * 1000 if unit == "ghz" else number


def parse_mtps(value: object) -> int:
    """Parse `2400 MT/s` or a number to mega-transfers per second. Raises ValueError."""
    expected = "a speed of memory; write for example 2400MT/s"
    number, unit = _split(value, expected)
    if unit not in ("", "mt/s") or not number.is_integer():
        raise ValueError(f"{value!r} is not {expected}")
    return round(number)


def parse_count(value: object) -> int:
    """Parse `100k`, `1.5M`, `10_000` or a number to an integer. Raises ValueError."""
    expected = "an integer; write for example 10000, 100k or 1.5M"
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    count = _parse_scaled(value, (), expected)
    if count != round(count):
        raise ValueError(f"{value!r} is not {expected}")
    return round(count)


def parse_percent(value: object) -> float:
    """Parse `0.1`, `0.1%` or a number to a percentage. Raises ValueError."""
    expected = "a percentage; write for example 0.1 or 0.1%"
    number, unit = _split(value, expected)
    if unit not in ("", "%"):
        raise ValueError(f"{value!r} is not {expected}")
    return number


def parse_ratio(value: object) -> float:
    """Parse `0.5%`, `0.005` or a number to a ratio. Raises ValueError."""
    expected = "a ratio; write for example 0.5% or 0.005"
    number, unit = _split(value, expected)
    if unit not in ("", "%"):
        raise ValueError(f"{value!r} is not {expected}")
    return number / 100 if unit else number


def parse_seconds(value: object) -> float:
    """Parse `30s`, `200ms`, `2min` or a number to seconds. Raises ValueError."""
    expected = "a duration; write for example 30s, 200ms or 2min"
    number, unit = _split(value, expected)
    if unit not in SECONDS:
        raise ValueError(f"{value!r} is not {expected}")
    return number * SECONDS[unit]


def parse_time(value: str, now: datetime) -> datetime:
    """Parse `2026-01-31`, `2026-01-31T12:00`, or an age such as `7d`, `12h`, `2w` to a UTC time. Raises ValueError."""
    age = _AGO.fullmatch(value.strip().lower())
    try:
        if age:
            return now.astimezone(UTC) - timedelta(days=float(age[1]) * DAYS[age[2]])
        time = datetime.fromisoformat(value.strip())
    except (ValueError, OverflowError):
        raise ValueError(f"{value!r} is not a date or an age; write for example 2026-01-31 or 7d") from None
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def format_pps(load_pps: float) -> str:
    """Return a packet rate as text: `312.3 kpps`."""
    return _format_with_prefix(load_pps, "pps")


def format_bps(rate_bps: float) -> str:
    """Return a bit rate as text: `1.05 Gb/s`."""
    return _format_with_prefix(rate_bps, "b/s")


def format_bytes(size_bytes: float) -> str:
    """Return a memory size as text: `10 GiB`, `1.5 MiB`, `512 bytes`."""
    for prefix, scale in (("T", 2**40), ("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if abs(size_bytes) >= scale:
            return f"{_format_significant_digits(size_bytes / scale, 4)} {prefix}iB"
    return f"{size_bytes:.0f} bytes"


def format_ratio(ratio: float) -> str:
    """Return a ratio as a percentage with up to three significant digits: `0.5 %`."""
    return f"{_format_significant_digits(ratio * 100, 3)} %"


def format_ns(duration_ns: float) -> str:
    """Return a short duration as text: `12.3 µs`."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(duration_ns) >= scale:
            return f"{_format_fixed_digits(duration_ns / scale, 3)} {unit}"
    return f"{duration_ns:.0f} ns"


def format_seconds(duration_s: float) -> str:
    """Return a duration as text: `3 min 05 s`, `12.5 s`, `0.2 s`, `25 ms`."""
    if duration_s >= 60:
        minutes, seconds = divmod(round(duration_s), 60)
        return f"{minutes} min {seconds:02d} s"
    if duration_s >= 0.1 or duration_s <= 0:
        return f"{round(duration_s, 1 if duration_s >= 1 else 2):g} s"
    return format_ns(duration_s * 1e9)


def format_time_limit(limit_s: float) -> str:
    """Return a time limit exactly as set: `152 ms`, `1.5 s`, `20 µs`."""
    scale, unit = (1, "s") if limit_s >= 1 else (1e3, "ms") if limit_s >= 1e-3 else (1e6, "µs")
    return f"{limit_s * scale:.9g} {unit}"


def format_count(count: int, noun: str = "", plural: str = "") -> str:
    """Return an integer in groups of three digits: `1,234,567`."""
    number = f"{count:,}"
    if not noun:
        return number
    return f"{number} {noun if count == 1 else plural or f'{noun}s'}"


def format_ordinal(number: int) -> str:
    """Return an ordinal number: `1st`, `2nd`, `3rd`, `11th`."""
    suffixes = {1: "st", 2: "nd", 3: "rd"}
    suffix = "th" if number % 100 in (11, 12, 13) else suffixes.get(number % 10, "th")
    return f"{number:,}{suffix}"


def _parse_scaled(value: object, units: tuple[str, ...], expected: str) -> float:
    number, suffix = _split(value, expected)
    prefix = suffix.removesuffix(next((unit for unit in units if suffix.endswith(unit)), ""))
    if prefix not in SCALES:
        raise ValueError(f"{value!r} is not {expected}")
    return number * SCALES[prefix]


def _split(value: object, expected: str) -> tuple[float, str]:
    """Return the number and the lower-case unit of a quantity."""
    number, unit = _split_as_written(value, expected)
    return number, unit.lower()


def _split_as_written(value: object, expected: str) -> tuple[float, str]:
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if isinstance(value, bool) or not (match or isinstance(value, (int, float))):
        raise ValueError(f"{value!r} is not {expected}")
    try:
        number = float(match[1] if match else value)  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not {expected}")
    return number, match[2] if match else ""


def _format_with_prefix(value: float, unit: str) -> str:
    for prefix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        # rounding must not carry 999.95 k over to 1000.0 k
        if abs(value) >= scale * 0.99995:
            return f"{_format_fixed_digits(value / scale, 4)} {prefix}{unit}"
    return f"{_format_significant_digits(value, 4)} {unit}"


def _format_fixed_digits(value: float, significant: int) -> str:
    """Return a number below 1000 with trailing zeros, so that columns line up."""
    digit_count = len(str(int(abs(value))))
    return f"{value:.{max(0, significant - digit_count)}f}"


def _format_significant_digits(value: float, significant: int) -> str:
    """Return a number with this many significant digits, without exponent or trailing zeros."""
    text = f"{float(f'{value:.{significant}g}'):.12f}"
    return text.rstrip("0").rstrip(".")
