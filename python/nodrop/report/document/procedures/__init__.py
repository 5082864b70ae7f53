"""The report of a test procedure: the answer, tables of its rounds or steps, charts, deviations. One file each."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nodrop.model.result import RunResult
from nodrop.model.suite import Suite
from nodrop.report.document.blocks import Section
from nodrop.report.document.procedures import failover, instances, migration, patterns, rfc2544, scale_out, y1564
from nodrop.report.document.procedures.base import ProcedureView

__all__ = ["ProcedureView", "build_procedure_section", "view_procedure"]


_BUILDERS: Mapping[str, Callable[[Any, Sequence[RunResult]], ProcedureView]] = {
    "failover": failover.build_view,
    "instances": instances.build_view,
    "migration": migration.build_view,
    "patterns": patterns.build_view,
    "rfc2544": rfc2544.build_view,
    "scale-out": scale_out.build_view,
    "y1564": y1564.build_view,
}
"""By the name of the plan."""


def view_procedure(suite: Suite, results: Sequence[RunResult]) -> ProcedureView | None:
    """Return the report of the procedure that chose the runs of a suite; None for other suites."""
    plan = suite.procedure
    return _BUILDERS[plan.name](plan, results) if plan and results else None


def build_procedure_section(suite: Suite, results: Sequence[RunResult]) -> Section | None:
    """Return the section of the procedure that chose the runs of a suite; None for other suites."""
    view = view_procedure(suite, results)
    return Section(name="procedure", title=view.title, blocks=view.blocks) if view else None
