"""What is not known of a host and why, in few lines."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from nodrop.model.base import Value
from nodrop.model.observation import Observation

USUAL = ("not in the capture", "needs root", "no such file")
"""Reasons that come with the name of a file."""


class Unknown(NamedTuple):
    """Leaves that are not known for one reason."""

    why: str
    leaves: tuple[str, ...]
    """Their names, those of list members once: `numa_nodes.cpus.cpu.usage_ratio`."""
    leaf_count: int
    """Of all of them."""


def unknowns(value: Value) -> tuple[Unknown, ...]:
    """Every reason for something not to be known, that of most leaves first; leaves without a reason are left out."""
    found = dict[str, list[str]]()
    for leaf, observation in leaves(value):
        if not observation.known and observation.why:
            found.setdefault(_reason(observation.why), []).append(leaf)
    every = [Unknown(why, tuple(dict.fromkeys(names)), len(names)) for why, names in found.items()]
    return tuple(sorted(every, key=lambda each: (-len(each.leaves), each.why)))


def leaves(value: object, name: str = "") -> Iterator[tuple[str, Observation[object]]]:
    """Every observation of a value with its name, in order."""
    if isinstance(value, Observation):
        yield name, value
    elif isinstance(value, Value):
        for field in type(value).model_fields:
            yield from leaves(getattr(value, field), f"{name}.{field}" if name else field)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, name if isinstance(key, int) else f"{name}.{key}")
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from leaves(each, name)


def _reason(why: str) -> str:
    """The same for what differs in names and numbers only; descriptors tell each in full."""
    for usual in USUAL:
        if usual in why:
            return usual
    return re.sub(r"^holds .*, (a .* expected)$", r"holds something else, \1", why)
