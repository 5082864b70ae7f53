"""A plan carried out and shown, for the commands that measure."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

import click

from nodrop.cli.outputs import Outputs

if TYPE_CHECKING:
    from nodrop.model.event import Event, RunDone, SuiteDone
    from nodrop.model.plan import Plan
    from nodrop.model.result import RunResult
    from nodrop.report.line_progress import LineProgress
    from nodrop.report.live_progress import LiveProgress
    from nodrop.run.execute import RunEnvironment
    from nodrop.run.suite import SuiteOutcome


def measure(
    plan: "Plan",
    outputs: Outputs,
    quiet: bool,
    parts: "RunEnvironment | None" = None,
    epilogue: "Callable[[RunResult], str] | None" = None,
) -> int:
    """Run, show, store; gives the exit code.

    Args:
        plan: what to do.
        outputs: how to show the result, and where to write it besides.
        quiet: whether to leave out the progress.
        parts: what to run it with, if not with a lab and the packet engine.
        epilogue: what else to say of the result, at the end.
    """
    from nodrop.model.event import RunDone
    from nodrop.run.event_sinks import open_sinks
    from nodrop.run.execute import execute
    from nodrop.search.goal_results import require_goal_loads
    from nodrop.system.signals import interruptible

    outputs.require_writable([plan])
    out = outputs.stream
    done: list[RunDone] = []
    with open_sinks(plan, _warn) as tell, interruptible() as interruption:
        try:
            with open_progress(out, quiet) as progress:

                def hear(event: "Event") -> None:
                    progress.hear(event)
                    tell(event)
                    if isinstance(event, RunDone):
                        done.append(event)

                execute(plan, hear, parts)
        except KeyboardInterrupt as interrupt:
            click.echo(f"nodrop: {interrupt or 'stopped'}", err=True)
            return interruption.exit_code
        finally:
            if done:
                _show(done[0], outputs)
                if epilogue:
                    click.echo(epilogue(done[0].result), file=out)
    require_goal_loads(done[0].result)
    return 0


def measure_each(plans: "Sequence[Plan]", outputs: Outputs, quiet: bool, parts: "RunEnvironment | None" = None) -> int:
    """Carry out one plan after the other, and show what came of all; gives the exit code.

    Args:
        plans: what to do.
        outputs: how to show the results, and where to write them besides.
        quiet: whether to leave out the progress.
        parts: what to run them with, if not with a lab and the packet engine.
    """
    if len(plans) == 1:
        return measure(plans[0], outputs, quiet, parts)
    from nodrop.model.event import RunDone, SuiteDone
    from nodrop.run.event_sinks import open_sinks
    from nodrop.run.suite import execute_suite
    from nodrop.system.signals import interruptible

    outputs.require_writable(plans)
    out = outputs.stream
    results: list[RunResult] = []
    over: list[SuiteDone] = []
    with open_sinks(plans[0], _warn) as tell, interruptible() as interruption:
        try:
            with open_progress(out, quiet) as progress:

                def hear(event: "Event") -> None:
                    progress.hear(event)
                    tell(event)
                    if isinstance(event, RunDone):
                        results.append(event.result)
                    if isinstance(event, SuiteDone):
                        over.append(event)

                outcome = execute_suite(plans, hear, parts)
        except KeyboardInterrupt as interrupt:
            click.echo(f"nodrop: {interrupt or 'stopped'}", err=True)
            return interruption.exit_code
        finally:
            if over:
                _show_suite(over[0], results, outputs)
    return _suite_exit_code(outcome)


def _suite_exit_code(outcome: "SuiteOutcome") -> int:
    """That of the first run that failed; each is named."""
    for failure in outcome.failures:
        click.echo(f"nodrop: error: frame size {failure.name}: {failure.error}", err=True)
    return outcome.failures[0].error.exit_code if outcome.failures else 0


def _warn(sentence: str) -> None:
    click.echo(f"nodrop: {sentence}", err=True)


def open_progress(out: TextIO, quiet: bool) -> "LineProgress | LiveProgress":
    """How events are shown: drawn on a terminal, in lines elsewhere, not at all if quiet."""
    from nodrop.cli.console import console
    from nodrop.report.line_progress import LineProgress, NoProgress
    from nodrop.report.live_progress import LiveProgress

    if quiet:
        return NoProgress(out)
    screen = console(out)
    return LiveProgress(screen) if out.isatty() and not screen.is_dumb_terminal else LineProgress(out)


def _show(done: "RunDone", outputs: Outputs) -> None:
    """The report, unless there is nothing to report; the file; the JSON."""
    from nodrop import store
    from nodrop.formatting import describe_capture
    from nodrop.report.terminal import render_result

    out = outputs.stream
    if done.result.trials or done.result.plan.no_traffic:
        click.echo(file=out)
        outputs.show([done.result], lambda: render_result(done.result))
    if done.path:
        click.echo(f"\nresult: {done.path}", file=out)
    for trial in done.result.trials:
        if trial.capture:
            click.echo(describe_capture(trial), file=out)
    outputs.write([done.result], store.to_json(done.result))


def _show_suite(over: "SuiteDone", results: "Sequence[RunResult]", outputs: Outputs) -> None:
    """The summary and every run's report; the files; the JSON."""
    from nodrop.cli.suite_output import render_suite
    from nodrop.store import suites

    click.echo(file=outputs.stream)
    outputs.show(results, lambda: render_suite(over.suite, results))
    if over.path:
        click.echo(f"\nresults: {over.path}", file=outputs.stream)
    outputs.write(results, suites.to_results_json(over.suite, results))
