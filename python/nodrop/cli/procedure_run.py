"""Options and execution of a test procedure, for the commands of `nodrop test`."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.completion_types import DIR, FILE, SETTING
from nodrop.cli.outputs import Outputs
from nodrop.cli.search_options import lock_options, parse_settings
from nodrop.errors import FailOnError, SearchError

if TYPE_CHECKING:
    from nodrop.model.event import OnEvent
    from nodrop.model.result import RunResult
    from nodrop.run.suite import Failure

KEYS = ("sut", "ports", "results_dir")
"""Arguments of every command that set the key of the same name."""


def procedure_options(default_sut: str) -> Callable[..., Any]:
    """Return a decorator that adds the options of all procedures."""

    def add_options(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in _list_options(default_sut):
            function = option(function)
        return function

    return add_options


def _list_options(default_sut: str) -> tuple[Callable[..., Any], ...]:
    return (
        lock_options,
        click.option("-q", "--quiet", is_flag=True, help="Print the result only."),
        click.option("--json", "json_file", type=FILE, help="Write the results as JSON; - is standard output."),
        click.option("--results-dir", type=DIR, help="Directory of results.  [default: results]"),
        click.option("--dry-run", is_flag=True, help="Only show the runs."),
        click.option(
            "--set", "settings", type=SETTING, multiple=True, help="Set a configuration key, e.g. frame_bytes=128."
        ),
        click.option("--ports", metavar="LEFT,RIGHT", help="Interfaces connected to an external SUT (--sut ext)."),
        click.option("--sut", help=f"System under test.  [default: {default_sut}]"),
        click.option("-c", "--config", "files", type=FILE, multiple=True, help="YAML or JSON file, or inline YAML."),
    )


def measure_procedure(name: str, values: "Mapping[str, Any]", flags: "Mapping[str, Any]") -> int:
    """Carry out a procedure, show and write its results; returns the exit code.

    Args:
        name: of the procedure.
        values: of the procedure's own options, by configuration key; None: not given.
        flags: those of `procedure_options`.

    Raises: SearchError if the runs give no answer; FailOnError if their verdict is `fail`; ConfigError and StageError
        before the first run.
    """
    from nodrop.cli.measure import RunOutcome, admit_runs, monitor_runs, report_failures, show_suite
    from nodrop.run.procedure_plans import ProcedureSources, plan_procedure, plan_run
    from nodrop.run.suite import execute_procedure
    from nodrop.simulation.duration_estimate import estimate_duration
    from nodrop.system.cpu_load import CpuSample

    sample = CpuSample()
    outputs, quiet = Outputs(flags["json_file"]), flags["quiet"]
    values = {**values, **{key: flags[key] for key in KEYS}}
    overrides = {key: value for key, value in values.items() if value is not None}
    sources = ProcedureSources(name, flags["files"], overrides | parse_settings(flags["settings"], "frame_bytes=128"))
    procedure = plan_procedure(sources)
    first, *_ = samples = procedure.list_samples()
    for sample_run in samples:
        plan_run(sources, sample_run)
    extent = procedure.describe_extent()
    if expected := procedure.list_expected_runs():
        extent += f"; {estimate_duration([plan_run(sources, run) for run in expected]).text}"
    if flags["dry_run"]:
        click.echo(extent)
        return 0
    outcome = RunOutcome()
    failures: list[Failure] = []
    results: list[RunResult] = []
    with admit_runs(lambda cpus: (plan_run(sources, first, cpus),), flags, sample) as admission:
        outputs.require_writable(admission.plans)
        if not quiet:
            click.echo(f"nodrop: {extent}", err=True)

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
    if not failures and (failure := procedure.find_failure(results)):
        raise FailOnError(failure)
    return report_failures(failures)
