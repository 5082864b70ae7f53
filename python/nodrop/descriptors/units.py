"""Units in descriptors: the suffix of a key defines its unit, and text with a unit is converted."""

from collections.abc import Callable, Iterator
from typing import Any

from nodrop.descriptors.messages import Complaint
from nodrop.system.yaml_reader import Key
from nodrop.units import (
    parse_bps,
    parse_bytes,
    parse_bytes_per_s,
    parse_count,
    parse_mhz,
    parse_mtps,
    parse_pps,
    parse_ratio,
)

PARSERS_BY_SUFFIX: dict[str, Callable[[object], float]] = {
    "_bytes_per_s": parse_bytes_per_s,
    "_bytes": parse_bytes,
    "_bps": parse_bps,
    "_pps": parse_pps,
    "_mhz": parse_mhz,
    "_mtps": parse_mtps,
    "_ratio": parse_ratio,
    "_count": parse_count,
    "_per_s": parse_count,
}
"""By suffix of a key; the first match applies."""


def parse_units(value: Any, key: Key, complaints: list[Complaint]) -> Any:
    """Convert every text with a unit to a number; leave invalid ones and append a complaint."""
    if isinstance(value, dict):
        return {name: parse_units(each, (*key, str(name)), complaints) for name, each in value.items()}
    if isinstance(value, list):
        return [parse_units(each, (*key, str(index)), complaints) for index, each in enumerate(value)]
    parse = next(_find_parsers(key), None)
    if not parse or not isinstance(value, str):
        return value
    try:
        return parse(value)
    except ValueError as error:
        complaints.append(Complaint(key, str(error)))
        return value


def _find_parsers(key: Key) -> Iterator[Callable[[object], float]]:
    """Yield the parsers for the last key, or for its parent: `degradation_max_ratio: {cpu: 10%}`."""
    for name in reversed(key[-2:]):
        yield from (parse for ending, parse in PARSERS_BY_SUFFIX.items() if name.endswith(ending))
