"""The unknown facts of a host, grouped by reason."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from nodrop.model.base import Value
from nodrop.model.observation import Observation

FILE_REASONS = ("not in the capture", "needs root", "no such file")
"""Reasons that name a file."""


class UnknownFacts(NamedTuple):
    """Facts that are unknown for one reason."""

    why: str
    leaves: tuple[str, ...]
    """Their names, each once for all members of a list: `numa_nodes.cpus.cpu.usage_ratio`."""
    leaf_count: int
    """Facts, including every member of a list."""


def list_unknowns(value: Value) -> tuple[UnknownFacts, ...]:
    """Return the unknown facts by reason, the most frequent first; facts without a reason are omitted."""
    reasons = dict[str, list[str]]()
    for leaf, observation in list_observations(value):
        if not observation.known and observation.why:
            reasons.setdefault(_generalize(observation.why), []).append(leaf)
    every = [UnknownFacts(why, tuple(dict.fromkeys(names)), len(names)) for why, names in reasons.items()]
    return tuple(sorted(every, key=lambda each: (-len(each.leaves), each.why)))


def list_observations(value: object, name: str = "") -> Iterator[tuple[str, Observation[object]]]:
    """Yield every observation of a value with its name, in order."""
    if isinstance(value, Observation):
        yield name, value
    elif isinstance(value, Value):
        for field in type(value).model_fields:
            yield from list_observations(getattr(value, field), f"{name}.{field}" if name else field)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from list_observations(each, name if isinstance(key, int) else f"{name}.{key}")
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from list_observations(each, name)


def _generalize(why: str) -> str:
    """Return the reason without names and numbers; descriptors have it in full."""
    for reason in FILE_REASONS:
        if reason in why:
            return reason
    return re.sub(r"^holds .*, (a .* expected)$", r"holds something else, \1", why)
