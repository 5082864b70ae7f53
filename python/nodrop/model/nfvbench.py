"""Tolerant access to results in NFVbench's format: of any release, with missing, null or non-numeric fields."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

Number = int | float


def get_section(value: object, *keys: str) -> dict[str, Any]:
    """Return the mapping below these keys; empty if there is none."""
    section = get_value(value, *keys)
    return {str(key): below for key, below in section.items()} if isinstance(section, Mapping) else {}


def get_value(value: object, *keys: str) -> Any:
    """Return the value at these keys; None if there is none."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def get_list(value: object, *keys: str) -> list[Any]:
    """Return the list at these keys; empty if there is none."""
    items = get_value(value, *keys)
    return list(items) if isinstance(items, list | tuple) else []


def get_number(value: object, *keys: str) -> Number | None:
    """Return a finite number; None for a missing value, text, NaN or infinity."""
    number = get_value(value, *keys) if keys else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    try:
        return number if math.isfinite(number) else None
    except OverflowError:  # an integer beyond all floats
        return None


def get_text(value: object, *keys: str) -> str:
    """Return text or a number as text; empty if there is none."""
    text = get_value(value, *keys) if keys else value
    return str(text) if isinstance(text, str | int | float) else ""


def iter_service_chains(result: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and measurements of every service chain of a result."""
    for name, chain in get_section(result, "benchmarks", "network", "service_chain").items():
        yield name, get_section(chain, "result")


def iter_frame_sizes(chain: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the measurements at every frame size: numbers in ascending order, then names."""
    sizes = {name: content for name, content in get_section(chain, "result").items() if isinstance(content, Mapping)}
    for name in sorted(sizes, key=lambda size: (not size.isdecimal(), int(size) if size.isdecimal() else 0, size)):
        yield name, get_section(sizes, name)


def read_percentiles(latency: object) -> dict[str, Number | None]:
    """Return latency by percentile, in µs; keys are text in files and may be numbers elsewhere."""
    percentiles = get_section(latency, "lat_percentile")
    return {key: get_number(percentiles[key]) for key in sorted(percentiles, key=_parse_percentile)}


def _parse_percentile(key: str) -> float:
    try:
        return float(key)
    except ValueError:
        return math.inf
