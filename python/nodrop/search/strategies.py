"""Strategies that choose the next load for a target: functions that nominate one load or none.

| rule | when | load |
|---|---|---|
| `halve` | the start interval is one split wider than the goal width | its middle |
| `refine-lower`, `refine-upper` | an end of the start interval is not yet decided | that end |
| `extend-down`, `extend-up` | a bound is missing | one growing step beyond the other |
| `bisect-from-above`, `bisect-from-below` | both bounds, one far from the start interval | one growing step from it |
| `bisect` | both bounds | their middle |

Source: MLRsearch 1.2.1, strategies.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from nodrop.model.message import Message
from nodrop.search.classification import RelevantBounds
from nodrop.search.load_grid import LoadGrid
from nodrop.search.next_load import find_middle, find_spaced
from nodrop.search.target import Target

Side = Literal["lower", "upper"]


class Situation(NamedTuple):
    """The input of a strategy."""

    target: Target
    grid: LoadGrid
    bounds: RelevantBounds[int]
    """The relevant bounds of the target, in steps of the grid."""
    start: RelevantBounds[int]
    """Start of the target's search: the bounds of the previous target, or the last two initial trials."""
    stride: int
    """Length of a step towards a missing bound."""


class Nomination(NamedTuple):
    """A load to measure for a target."""

    step: int
    width: int
    """Least step of the searches for other goals once this load is measured."""
    rule: str
    reason: Message
    """Without the goal's label."""
    unwanted_side: Side | None = None
    """The bound that the load should not become; if it does, the next step is longer."""


Strategy = Callable[[Situation], Nomination | None]


def halve(at: Situation) -> Nomination | None:
    """Nominate the middle of the start interval, if that makes it narrow enough."""
    low, high = at.start
    width = at.target.width
    if low is None or high is None or not width < high - low <= 2 * width:
        return None
    step = find_middle(low, high, width)
    if not _can_improve(at, step):
        return None
    return Nomination(step, width, "halve", _describe_span("halve-start", at, low, high))


def refine_lower(at: Situation) -> Nomination | None:
    """Nominate the lower end of the start interval, with the evidence this target needs."""
    return _refine(at, at.start.lower, "lower")


def refine_upper(at: Situation) -> Nomination | None:
    """Nominate the upper end of the start interval, with the evidence this target needs."""
    return _refine(at, at.start.upper, "upper")


def extend_down(at: Situation) -> Nomination | None:
    """Nominate a load below all measured loads, as none meets the goal yet."""
    lower, upper = at.bounds
    if lower is not None or upper is None or upper == 0:
        return None
    step = find_spaced(at.grid.clamp(upper - at.stride), at.target.width, at.grid.top, upper=upper)
    if step is None:
        return None
    reason = Message.of("extend-down", high_pps=at.grid.load_pps(upper))
    return Nomination(step, at.stride, "extend-down", reason, unwanted_side="upper")


def extend_up(at: Situation) -> Nomination | None:
    """Nominate a load above all measured loads, as all meet the goal so far."""
    lower, upper = at.bounds
    if upper is not None or lower is None or lower == at.grid.top:
        return None
    step = find_spaced(at.grid.clamp(lower + at.stride), at.target.width, at.grid.top, lower=lower)
    if step is None:
        return None
    reason = Message.of("extend-up", low_pps=at.grid.load_pps(lower))
    return Nomination(step, at.stride, "extend-up", reason, unwanted_side="lower")


def bisect(at: Situation) -> Nomination | None:
    """Nominate the middle of the bounds, or a step from one of them if the start interval makes that likelier.

    A bound may have been measured for another goal and lie far away from this one.
    """
    lower, upper = at.bounds
    if lower is None or upper is None or upper - lower <= at.target.width:
        return None
    center = find_middle(lower, upper, at.target.width)
    stepping = _choose_from_above(at, lower, upper, center) or _choose_from_below(at, lower, upper, center)
    if stepping:
        return stepping
    width = min(center - lower, upper - center)
    return Nomination(center, width, "bisect", _describe_span("split", at, lower, upper))


STRATEGIES: tuple[Strategy, ...] = (halve, refine_lower, refine_upper, extend_down, extend_up, bisect)
"""In order of precedence: the first nomination counts."""


def _refine(at: Situation, step: int | None, side: Side) -> Nomination | None:
    if step is None or not _can_improve(at, step):
        return None
    reason = Message.of("refine", load_pps=at.grid.load_pps(step), side=side, trial_s=at.target.trial_s)
    return Nomination(step, at.target.width, f"refine-{side}", reason)


def _choose_from_above(at: Situation, lower: int, upper: int, center: int) -> Nomination | None:
    start = at.start.upper
    if start is None or center >= start:
        return None
    target_step = at.grid.clamp(upper - at.stride)
    step = find_spaced(target_step, at.target.width, at.grid.top, lower, upper)
    if step is None or not center < step < start:
        return None
    reason = _describe_span("lower-far-below", at, lower, upper)
    return Nomination(step, at.stride, "bisect-from-above", reason, unwanted_side="upper")


def _choose_from_below(at: Situation, lower: int, upper: int, center: int) -> Nomination | None:
    start = at.start.lower
    if start is None or center <= start:
        return None
    target_step = at.grid.clamp(lower + at.stride)
    step = find_spaced(target_step, at.target.width, at.grid.top, lower, upper)
    if step is None or not start < step < center:
        return None
    reason = _describe_span("upper-far-above", at, lower, upper)
    return Nomination(step, at.stride, "bisect-from-below", reason, unwanted_side="lower")


def _can_improve(at: Situation, step: int) -> bool:
    """Return whether a trial at this step can improve bounds that are still too far apart."""
    lower, upper = at.bounds
    if lower is not None and upper is not None and upper - lower <= at.target.width:
        return False
    return (lower is None or lower < step) and (upper is None or step < upper)


def _describe_span(code: str, at: Situation, low: int, high: int) -> Message:
    return Message.of(code, low_pps=at.grid.load_pps(low), high_pps=at.grid.load_pps(high))
