"""Observations from single files, with the reason if a value is unavailable."""

from collections.abc import Callable
from typing import TypeVar

from nodrop.host.inputs import Source
from nodrop.model.observation import Observation

T = TypeVar("T")
VALUE_MAX = 2**64
"""Upper limit of kernel counters."""
_SWITCHES = {"1": True, "Y": True, "y": True, "on": True, "0": False, "N": False, "n": False, "off": False}


def observe_number(source: Source, path: str) -> Observation[int]:
    """Return the non-negative integer in a file."""
    number = source.tree.read_number(path)
    if number is not None and not 0 <= number < VALUE_MAX:
        return source.moment.unknown(f"holds {number}, a number from 0 to 2^64 expected", path)
    return observe_unreadable(source, path) if number is None else source.moment.reported(number, path)


def observe_text(source: Source, path: str) -> Observation[str]:
    """Return the text of a file; an empty file is unknown."""
    text = source.tree.read_text(path)
    if text is None:
        return observe_unreadable(source, path)
    return source.moment.reported(text, path) if text else source.moment.unknown("holds nothing", path)


def observe_switch(source: Source, path: str) -> Observation[bool]:
    """Return a boolean kernel setting: 1 or 0, Y or N."""
    text = source.tree.read_text(path)
    if text is None:
        return observe_unreadable(source, path)
    if text not in _SWITCHES:
        return source.moment.unknown(f"holds {text[:40]!r}, 0 or 1 expected", path)
    return source.moment.reported(_SWITCHES[text], path)


def select_first_known(*ways: Callable[[], Observation[T]]) -> Observation[T]:
    """Return the first known value; if all are unknown, the first one's reason."""
    refusals = []
    for way in ways:
        if (observation := way()).known:
            return observation
        refusals.append(observation)
    return refusals[0]


def observe_unreadable(source: Source, path: str) -> Observation[T]:
    """Return an unknown value with the read error of this path."""
    return source.moment.unknown(source.tree.failure_reason(path) or "unreadable", path)
