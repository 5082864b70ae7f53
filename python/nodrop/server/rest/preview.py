"""Previews of the runs that a request body would start."""

from collections.abc import Sequence

from nodrop.formatting import describe_run, describe_traffic, format_goal
from nodrop.model.base import Value
from nodrop.model.plan import Plan
from nodrop.simulation.duration_estimate import DurationEstimate, estimate_duration


class RunPreview(Value):
    """A run of a request, in words."""

    frame_size: str
    sut: str
    traffic: str
    asked: str
    """The fixed rate, or the profile of the search."""
    goals: tuple[str, ...]
    """Goals of the search; empty at a fixed rate."""
    backend: str
    """Packet I/O back end of the tester."""


class RequestPreview(Value):
    """The runs of a request and their expected duration."""

    runs: tuple[RunPreview, ...]
    """One per frame size."""
    forecast: DurationEstimate
    warnings: tuple[str, ...]
    """Limits on the validity of the results."""


def preview_plans(plans: Sequence[Plan]) -> RequestPreview:
    """Describe plans and estimate their duration."""
    warnings = dict.fromkeys(warning for plan in plans for warning in plan.warnings)
    return RequestPreview(
        runs=tuple(map(_build_run_preview, plans)), forecast=estimate_duration(plans), warnings=tuple(warnings)
    )


def _build_run_preview(plan: Plan) -> RunPreview:
    is_search = not plan.fixed and not plan.no_traffic
    return RunPreview(
        frame_size=plan.frame_size,
        sut=plan.lab.sut_text,
        traffic=describe_traffic(plan.traffic),
        asked=describe_run(plan),
        goals=tuple(map(format_goal, plan.search.goals)) if is_search else (),
        backend=plan.engine.backend,
    )
