"""Parsers of values that each chain has on its left and on its right."""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field

from nodrop.system.yaml_reader import parse_value


def split_sides(value: object) -> object:
    """Return the values of a list or of a text with commas: `eth1,eth2`."""
    return [each.strip() for each in value.split(",")] if isinstance(value, str) else value


InterfaceNames = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(split_sides, json_schema_input_type=list[str] | str),
]


def parse_mac(value: object) -> str:
    """Parse a MAC address such as `AA:BB:CC:DD:EE:FF` or `aa-bb-cc-dd-ee-ff` to lower case. Raises ValueError."""
    text = value.lower().replace("-", ":") if isinstance(value, str) else ""
    if not re.fullmatch(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", text):
        raise ValueError(f"{value!r} is not a MAC address; write for example 02:00:00:00:00:01")
    return text


def parse_macs(value: object) -> object:
    """Parse MAC addresses left and right: `[[02:..., ...], [02:..., ...]]`, or one each. Raises ValueError."""
    sides = _parse_sides(value, "MAC addresses", "[[02:00:00:00:00:01], [02:00:00:00:00:02]]")
    return sides and tuple(tuple(parse_mac(mac) for mac in side) for side in sides)


def parse_vlans(value: object) -> object:
    """Parse VLANs left and right: `[[100, 101], [200, 201]]`, or one each, `[100, 200]`. Raises ValueError."""
    return _parse_sides(value, "VLANs", "[[100, 101], [200, 201]], or [100, 200] for one chain")


def convert_number_to_text(value: object) -> object:
    """Return a number as text, any other value unchanged."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _parse_sides(value: object, noun: str, example: str) -> tuple[Sequence[object], Sequence[object]] | None:
    """Return two sequences of equal length; None if there are no values."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = parse_value(value)
    if value in (None, [], (), ""):
        return None
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError(f"{value!r} is not a pair of {noun}, left and right; write {example}")
    left, right = (side if isinstance(side, (list, tuple)) else [side] for side in value)
    if len(left) != len(right) or not left:
        raise ValueError(f"{value!r} has {len(left)} {noun} left and {len(right)} right; write as many of both")
    return left, right
