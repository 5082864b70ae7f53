"""One trial of a search: its reason, its stop rule, its outcome."""

import math
from collections.abc import Generator
from typing import NamedTuple

from nodrop.model.message import Message
from nodrop.model.trial import StopRule, Trial
from nodrop.search.base import Outcome
from nodrop.search.loss_table import Measured

TrialDialogue = Generator[Trial, Outcome, Measured]
"""A dialogue about one trial."""


class Choice(NamedTuple):
    """The next load to measure, and the reason."""

    load_pps: float
    reason: Message
    rule: str
    goal: str = ""
    """Label of its goal; empty if it serves all."""


def make_trial(choice: Choice, duration_s: float, stop: StopRule | None = None) -> Trial:
    """Return the trial that measures a choice."""
    return Trial(
        intended_load_pps=choice.load_pps,
        duration_s=duration_s,
        stop=stop,
        reason=choice.reason,
        goal=choice.goal,
        rule=choice.rule,
    )


def measure(choice: Choice, duration_s: float, stop: StopRule | None = None) -> TrialDialogue:
    """Request one trial and wait for its outcome."""
    outcome = yield make_trial(choice, duration_s, stop)
    return Measured(choice.load_pps, duration_s, outcome.loss_ratio, outcome.index)


def stop_when_decided(load_pps: float, duration_s: float, largest_ratio: float) -> StopRule:
    """Return a rule that stops once the load is certainly an upper bound of every goal.

    More than `lost_count` lost frames exceed the largest loss ratio of all frames due. Rounding up leaves room for
    streams that each round their share of the frames up.
    """
    intended_count = math.ceil(load_pps * duration_s)
    return StopRule(lost_count=math.ceil(largest_ratio * intended_count))
