"""Bounds of one goal from trials of several durations.

The rule, for each side of a goal:

1. The tightest valid bound among the longest trials, if they have one.
2. Otherwise the tightest valid bound of the next shorter trials that does not contradict the longer ones: lower bounds
   below a known upper bound, upper bounds above a known lower bound. It is valid, but the interval is not `final`.
3. Otherwise the lowest (or highest) load measured with the longest trials, not valid. A goal that fails at the lowest
   load allowed, or is met at the highest, ends here.

Flags: `invalid-lower-bound`, `invalid-upper-bound`, and `degenerate` if both bounds are the same load.
"""

from collections.abc import Iterator, Sequence

from nodrop.model.goal import Flag, Goal
from nodrop.search.base import Interval
from nodrop.search.loss_table import LossTable, Measured


def find_best_interval(goal: Goal, tables: Sequence[LossTable], final_duration_s: float) -> Interval:
    """Return the best bounds of a goal.

    Args:
        goal: its loss ratio separates lower from upper bounds.
        tables: trials by duration, the longest last; empty before the first trial.
        final_duration_s: duration at which bounds are final.
    """
    lower, upper = find_valid_bounds(goal, tables)
    measured = [table for table in tables if table.by_load]
    nearest = measured[-1].by_load if measured else ()
    best_lower = lower or (nearest[0] if nearest else None)
    best_upper = upper or (nearest[-1] if nearest else None)
    return interval_between(goal, best_lower, best_upper, final_duration_s)


def find_valid_bounds(
    goal: Goal, tables: Sequence[LossTable], below: Measured | None = None, above: Measured | None = None
) -> tuple[Measured | None, Measured | None]:
    """Return the tightest valid bounds that exist, those of longer trials first.

    Args:
        goal: its loss ratio separates lower from upper bounds.
        tables: trials by duration, the longest last.
        below: a known upper bound; lower bounds must be below it.
        above: a known lower bound; upper bounds must be above it.
    """
    lower, upper = above, below
    for table in reversed(tables):
        lowers, uppers = table.sides(goal.loss_ratio)
        fitting_lowers = [m for m in lowers if upper is None or m.load_pps < upper.load_pps]
        # A load above a failing one that met the goal itself is on the upper side, but is not a valid bound.
        failing = [m for m in uppers if m.loss_ratio > goal.loss_ratio]
        fitting_uppers = [m for m in failing if lower is None or m.load_pps > lower.load_pps]
        if lower is None and fitting_lowers:
            lower = fitting_lowers[-1]
        if upper is None and fitting_uppers:
            upper = fitting_uppers[0]
    return lower, upper


def interval_between(goal: Goal, lower: Measured | None, upper: Measured | None, final_duration_s: float) -> Interval:
    """Return the interval between two measured loads; a bound is valid if its loss is on its side of the goal."""
    return Interval(
        goal=goal,
        lower_index=lower.index if lower else None,
        lower_load_pps=lower.load_pps if lower else None,
        lower_valid=lower is not None and lower.loss_ratio <= goal.loss_ratio,
        upper_index=upper.index if upper else None,
        upper_load_pps=upper.load_pps if upper else None,
        upper_valid=upper is not None and upper.loss_ratio > goal.loss_ratio,
        final=all(m is not None and m.duration_s == final_duration_s for m in (lower, upper)),
        flags=tuple(_iter_flags(goal, lower, upper)),
    )


def _iter_flags(goal: Goal, lower: Measured | None, upper: Measured | None) -> Iterator[Flag]:
    if lower and lower.loss_ratio > goal.loss_ratio:
        yield _flag_invalid("invalid-lower-bound", goal, lower)
    if upper and upper.loss_ratio <= goal.loss_ratio:
        yield _flag_invalid("invalid-upper-bound", goal, upper)
    if lower and upper and lower.load_pps == upper.load_pps:
        yield Flag.of("degenerate", goal=goal.label, load_pps=lower.load_pps)


def _flag_invalid(code: str, goal: Goal, nearest: Measured) -> Flag:
    return Flag.of(
        code,
        goal=goal.label,
        loss_ratio=goal.loss_ratio,
        load_pps=nearest.load_pps,
        duration_s=nearest.duration_s,
    )
