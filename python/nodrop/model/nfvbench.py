"""A result in NFVbench's form, read with tolerance: of any release, with fields missing, null or not numbers."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

Number = int | float


def get_section(value: object, *keys: str) -> dict[str, Any]:
    """What is below these keys, by name; empty where there is no such branch."""
    found = get_value(value, *keys)
    return {str(key): below for key, below in found.items()} if isinstance(found, Mapping) else {}


def get_value(value: object, *keys: str) -> Any:
    """What these keys lead to; None where they lead nowhere."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def get_list(value: object, *keys: str) -> list[Any]:
    """What is listed there; empty where there is no list."""
    found = get_value(value, *keys)
    return list(found) if isinstance(found, list | tuple) else []


def get_number(value: object, *keys: str) -> Number | None:
    """A number that can be shown; None for what is missing, a text, NaN or infinite."""
    found = get_value(value, *keys) if keys else value
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        return found if math.isfinite(found) else None
    except OverflowError:  # an integer beyond all floats
        return None


def get_text(value: object, *keys: str) -> str:
    """A text or number as text; empty where there is none."""
    found = get_value(value, *keys) if keys else value
    return str(found) if isinstance(found, str | int | float) else ""


def iter_service_chains(result: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every service chain of a result, by name, with what was measured of it."""
    for name, chain in get_section(result, "benchmarks", "network", "service_chain").items():
        yield name, get_section(chain, "result")


def iter_frame_sizes(chain: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """What was measured at every frame size: numbers first, in their order, then names."""
    sizes = {name: found for name, found in get_section(chain, "result").items() if isinstance(found, Mapping)}
    for name in sorted(sizes, key=lambda size: (not size.isdecimal(), int(size) if size.isdecimal() else 0, size)):
        yield name, get_section(sizes, name)


def read_percentiles(latency: object) -> dict[str, Number | None]:
    """Latency by percentile, in usec: the keys are texts in a file and may be numbers elsewhere."""
    known = get_section(latency, "lat_percentile")
    return {key: get_number(known[key]) for key in sorted(known, key=_as_float)}


def _as_float(key: str) -> float:
    try:
        return float(key)
    except ValueError:
        return math.inf
