"""Arithmetic of relative widths, (upper - lower) / upper, done on the logarithm of the load.

On that axis a relative width w is -ln(1 - w), so steps and middles do not depend on the unit of the load.
Source: draft-ietf-bmwg-mlrsearch-01 section 5.1 item 1, and its published implementation MLRsearch 0.4.0; `doubled`
from that of draft-vpolak-mkonstan-bmwg-mlrsearch-03, MLRsearch 0.3.0.
"""

import math

ROUNDING_CONSTANT = 0.999999
"""Multiplied widths come out this much too small, so that rounding never leaves an interval just above its goal."""


def compute_between(one_pps: float, other_pps: float) -> float:
    """Return the relative width between two loads, in any order."""
    upper_pps = max(one_pps, other_pps)
    return (upper_pps - min(one_pps, other_pps)) / upper_pps


def scale(width_ratio: float, factor: float) -> float:
    """Return the relative width `factor` times as long on the logarithmic axis; at most 1, by rounding."""
    return 1.0 - math.exp(math.log(1.0 - width_ratio) * factor * ROUNDING_CONSTANT)


def step_below(load_pps: float, width_ratio: float) -> float:
    """Return the load one relative width below."""
    return load_pps * (1.0 - width_ratio)


def step_above(load_pps: float, width_ratio: float) -> float:
    """Return the load one relative width above; infinite for a width that rounds to 1."""
    return load_pps / (1.0 - width_ratio) if width_ratio < 1.0 else math.inf


def compute_lower_part(width_ratio: float, goal_ratio: float) -> float:
    """Return the part of an interval that a split leaves below the new load.

    An interval of more than two goal widths is split at a whole number of them: 3 into 1 and 2, which can save a trial
    that two halves of 1.5 would need. Any other interval, and one where rounding could cost a trial, is halved.

    Source: draft-ietf-bmwg-mlrsearch-01 section 4.3 item 2.5.3.
    """
    goals = math.log(1.0 - width_ratio) / math.log(1.0 - goal_ratio)
    goal_count = math.ceil(goals)
    if goals <= 2.0 or goal_count != math.ceil(goals * ROUNDING_CONSTANT):
        return halve(width_ratio)
    return scale(goal_ratio, goal_count // 2)


def halve(width_ratio: float) -> float:
    """Return the relative width half as long on the logarithmic axis."""
    return 1.0 - math.sqrt(1.0 - width_ratio)


def double(width_ratio: float, count: int = 1) -> float:
    """Double a relative width on the logarithmic axis, `count` times; each time slightly less than exactly.

    Twice would be 2 w - w * w; with 1.999 the half of a doubled width never exceeds the width.
    """
    for _ in range(count):
        width_ratio = 1.999 * width_ratio - width_ratio * width_ratio
    return width_ratio
