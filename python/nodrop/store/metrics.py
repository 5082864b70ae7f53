"""Measures with stable keys, for results of nodrop and other testers."""

import math
from collections.abc import Iterator, Mapping

from nodrop.formatting import format_goal
from nodrop.model.goal import Goal, Limit
from nodrop.model.summary import Measure

NS_PER_USEC = 1000


def make_slug(text: str) -> str:
    """Convert a text to a key: `50 % of NDR` is `50%_of_ndr`."""
    return text.lower().replace(" %", "%").replace(" ", "_")


def name_goal(goal: Goal) -> tuple[str, str]:
    """Return key and text of a goal: `ndr`, `NDR`; with the loss ratio unless it is 0."""
    text = format_goal(goal) if goal.loss_ratio else goal.label
    return make_slug(text), text


def build_goal_measure(goal: Goal, load_pps: float, high_pps: float | None, limit: Limit) -> Measure:
    """Build the measure of the highest load that met a goal."""
    key, text = name_goal(goal)
    return Measure(
        key=key, text=text, unit="pps", better="higher", value=load_pps, low=load_pps, high=high_pps, limit=limit
    )


def build_latency_measure(name: str, value_ns: float, at_key: str, at_text: str) -> Measure:
    """Build the measure of a latency at a load: `p99` at `ndr`, `NDR`."""
    return Measure(
        key=f"latency_{name}_at_{at_key}",
        text=f"latency {name} at {at_text}",
        unit="ns",
        better="lower",
        value=value_ns,
    )


def build_latency_measures(usec: Mapping[str, float | None], at_key: str, at_text: str) -> Iterator[Measure]:
    """Build the measures of known latencies at a load, from values in microseconds by name."""
    for name, value in usec.items():
        if value is not None and 0 <= value * NS_PER_USEC < math.inf:
            yield build_latency_measure(name, value * NS_PER_USEC, at_key, at_text)
