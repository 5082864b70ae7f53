"""What a body would do, told before it is done."""

from collections.abc import Sequence

from nodrop.formatting import asked_text, goal_text, traffic_text
from nodrop.model.base import Value
from nodrop.model.plan import Plan
from nodrop.simulation.duration_estimate import Forecast, forecast


class RunPreview(Value):
    """One of the runs that a body asks for, in words."""

    frame_size: str
    sut: str
    traffic: str
    asked: str
    """A fixed rate, or with which profile."""
    goals: tuple[str, ...]
    """What is looked for; empty at a fixed rate."""
    backend: str
    """How frames get in and out of the tester."""


class Preview(Value):
    """What a body would do."""

    runs: tuple[RunPreview, ...]
    """One for each frame size."""
    forecast: Forecast
    warnings: tuple[str, ...]
    """What to know before believing the figures."""


def preview(plans: Sequence[Plan]) -> Preview:
    """Plans in words, with the time they take."""
    warnings = dict.fromkeys(warning for plan in plans for warning in plan.warnings)
    return Preview(runs=tuple(map(_run, plans)), forecast=forecast(plans), warnings=tuple(warnings))


def _run(plan: Plan) -> RunPreview:
    is_search = not plan.fixed and not plan.no_traffic
    return RunPreview(
        frame_size=plan.frame_size,
        sut=plan.lab.sut_text,
        traffic=traffic_text(plan.traffic),
        asked=asked_text(plan),
        goals=tuple(map(goal_text, plan.search.goals)) if is_search else (),
        backend=plan.engine.backend,
    )
