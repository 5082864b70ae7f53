"""The next step of the grid to measure: inside an interval, or as near a target as its neighbors permit.

Source: MLRsearch 1.2.1, discrete intervals and limit handling.
"""


def find_middle(low: int, high: int, goal: int) -> int:
    """Return the step that splits an interval with the fewest halvings to parts no wider than the goal.

    One part is the goal times a power of two, the power that makes the parts most alike. The smaller part is the lower
    one, as a result that is too low is better than one that is too high.

    Args:
        low, high: ends of the interval, further apart than the goal.
        goal: width in steps that is narrow enough.
    """
    width = high - low
    if width < 2 * goal:
        # For this goal one split is enough anywhere; an even goal is halved because a finer one probably follows.
        return low + width // 2 if goal % 2 else find_middle(low, high, goal // 2)
    part = goal
    while width - 2 * part > 2 * part:
        part *= 2
    rest = width - 2 * part
    if part * (width - part) > 2 * part * rest:
        rest = part
    return low + rest


def find_spaced(target: int, distance: int, top: int, lower: int | None = None, upper: int | None = None) -> int | None:
    """Return the step to measure for a target: not needlessly close to a known bound or an end of the grid.

    Args:
        target: the step aimed at, on the grid.
        distance: distance to keep on either side.
        top: the highest step of the grid; the lowest is 0. Both may be measured, and attract what comes close.
        lower, upper: known bounds, which will not be measured again; None: no bound.

    Returns: None if the target is not between the known bounds, or they are too close.
    """
    low = 0 if lower is None else lower
    high = top if upper is None else upper
    if (lower is not None and target <= low) or (upper is not None and target >= high):
        return None
    if distance >= high - low:
        if lower is None:
            return low
        return high if upper is None else None
    lowest, highest = low + distance, high - distance
    if lowest > highest:
        lowest = highest = find_middle(low, high, distance)
    if target < lowest:
        return low if lower is None else lowest
    if target > highest:
        return high if upper is None else highest
    return target
