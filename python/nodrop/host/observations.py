"""A leaf of the descriptor from a file, or the reason why it is not to be had."""

from collections.abc import Callable
from typing import TypeVar

from nodrop.host.inputs import Source
from nodrop.model.observation import Observation

T = TypeVar("T")
VALUE_MAX = 2**64
"""Counters of the kernel end below it."""
_SWITCHES = {"1": True, "Y": True, "y": True, "on": True, "0": False, "N": False, "n": False, "off": False}


def observe_number(source: Source, path: str) -> Observation[int]:
    """The whole number a file holds; nothing of a machine is less than nothing."""
    found = source.tree.number(path)
    if found is not None and not 0 <= found < VALUE_MAX:
        return source.moment.unknown(f"holds {found}, a number from 0 to 2^64 expected", path)
    return unreadable(source, path) if found is None else source.moment.reported(found, path)


def observe_text(source: Source, path: str) -> Observation[str]:
    """What a file holds; an empty one is unknown."""
    found = source.tree.text(path)
    if found is None:
        return unreadable(source, path)
    return source.moment.reported(found, path) if found else source.moment.unknown("holds nothing", path)


def observe_switch(source: Source, path: str) -> Observation[bool]:
    """Whether a switch of the kernel's is on: it says 1 or 0, Y or N."""
    said = source.tree.text(path)
    if said is None:
        return unreadable(source, path)
    if said not in _SWITCHES:
        return source.moment.unknown(f"holds {said[:40]!r}, 0 or 1 expected", path)
    return source.moment.reported(_SWITCHES[said], path)


def first_known(*ways: Callable[[], Observation[T]]) -> Observation[T]:
    """What the first way that knows says; if none does, the first one's reason."""
    refusals = []
    for way in ways:
        if (found := way()).known:
            return found
        refusals.append(found)
    return refusals[0]


def unreadable(source: Source, path: str) -> Observation[T]:
    """No value, for the reason why this path could not be read."""
    return source.moment.unknown(source.tree.why(path) or "unreadable", path)
