"""The ways to choose the next load for a target, each a function that nominates one load or none.

| rule | when | load |
|---|---|---|
| `halve` | the start interval is one split away from the width | its middle |
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
from nodrop.search.next_load import middle, spaced
from nodrop.search.target import Target

Side = Literal["lower", "upper"]


class Situation(NamedTuple):
    """What a strategy knows when it is asked."""

    target: Target
    grid: LoadGrid
    bounds: RelevantBounds[int]
    """The relevant bounds of the target, in steps of the grid."""
    start: RelevantBounds[int]
    """Where the target's search began: the bounds of the target before it, or the last two initial trials."""
    stride: int
    """How far to step when a bound has to be looked for."""


class Nomination(NamedTuple):
    """A load that a target wants measured."""

    step: int
    width: int
    """Width that the searches for other goals should step by as well, at least, once this load is measured."""
    rule: str
    reason: Message
    """Without the goal's label."""
    unhoped: Side | None = None
    """The bound that the load is not hoped to become; when it does, the next step is longer."""


Strategy = Callable[[Situation], Nomination | None]


def halve(at: Situation) -> Nomination | None:
    """The middle of the start interval, when that would make it narrow enough."""
    low, high = at.start
    width = at.target.width
    if low is None or high is None or not width < high - low <= 2 * width:
        return None
    step = middle(low, high, width)
    if not _worth_it(at, step):
        return None
    return Nomination(step, width, "halve", _span("halve-start", at, low, high))


def refine_lower(at: Situation) -> Nomination | None:
    """The lower end of the start interval, with the evidence this target needs."""
    return _refine(at, at.start.lower, "lower")


def refine_upper(at: Situation) -> Nomination | None:
    """The upper end of the start interval, with the evidence this target needs."""
    return _refine(at, at.start.upper, "upper")


def extend_down(at: Situation) -> Nomination | None:
    """Below everything measured, as no load meets the goal yet."""
    lower, upper = at.bounds
    if lower is not None or upper is None or upper == 0:
        return None
    step = spaced(at.grid.clamp(upper - at.stride), at.target.width, at.grid.top, upper=upper)
    if step is None:
        return None
    reason = Message.of("extend-down", high_pps=at.grid.load_pps(upper))
    return Nomination(step, at.stride, "extend-down", reason, unhoped="upper")


def extend_up(at: Situation) -> Nomination | None:
    """Above everything measured, as every load meets the goal yet."""
    lower, upper = at.bounds
    if upper is not None or lower is None or lower == at.grid.top:
        return None
    step = spaced(at.grid.clamp(lower + at.stride), at.target.width, at.grid.top, lower=lower)
    if step is None:
        return None
    reason = Message.of("extend-up", low_pps=at.grid.load_pps(lower))
    return Nomination(step, at.stride, "extend-up", reason, unhoped="lower")


def bisect(at: Situation) -> Nomination | None:
    """Between the bounds: their middle, or a step from one of them where the start interval makes that likelier.

    A bound may have been measured for another goal and lie far away from this one.
    """
    lower, upper = at.bounds
    if lower is None or upper is None or upper - lower <= at.target.width:
        return None
    centre = middle(lower, upper, at.target.width)
    stepping = _from_above(at, lower, upper, centre) or _from_below(at, lower, upper, centre)
    if stepping:
        return stepping
    width = min(centre - lower, upper - centre)
    return Nomination(centre, width, "bisect", _span("split", at, lower, upper))


STRATEGIES: tuple[Strategy, ...] = (halve, refine_lower, refine_upper, extend_down, extend_up, bisect)
"""In the order in which they are asked; the first that nominates is heard."""


def _refine(at: Situation, step: int | None, side: Side) -> Nomination | None:
    if step is None or not _worth_it(at, step):
        return None
    reason = Message.of("refine", load_pps=at.grid.load_pps(step), side=side, trial_s=at.target.trial_s)
    return Nomination(step, at.target.width, f"refine-{side}", reason)


def _from_above(at: Situation, lower: int, upper: int, centre: int) -> Nomination | None:
    start = at.start.upper
    if start is None or centre >= start:
        return None
    wanted = at.grid.clamp(upper - at.stride)
    step = spaced(wanted, at.target.width, at.grid.top, lower, upper)
    if step is None or not centre < step < start:
        return None
    reason = _span("lower-far-below", at, lower, upper)
    return Nomination(step, at.stride, "bisect-from-above", reason, unhoped="upper")


def _from_below(at: Situation, lower: int, upper: int, centre: int) -> Nomination | None:
    start = at.start.lower
    if start is None or centre <= start:
        return None
    wanted = at.grid.clamp(lower + at.stride)
    step = spaced(wanted, at.target.width, at.grid.top, lower, upper)
    if step is None or not start < step < centre:
        return None
    reason = _span("upper-far-above", at, lower, upper)
    return Nomination(step, at.stride, "bisect-from-below", reason, unhoped="lower")


def _worth_it(at: Situation, step: int) -> bool:
    """Whether a trial there can bring a better bound than there is, where a better one is wanted."""
    lower, upper = at.bounds
    if lower is not None and upper is not None and upper - lower <= at.target.width:
        return False
    return (lower is None or lower < step) and (upper is None or step < upper)


def _span(code: str, at: Situation, low: int, high: int) -> Message:
    return Message.of(code, low_pps=at.grid.load_pps(low), high_pps=at.grid.load_pps(high))
