"""The loads of MLRsearch's initial phase: the highest, its forwarding rate, and one next to that.

Source: draft-vpolak-mkonstan-bmwg-mlrsearch-03 section "Initial Phase", draft-ietf-bmwg-mlrsearch-01 section 4.2.
"""

from nodrop.model.goal import Goal
from nodrop.model.message import Message
from nodrop.search import width
from nodrop.search.loss_table import Measured
from nodrop.search.single_trial import Choice


def choose_first(max_load_pps: float) -> Choice:
    """Return the highest load."""
    return Choice(max_load_pps, Message.of("forwarding-rate-of-highest"), "initial")


def choose_second(first: Measured, min_load_pps: float, width_goal: float) -> Choice:
    """Return the forwarding rate of the highest load, at least one width below that load."""
    forwarded_pps = _get_forwarding_rate(first)
    one_below_pps = width.step_below(first.load_pps, width_goal)
    load_pps = max(min_load_pps, min(one_below_pps, forwarded_pps))
    if load_pps == forwarded_pps:
        code = "at-forwarding-rate"
    else:
        code = "one-width-below" if load_pps == one_below_pps else "at-lowest"
    reason = Message.of(code, forwarded_pps=forwarded_pps, load_pps=first.load_pps, width_ratio=width_goal)
    return Choice(load_pps, reason, "initial")


def choose_third(second: Measured, goal: Goal, width_goal: float) -> Choice:
    """Return a load next to the second: lower if that lost too much for the smallest ratio, else higher."""
    if second.loss_ratio > goal.loss_ratio:
        load_pps = min(width.step_below(second.load_pps, width_goal), _get_forwarding_rate(second))
        reason = Message.of("initial-down", load_pps=second.load_pps, goal=goal.label)
    else:
        load_pps = width.step_above(second.load_pps, width_goal)
        reason = Message.of("initial-up", load_pps=second.load_pps, goal=goal.label, width_ratio=width_goal)
    return Choice(load_pps, reason, "initial", goal.label)


def _get_forwarding_rate(measured: Measured) -> float:
    return measured.load_pps * (1.0 - measured.loss_ratio)
