"""Thresholds that a run can decide: of goals it searches for, and latencies it measures."""

from collections.abc import Collection

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.expectation import Expectation, parse_expectation
from nodrop.model.goal import Goal
from nodrop.model.plan import LatencyPlan


def check_expectations(config: Config, goals: Collection[Goal], latency: LatencyPlan, *, is_fixed: bool) -> None:
    """Check that the run measures the figure of every expectation. Raises ConfigError."""
    labels = [goal.label.upper() for goal in goals]
    for expectation in map(parse_expectation, config.expect):
        problem = _find_problem(expectation, labels, latency, is_fixed)
        if problem:
            raise ConfigError(f"expect: {problem} ({expectation.text})")


def _find_problem(expectation: Expectation, labels: list[str], latency: LatencyPlan, is_fixed: bool) -> str:
    """Return why the run cannot decide an expectation; empty if it can."""
    if is_fixed:
        if expectation.figure == "load":
            return "a trial at a fixed rate finds no goal; write loss<=0.1% or p99<50us"
        return "a trial at a fixed rate has one load; write p99<50us" if expectation.point is not None else ""
    if expectation.figure == "loss":
        return "a search has no loss of its own; write the goal's rate, e.g. ndr>5Mpps, or a fixed --rate"
    if expectation.figure == "load":
        return "" if expectation.name in labels else f"no such goal; goals are {', '.join(labels)}"
    points = latency.points
    if any(point.is_at(expectation.point) for point in points):
        return ""
    loads = [each.goal_label if each.load_ratio == 1.0 else f"{each.load_ratio:.0%}" for each in points]
    measured = f"write one of @{', @'.join(loads)}" if loads else "remove --no-latency"
    return f"no latency is measured at that load; {measured}"
