"""Test procedures: each decides from the results so far which run is next, and evaluates them. Start in base.py.

A procedure is pure: no clock, no I/O. `run/suite.py` carries it out.
"""

from collections.abc import Sequence

from nodrop.model.procedure import FailoverPlan, ProcedurePlan
from nodrop.model.result import RunResult
from nodrop.procedure.failover import FailoverReport, build_failover_report
from nodrop.procedure.scale_out import ScaleOutReport, build_scale_out_report

__all__ = ["build_report"]


def build_report(plan: ProcedurePlan, results: Sequence[RunResult]) -> FailoverReport | ScaleOutReport:
    """Evaluate the runs of any procedure."""
    if isinstance(plan, FailoverPlan):
        return build_failover_report(plan, results)
    return build_scale_out_report(plan, results)
