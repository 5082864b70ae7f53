"""Figures of other testers' results under the keys that nodrop's own have."""

import math
from collections.abc import Iterator, Mapping

from nodrop.model.goal import Goal, Limit
from nodrop.model.summary import Measure
from nodrop.store.summaries import slug
from nodrop.wording import goal_text

NS_PER_USEC = 1000


def goal_names(goal: Goal) -> tuple[str, str]:
    """Key and text of a goal: `ndr`, `NDR`; with its loss ratio where that is not 0."""
    title = goal_text(goal) if goal.loss_ratio else goal.label
    return slug(title), title


def goal_measure(goal: Goal, load_pps: float, high_pps: float | None, limit: Limit) -> Measure:
    """The highest load that met a goal."""
    key, title = goal_names(goal)
    return Measure(
        key=key, text=title, unit="pps", better="higher", value=load_pps, low=load_pps, high=high_pps, limit=limit
    )


def latency_measures(usec: Mapping[str, float | None], at_key: str, at_text: str) -> Iterator[Measure]:
    """Latencies at a load, by name: those that are known."""
    for name, value in usec.items():
        if value is not None and 0 <= value * NS_PER_USEC < math.inf:
            yield Measure(
                key=f"latency_{name}_at_{at_key}",
                text=f"latency {name} at {at_text}",
                unit="ns",
                better="lower",
                value=value * NS_PER_USEC,
            )
