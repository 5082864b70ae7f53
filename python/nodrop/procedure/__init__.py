"""Test procedures: each decides from the results so far which run is next, and evaluates them. Start in base.py.

A procedure is pure: no clock, no I/O. `run/suite.py` carries it out.
"""

from collections.abc import Sequence

from nodrop.model.procedure import FailoverPlan, InstancesPlan, MigrationPlan, PatternsPlan, ProcedurePlan
from nodrop.model.result import RunResult
from nodrop.procedure.failover import FailoverReport, build_failover_report
from nodrop.procedure.instances import InstancesReport, build_instances_report
from nodrop.procedure.migration import MigrationReport, build_migration_report
from nodrop.procedure.patterns import PatternsReport, build_patterns_report
from nodrop.procedure.scale_out import ScaleOutReport, build_scale_out_report

__all__ = ["ProcedureReport", "build_report"]

ProcedureReport = FailoverReport | ScaleOutReport | InstancesReport | PatternsReport | MigrationReport
"""What any procedure found."""


def build_report(plan: ProcedurePlan, results: Sequence[RunResult]) -> ProcedureReport:
    """Evaluate the runs of any procedure."""
    if isinstance(plan, FailoverPlan):
        return build_failover_report(plan, results)
    if isinstance(plan, MigrationPlan):
        return build_migration_report(plan, results)
    if isinstance(plan, PatternsPlan):
        return build_patterns_report(plan, results)
    if isinstance(plan, InstancesPlan):
        return build_instances_report(plan, results)
    return build_scale_out_report(plan, results)
