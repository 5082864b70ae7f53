"""Where on the grid to measure next: inside an interval, or as near a wanted step as its neighbours permit.

Source: MLRsearch 1.2.1, discrete intervals and limit handling.
"""


def middle(low: int, high: int, goal: int) -> int:
    """The step that splits an interval so that it takes the fewest halvings to parts no wider than the goal.

    One part is the goal times a power of two, the power that makes the parts most alike; the smaller part is the lower
    one, as the answer of a search should rather be too low than too high.

    Args:
        low, high: ends of the interval, further apart than the goal.
        goal: width in steps that is narrow enough.
    """
    width = high - low
    if width < 2 * goal:
        # For this goal one split is enough anywhere; an even goal is halved because a finer one probably follows.
        return low + width // 2 if goal % 2 else middle(low, high, goal // 2)
    part = goal
    while width - 2 * part > 2 * part:
        part *= 2
    rest = width - 2 * part
    if part * (width - part) > 2 * part * rest:
        rest = part
    return low + rest


def spaced(wanted: int, room: int, top: int, lower: int | None = None, upper: int | None = None) -> int | None:
    """The step to measure for a wanted one: not needlessly close to a known bound or to the end of the grid.

    Args:
        wanted: the step aimed at, on the grid.
        room: distance to keep on either side.
        top: the highest step of the grid; the lowest is 0. Both may be measured, and attract what comes close.
        lower, upper: steps known already, which will not be measured again; None where there is none.

    Returns: None when the wanted step is not between the known ones, or these leave no room.
    """
    low = 0 if lower is None else lower
    high = top if upper is None else upper
    if (lower is not None and wanted <= low) or (upper is not None and wanted >= high):
        return None
    if room >= high - low:
        if lower is None:
            return low
        return high if upper is None else None
    lowest, highest = low + room, high - room
    if lowest > highest:
        lowest = highest = middle(low, high, room)
    if wanted < lowest:
        return low if lower is None else lowest
    if wanted > highest:
        return high if upper is None else highest
    return wanted
