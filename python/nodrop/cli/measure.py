"""Execution of plans with progress, event sinks and output, for the commands that measure."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from nodrop.cli.outputs import Outputs

if TYPE_CHECKING:
    from nodrop.model.event import Event, OnEvent, RunDone, SuiteDone
    from nodrop.model.plan import Plan
    from nodrop.model.result import RunResult
    from nodrop.model.suite import Suite
    from nodrop.report.line_progress import LineProgress
    from nodrop.report.live_progress import LiveProgress
    from nodrop.run.cpu_choice import Admission
    from nodrop.run.execute import RunEnvironment
    from nodrop.run.suite import Failure
    from nodrop.system.cpu_load import CpuSample


@dataclass
class RunOutcome:
    """Final events of the runs so far, and the results in them."""

    run: "RunDone | None" = None
    suite: "SuiteDone | None" = None
    results: "list[RunResult]" = field(default_factory=list)

    def add(self, event: "Event") -> None:
        """Keep a final event."""
        from nodrop.model.event import RunDone, SuiteDone

        if isinstance(event, RunDone):
            self.run = event
            self.results.append(event.result)
        elif isinstance(event, SuiteDone):
            self.suite = event


def admit_runs(
    make_plans: "Callable[[Sequence[int] | None], tuple[Plan, ...]]",
    flags: "Mapping[str, Any]",
    sample: "CpuSample | None" = None,
) -> "AbstractContextManager[Admission]":
    """Make plans and hold the locks of everything they need, by the options `--alongside` and `--wait`; see `admit`."""
    from nodrop.run.cpu_choice import admit

    return admit(
        make_plans,
        lambda line: click.echo(f"nodrop: {line}", err=True),
        alongside=flags["alongside"],
        wait=flags["wait"],
        sample=sample,
    )


def measure(
    plans: "Sequence[Plan]",
    outputs: Outputs,
    quiet: bool,
    *,
    environment: "RunEnvironment | None" = None,
    epilogue: "Callable[[RunResult], str] | None" = None,
    sample: "CpuSample | None" = None,
) -> int:
    """Carry out plans, one by itself or several as a suite, and show and write the results; returns the exit code.

    Args:
        plans: one or more.
        outputs: form and destinations of the results.
        quiet: without progress.
        environment: collaborators of the runs; by default those of this machine.
        epilogue: makes a text to print after the result of a single run.
        sample: a measurement of the CPUs that has begun, for the first run on this machine.
    """
    from nodrop.analysis.expectations import require_outcome
    from nodrop.run.execute import LOCAL, execute
    from nodrop.run.suite import execute_suite

    outputs.require_writable(plans)
    if sample:
        environment = _use_sample(environment or LOCAL, sample)
    outcome = RunOutcome()
    failures: list[Failure] = []

    def run(on_event: "OnEvent") -> None:
        if len(plans) == 1:
            execute(plans[0], on_event, environment)
        else:
            failures.extend(execute_suite(plans, on_event, environment).failures)

    def show() -> None:
        if outcome.suite:
            show_suite(outcome.suite, outcome.results, outputs)
        elif outcome.run and len(plans) == 1:
            _show_run(outcome.run, outputs)
            if epilogue:
                click.echo(epilogue(outcome.run.result), file=outputs.stream)

    interrupted = monitor_runs(plans[0], outputs.stream, quiet, run, outcome=outcome, show=show)
    if interrupted is not None:
        return interrupted
    if len(plans) == 1:
        require_outcome(outcome.results[0])
    return report_failures(failures)


class MeasuredSuite(NamedTuple):
    """A suite that was measured."""

    suite: "Suite | None"
    """None if it was interrupted before the first result."""
    results: "tuple[RunResult, ...]"
    exit_code: int
    """That of the interruption or of the first failure."""

    @property
    def has_both_variants(self) -> bool:
        """Whether there is a complete run of A and one of B."""
        from nodrop.model.result import Status

        runs = self.suite.runs if self.suite else ()
        return {"A", "B"} <= {run.variant for run in runs if run.status is Status.COMPLETE}


def measure_suite(
    plans: "Sequence[Plan]", out: TextIO, quiet: bool, sample: "CpuSample | None" = None
) -> MeasuredSuite:
    """Carry out plans as a suite with progress, report failures and the path of the suite, but show no result.

    Args:
        plans: two or more.
        out: stream of the progress and the path.
        quiet: without progress.
        sample: a measurement of the CPUs that has begun, for the first run.
    """
    from nodrop.run.execute import LOCAL
    from nodrop.run.suite import execute_suite

    environment = _use_sample(LOCAL, sample) if sample else LOCAL
    outcome = RunOutcome()
    failures: list[Failure] = []

    def show() -> None:
        if outcome.suite and outcome.suite.path:
            click.echo(f"results: {outcome.suite.path}", file=out)

    def run(on_event: "OnEvent") -> None:
        failures.extend(execute_suite(plans, on_event, environment).failures)

    interrupted = monitor_runs(plans[0], out, quiet, run, outcome=outcome, show=show)
    suite = outcome.suite.suite if outcome.suite and outcome.results else None
    exit_code = report_failures(failures) if interrupted is None else interrupted
    return MeasuredSuite(suite, tuple(outcome.results), exit_code)


def _use_sample(environment: "RunEnvironment", sample: "CpuSample") -> "RunEnvironment":
    """Return the environment with a measurement of the CPUs that has begun, for its first run."""
    from nodrop.system.cpu_load import CpuSample

    samples = itertools.chain([sample], iter(CpuSample, None))
    return environment._replace(begin_cpu_sample=lambda: next(samples))


def report_failures(failures: "Sequence[Failure]") -> int:
    """Print the failures of a suite; return the exit code of the first, or 0."""
    for failure in failures:
        click.echo(f"nodrop: error: frame size {failure.name}: {failure.error}", err=True)
    return failures[0].error.exit_code if failures else 0


def monitor_runs(
    plan: "Plan",
    out: TextIO,
    quiet: bool,
    run: "Callable[[OnEvent], None]",
    *,
    outcome: RunOutcome,
    show: Callable[[], None],
    interrupt_note: str = "",
) -> int | None:
    """Run with progress and event sinks, and show the outcome however the runs end.

    Args:
        plan: names the event sinks.
        out: stream of the progress.
        quiet: without progress.
        run: carries out the runs.
        outcome: collects the final events.
        show: shows the outcome.
        interrupt_note: added to the message of an interruption.

    Returns: the exit code of an interruption; None if the runs came to their end.
    """
    from nodrop.run.event_sinks import open_sinks
    from nodrop.system.signals import interruptible

    with open_sinks(plan, _warn) as dispatch, interruptible() as interruption:
        try:
            with open_progress(out, quiet) as progress:

                def handle(event: "Event") -> None:
                    progress.handle(event)
                    dispatch(event)
                    outcome.add(event)

                run(handle)
        except KeyboardInterrupt as interrupt:
            _warn(f"{interrupt or 'stopped'}{interrupt_note}")
            return interruption.exit_code
        finally:
            show()
    return None


def _warn(message: str) -> None:
    click.echo(f"nodrop: {message}", err=True)


def open_progress(out: TextIO, quiet: bool) -> "LineProgress | LiveProgress":
    """Return the progress display: live on a terminal, otherwise in lines; none if quiet."""
    from nodrop.cli.console import make_console
    from nodrop.report.line_progress import LineProgress, NoProgress
    from nodrop.report.live_progress import LiveProgress

    if quiet:
        return NoProgress(out)
    screen = make_console(out)
    return LiveProgress(screen) if out.isatty() and not screen.is_dumb_terminal else LineProgress(out)


def _show_run(done: "RunDone", outputs: Outputs) -> None:
    """Print the report, if there are trials, and the path of the result; write the output files."""
    from nodrop import store
    from nodrop.formatting import describe_capture
    from nodrop.report.terminal import render_result, render_screen

    out = outputs.stream
    is_screen = out.isatty() and not outputs.is_verbose  # logs get everything
    render = render_screen if is_screen else render_result
    if done.result.trials or done.result.plan.no_traffic:
        click.echo(file=out)
        outputs.show([done.result], lambda: render(done.result))
    if done.path:
        click.echo(f"{'' if is_screen else chr(10)}result: {done.path}", file=out)
    for trial in done.result.trials:
        if trial.capture:
            click.echo(describe_capture(trial), file=out)
    outputs.write([done.result], store.to_json(done.result))


def show_suite(done: "SuiteDone", results: "Sequence[RunResult]", outputs: Outputs) -> None:
    """Print the summary and the reports of the runs; write the output files."""
    from nodrop.cli.suite_output import format_suite_json, render_suite

    click.echo(file=outputs.stream)
    is_screen = outputs.stream.isatty() and not outputs.is_verbose
    outputs.show(results, lambda: render_suite(done.suite, results, is_screen=is_screen))
    if done.path:
        click.echo(f"\nresults: {done.path}", file=outputs.stream)
    outputs.write(results, format_suite_json(done.suite, results))
