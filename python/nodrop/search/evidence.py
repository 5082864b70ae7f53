"""What all trials so far say about one goal.

The rule, for each side of a goal:

1. The tightest valid bound among the longest trials, where they have one.
2. Otherwise the tightest valid bound of the next shorter trials that does not contradict the longer ones: lower bounds
   below a known upper bound, upper bounds above a known lower bound. It is valid, but the interval is not `final`.
3. Otherwise the lowest (or highest) load measured with the longest trials, not valid. A goal that fails at the lowest
   load allowed, or is met at the highest, ends here.
"""

from collections.abc import Sequence

from nodrop.model.goal import Goal
from nodrop.search.base import Interval
from nodrop.search.loss_table import LossTable, Measured


def best_interval(goal: Goal, tables: Sequence[LossTable], final_duration_s: float) -> Interval:
    """The best known bounds of a goal.

    Args:
        goal: whose loss ratio parts lower from upper bounds.
        tables: trials by duration, the longest last; empty before the first trial.
        final_duration_s: duration at which bounds are final.
    """
    lower, upper = _valid_bounds(goal, tables)
    measured = [table for table in tables if table.by_load]
    nearest = measured[-1].by_load if measured else ()
    shown_lower = lower or (nearest[0] if nearest else None)
    shown_upper = upper or (nearest[-1] if nearest else None)
    return Interval(
        goal=goal,
        lower_index=shown_lower.index if shown_lower else None,
        lower_load_pps=shown_lower.load_pps if shown_lower else None,
        lower_valid=lower is not None,
        upper_index=shown_upper.index if shown_upper else None,
        upper_load_pps=shown_upper.load_pps if shown_upper else None,
        upper_valid=upper is not None,
        final=all(m is not None and m.duration_s == final_duration_s for m in (shown_lower, shown_upper)),
    )


def _valid_bounds(goal: Goal, tables: Sequence[LossTable]) -> tuple[Measured | None, Measured | None]:
    lower: Measured | None = None
    upper: Measured | None = None
    for table in reversed(tables):
        lowers, uppers = table.sides(goal.loss_ratio)
        fitting_lowers = [m for m in lowers if upper is None or m.load_pps < upper.load_pps]
        fitting_uppers = [m for m in uppers if lower is None or m.load_pps > lower.load_pps]
        if lower is None and fitting_lowers:
            lower = fitting_lowers[-1]
        if upper is None and fitting_uppers:
            upper = fitting_uppers[0]
    return lower, upper
