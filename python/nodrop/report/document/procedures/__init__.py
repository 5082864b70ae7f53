"""The report of a test procedure: the answer, tables of its rounds or steps, charts, deviations. One file each."""

from collections.abc import Sequence

from nodrop.model.procedure import FailoverPlan, InstancesPlan, MigrationPlan, PatternsPlan
from nodrop.model.result import RunResult
from nodrop.model.suite import Suite
from nodrop.report.document.blocks import Section
from nodrop.report.document.procedures import failover, instances, migration, patterns, scale_out
from nodrop.report.document.procedures.base import ProcedureView

__all__ = ["ProcedureView", "build_procedure_section", "view_procedure"]


def view_procedure(suite: Suite, results: Sequence[RunResult]) -> ProcedureView | None:
    """Return the report of the procedure that chose the runs of a suite; None for other suites."""
    plan = suite.procedure
    if plan is None or not results:
        return None
    if isinstance(plan, FailoverPlan):
        return failover.build_view(plan, results)
    if isinstance(plan, MigrationPlan):
        return migration.build_view(plan, results)
    if isinstance(plan, PatternsPlan):
        return patterns.build_view(plan, results)
    if isinstance(plan, InstancesPlan):
        return instances.build_view(plan, results)
    return scale_out.build_view(plan, results)


def build_procedure_section(suite: Suite, results: Sequence[RunResult]) -> Section | None:
    """Return the section of the procedure that chose the runs of a suite; None for other suites."""
    view = view_procedure(suite, results)
    return Section(name="procedure", title=view.title, blocks=view.blocks) if view else None
