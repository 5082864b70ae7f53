"""Execution of a test procedure with progress and output, for the commands of `nodrop test`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.outputs import Outputs
from nodrop.errors import SearchError

if TYPE_CHECKING:
    from nodrop.model.event import OnEvent
    from nodrop.model.result import RunResult
    from nodrop.run.procedure_plans import ProcedureSources
    from nodrop.run.suite import Failure


def measure_procedure(
    sources: "ProcedureSources", outputs: Outputs, flags: "Mapping[str, Any]", *, quiet: bool = False
) -> int:
    """Carry out a procedure, show and write its results; returns the exit code.

    Args:
        sources: its configuration.
        outputs: destinations of the results.
        flags: `dry_run`, `alongside` and `wait`.
        quiet: without progress.

    Raises: SearchError if the runs give no answer; ConfigError and StageError before the first run.
    """
    from nodrop.cli.measure import RunOutcome, admit_runs, monitor_runs, report_failures, show_suite
    from nodrop.run.procedure_plans import plan_procedure, plan_run
    from nodrop.run.suite import execute_procedure
    from nodrop.system.cpu_load import CpuSample

    sample = CpuSample()
    procedure = plan_procedure(sources)
    first = procedure.request_run(())
    assert first is not None
    if flags["dry_run"]:
        plan_run(sources, first)
        click.echo(procedure.describe_extent())
        return 0
    outcome = RunOutcome()
    failures: list[Failure] = []
    results: list[RunResult] = []
    with admit_runs(lambda cpus: (plan_run(sources, first, cpus),), flags, sample) as admission:
        outputs.require_writable(admission.plans)
        if not quiet:
            click.echo(f"nodrop: {procedure.describe_extent()}", err=True)

        def run(on_event: "OnEvent") -> None:
            suite = execute_procedure(procedure, lambda run: plan_run(sources, run, admission.cpus), on_event)
            failures.extend(suite.failures)
            results.extend(suite.results)

        def show() -> None:
            if outcome.suite and outcome.results:
                show_suite(outcome.suite, outcome.results, outputs)

        interrupted = monitor_runs(admission.plans[0], outputs.stream, quiet, run, outcome=outcome, show=show)
    if interrupted is not None:
        return interrupted
    if not failures and (shortfall := procedure.find_shortfall(results)):
        raise SearchError(shortfall)
    return report_failures(failures)
