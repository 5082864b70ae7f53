"""Units in descriptors: every key says with its ending what it is counted in, and text with a unit becomes that."""

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
"""By the end of a key; the first that fits."""


def parse_units(value: Any, key: Key, complaints: list[Complaint]) -> Any:
    """The same with every text that has to be a number made one; what is none is left, with a complaint."""
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
    """For the last key, or for the one it is in: `degradation_max_ratio: {cpu: 10%}`."""
    for name in reversed(key[-2:]):
        yield from (parse for ending, parse in PARSERS_BY_SUFFIX.items() if name.endswith(ending))
