"""The effect of a trial on the bounds of goals, in words."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.model.result import GoalState
from nodrop.units import format_pps

PLURALS = {"rises": "rise", "falls": "fall", "is": "are", "no longer holds": "no longer hold"}


class BoundChange(NamedTuple):
    """The change of one bound of a goal."""

    side: str
    verb: str
    rest: str


def describe_bound_changes(before: Sequence[GoalState], after: Sequence[GoalState]) -> str:
    """Return the changes of bounds by a trial: `NDR lower bound rises from 4.100 to 4.300 Mpps`.

    Args:
        before: the bounds before the trial, one state per goal.
        after: the bounds after the trial, in the same order.
    """
    labels: dict[BoundChange, list[str]] = {}
    for was, now in zip(before, after, strict=True):
        for change in _changes(was, now):
            labels.setdefault(change, []).append(now.label)
    return ", ".join(_sentence(who, change) for change, who in labels.items()) or "no bound moves"


def _sentence(labels: Sequence[str], change: BoundChange) -> str:
    if len(labels) == 1:
        return f"{labels[0]} {change.side} bound {change.verb}{change.rest}"
    return f"{', '.join(labels[:-1])} and {labels[-1]} {change.side} bounds {PLURALS[change.verb]}{change.rest}"


def _changes(was: GoalState, now: GoalState) -> Iterator[BoundChange]:
    for side, old_pps, new_pps in (
        ("lower", was.lower_pps, now.lower_pps),
        ("upper", was.upper_pps, now.upper_pps),
    ):
        if old_pps != new_pps:
            yield BoundChange(side, *_move(old_pps, new_pps))


def _move(old_pps: float | None, new_pps: float | None) -> tuple[str, str]:
    if new_pps is None:
        return "no longer holds", ""
    if old_pps is None:
        return "is", f" now {format_pps(new_pps)}"
    verb = "rises" if new_pps > old_pps else "falls"
    old, new = format_pps(old_pps), format_pps(new_pps)
    if old == new:
        return verb, f" a little, to {new}"
    number, unit = old.split(" ")
    return verb, f" from {number if new.endswith(f' {unit}') else old} to {new}"
