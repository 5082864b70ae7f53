"""What users write ("2Mpps", "0.5%", "30s") to and from what the code uses (frames per second, ratios, seconds)."""

import math
import re
from datetime import UTC, datetime, timedelta

SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
"""Of memory, which is made in powers of two: a "1 GB page" has 2^30 bytes."""
SECONDS = {"": 1.0, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
DAYS = {"min": 1 / 1440, "h": 1 / 24, "d": 1.0, "w": 7.0}

_AGO = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*(min|h|d|w)")
_QUANTITY = re.compile(r"\s*([+-]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*([a-zµ%/]*)\s*", re.IGNORECASE)


def parse_pps(written: object) -> float:
    """Frames per second from `2Mpps`, `150kpps`, `1.5M` or a number. Raises ValueError."""
    return _scaled(written, ("pps",), "a packet rate; write for example 150kpps, 2Mpps or 1.5M")


def parse_bps(written: object) -> float:
    """Bits per second from `10Gbps`, `5 Gbit/s`, `100M` or a number. Raises ValueError."""
    return _scaled(written, ("bps", "bit/s", "b/s"), "a bit rate; write for example 10Gbps or 100Mbps")


def parse_bytes(written: object) -> int:
    """Bytes of memory from `10GB`, `512 MiB`, `2M` or a number; a GB is 2^30 bytes as a GiB is. Raises ValueError."""
    expected = "a size of memory; write for example 10GB, 512MiB or 2M"
    if isinstance(written, int) and not isinstance(written, bool):
        return written
    number, unit = _split(written, expected)
    prefix = unit.removesuffix("b").removesuffix("i")
    if prefix not in SIZES or unit == "i" or not (number * SIZES[prefix]).is_integer():
        raise ValueError(f"{written!r} is not {expected}")
    return round(number * SIZES[prefix])


def parse_bytes_per_s(written: object) -> float:
    """Bytes per second from `12GB/s`, `8 GiB/s` or a number; G is 10^9, Gi 2^30. Raises ValueError."""
    expected = "a bandwidth in bytes; write for example 12GB/s"
    number, unit = _split(written, expected)
    prefix = unit.removesuffix("b/s") if unit.endswith("b/s") else unit
    binary = prefix.endswith("i") and SIZES.get(prefix[:-1])
    if not binary and prefix not in SCALES:
        raise ValueError(f"{written!r} is not {expected}")
    return number * (binary or SCALES[prefix])


def parse_mhz(written: object) -> float:
    """Megahertz from `2.7GHz`, `2700 MHz` or a number. Raises ValueError."""
    expected = "a clock rate; write for example 2.7GHz or 2700"
    number, unit = _split(written, expected)
    if unit not in ("", "mhz", "ghz"):
        raise ValueError(f"{written!r} is not {expected}")
    return number * 1000 if unit == "ghz" else number


def parse_mtps(written: object) -> int:
    """Mega-transfers per second from `2400 MT/s` or a number. Raises ValueError."""
    expected = "a speed of memory; write for example 2400MT/s"
    number, unit = _split(written, expected)
    if unit not in ("", "mt/s") or not number.is_integer():
        raise ValueError(f"{written!r} is not {expected}")
    return round(number)


def parse_count(written: object) -> int:
    """A whole number from `100k`, `1.5M`, `10_000` or a number. Raises ValueError."""
    expected = "a whole number; write for example 10000, 100k or 1.5M"
    if isinstance(written, int) and not isinstance(written, bool):
        return written
    count = _scaled(written, (), expected)
    if count != round(count):
        raise ValueError(f"{written!r} is not {expected}")
    return round(count)


def parse_percent(written: object) -> float:
    """Percent from `0.1`, `0.1%` or a number. Raises ValueError."""
    expected = "a percentage; write for example 0.1 or 0.1%"
    number, unit = _split(written, expected)
    if unit not in ("", "%"):
        raise ValueError(f"{written!r} is not {expected}")
    return number


def parse_ratio(written: object) -> float:
    """A share from `0.5%`, `0.005` or a number. Raises ValueError."""
    expected = "a ratio; write for example 0.5% or 0.005"
    number, unit = _split(written, expected)
    if unit not in ("", "%"):
        raise ValueError(f"{written!r} is not {expected}")
    return number / 100 if unit else number


def parse_seconds(written: object) -> float:
    """Seconds from `30s`, `200ms`, `2min` or a number. Raises ValueError."""
    expected = "a duration; write for example 30s, 200ms or 2min"
    number, unit = _split(written, expected)
    if unit not in SECONDS:
        raise ValueError(f"{written!r} is not {expected}")
    return number * SECONDS[unit]


def parse_time(written: str, now: datetime) -> datetime:
    """A moment in UTC from `2026-01-31`, `2026-01-31T12:00`, or how long ago: `7d`, `12h`, `2w`. Raises ValueError."""
    ago = _AGO.fullmatch(written.strip().lower())
    try:
        if ago:
            return now.astimezone(UTC) - timedelta(days=float(ago[1]) * DAYS[ago[2]])
        moment = datetime.fromisoformat(written.strip())
    except (ValueError, OverflowError):
        raise ValueError(f"{written!r} is not a date or a time ago; write for example 2026-01-31 or 7d") from None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def format_pps(load_pps: float) -> str:
    """A packet rate for people: `312.3 kpps`."""
    return _with_prefix(load_pps, "pps")


def format_bps(rate_bps: float) -> str:
    """A bit rate for people: `1.05 Gb/s`."""
    return _with_prefix(rate_bps, "b/s")


def format_bytes(size_bytes: float) -> str:
    """A size of memory for people: `10 GiB`, `1.5 MiB`, `512 bytes`."""
    for prefix, scale in (("T", 2**40), ("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if abs(size_bytes) >= scale:
            return f"{_plain(size_bytes / scale, 4)} {prefix}iB"
    return f"{size_bytes:.0f} bytes"


def format_ratio(ratio: float) -> str:
    """A share for people, in percent with up to three significant digits: `0.5 %`."""
    return f"{_plain(ratio * 100, 3)} %"


def format_ns(duration_ns: float) -> str:
    """A short time for people: `12.3 µs`."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(duration_ns) >= scale:
            return f"{_digits(duration_ns / scale, 3)} {unit}"
    return f"{duration_ns:.0f} ns"


def format_seconds(duration_s: float) -> str:
    """A duration for people: `3 min 05 s`, `12.5 s`, `0.2 s`, `25 ms`."""
    if duration_s >= 60:
        minutes, seconds = divmod(round(duration_s), 60)
        return f"{minutes} min {seconds:02d} s"
    if duration_s >= 0.1 or duration_s <= 0:
        return f"{round(duration_s, 1 if duration_s >= 1 else 2):g} s"
    return format_ns(duration_s * 1e9)


def format_count(count: int, noun: str = "", plural: str = "") -> str:
    """Return a number in groups of three digits, with its noun: `1,234,567`, `1 trial`, `2 trials`, `3 entries`."""
    number = f"{count:,}"
    if not noun:
        return number
    return f"{number} {noun if count == 1 else plural or f'{noun}s'}"


def format_ordinal(number: int) -> str:
    """Return an ordinal number: `1st`, `2nd`, `3rd`, `11th`."""
    suffixes = {1: "st", 2: "nd", 3: "rd"}
    suffix = "th" if number % 100 in (11, 12, 13) else suffixes.get(number % 10, "th")
    return f"{number:,}{suffix}"


def _scaled(written: object, units: tuple[str, ...], expected: str) -> float:
    number, suffix = _split(written, expected)
    prefix = suffix.removesuffix(next((unit for unit in units if suffix.endswith(unit)), ""))
    if prefix not in SCALES:
        raise ValueError(f"{written!r} is not {expected}")
    return number * SCALES[prefix]


def _split(written: object, expected: str) -> tuple[float, str]:
    """Number and lower-case unit of what a user wrote."""
    matched = _QUANTITY.fullmatch(written) if isinstance(written, str) else None
    if isinstance(written, bool) or not (matched or isinstance(written, (int, float))):
        raise ValueError(f"{written!r} is not {expected}")
    try:
        number = float(matched[1] if matched else written)  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{written!r} is not {expected}")
    return number, matched[2].lower() if matched else ""


def _with_prefix(value: float, unit: str) -> str:
    for prefix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        # Rounding must not carry 999.95 k over to 1000.0 k.
        if abs(value) >= scale * 0.99995:
            return f"{_digits(value / scale, 4)} {prefix}{unit}"
    return f"{_plain(value, 4)} {unit}"


def _digits(value: float, significant: int) -> str:
    """A number of at most three digits before the point, trailing zeros kept so that columns line up."""
    whole = len(str(int(abs(value))))
    return f"{value:.{max(0, significant - whole)}f}"


def _plain(value: float, significant: int) -> str:
    """A number with so many significant digits, without exponent or trailing zeros."""
    text = f"{float(f'{value:.{significant}g}'):.12f}"
    return text.rstrip("0").rstrip(".")
