"""The loads of MLRsearch's initial phase: the highest one, what came back of it, and one more beside that.

Source: draft-vpolak-mkonstan-bmwg-mlrsearch-03 section "Initial Phase", draft-ietf-bmwg-mlrsearch-01 section 4.2.
"""

from nodrop.model.goal import Goal
from nodrop.search import width
from nodrop.search.loss_table import Measured
from nodrop.search.reason_text import load_text, width_text
from nodrop.search.single_trial import Choice


def first_choice(max_load_pps: float) -> Choice:
    """The highest load."""
    return Choice(max_load_pps, "what comes back of the highest load shows how much is forwarded at all", "initial")


def second_choice(first: Measured, min_load_pps: float, width_goal: float) -> Choice:
    """What came back of the highest load, at least one width below it."""
    came_back_pps = _forwarded_pps(first)
    one_below_pps = width.below(first.load_pps, width_goal)
    load_pps = max(min_load_pps, min(one_below_pps, came_back_pps))
    came_back = f"{load_text(came_back_pps)} came back of {load_text(first.load_pps)}"
    if load_pps == came_back_pps:
        reason = f"{came_back}: measuring at what came back"
    elif load_pps == one_below_pps:
        reason = f"{came_back}, nearly all: stepping down one width of {width_text(width_goal)}"
    else:
        reason = f"{came_back}: measuring at the lowest load allowed"
    return Choice(load_pps, reason, "initial")


def third_choice(second: Measured, goal: Goal, width_goal: float) -> Choice:
    """The other side of the second load: down where it lost too much for the smallest ratio, else up."""
    here = load_text(second.load_pps)
    if second.loss_ratio > goal.loss_ratio:
        load_pps = min(width.below(second.load_pps, width_goal), _forwarded_pps(second))
        reason = f"{here} loses too much for {goal.label}: stepping down to what came back or lower"
    else:
        load_pps = width.above(second.load_pps, width_goal)
        reason = f"{here} is good enough for {goal.label}: stepping up one width of {width_text(width_goal)}"
    return Choice(load_pps, reason, "initial", goal.label)


def _forwarded_pps(measured: Measured) -> float:
    """What came back of a load."""
    return measured.load_pps * (1.0 - measured.loss_ratio)
