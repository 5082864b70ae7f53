"""Test procedures: each decides from the results so far which run is next, and evaluates them. Start in base.py.

A procedure is pure: no clock, no I/O. `run/suite.py` carries it out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nodrop.model.procedure import ProcedurePlan
from nodrop.model.result import RunResult
from nodrop.procedure.failover import FailoverReport, build_failover_report
from nodrop.procedure.instances import InstancesReport, build_instances_report
from nodrop.procedure.migration import MigrationReport, build_migration_report
from nodrop.procedure.patterns import PatternsReport, build_patterns_report
from nodrop.procedure.rfc2544 import build_rfc2544_report
from nodrop.procedure.rfc2544_figures import Rfc2544Report
from nodrop.procedure.scale_out import ScaleOutReport, build_scale_out_report
from nodrop.procedure.y1564 import build_y1564_report
from nodrop.procedure.y1564_figures import Y1564Report

__all__ = ["ProcedureReport", "build_report"]

ProcedureReport = (
    FailoverReport | ScaleOutReport | InstancesReport | PatternsReport | MigrationReport | Rfc2544Report | Y1564Report
)
"""What any procedure found."""


_BUILDERS: Mapping[str, Callable[[Any, Sequence[RunResult]], ProcedureReport]] = {
    "failover": build_failover_report,
    "instances": build_instances_report,
    "migration": build_migration_report,
    "patterns": build_patterns_report,
    "rfc2544": build_rfc2544_report,
    "scale-out": build_scale_out_report,
    "y1564": build_y1564_report,
}
"""By the name of the plan."""


def build_report(plan: ProcedurePlan, results: Sequence[RunResult]) -> ProcedureReport:
    """Evaluate the runs of any procedure."""
    return _BUILDERS[plan.name](plan, results)
