"""`nodrop show`: print a stored result."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.completion_types import DIR, RESULT
from nodrop.cli.outputs import (
    STDOUT,
    Outputs,
    format_option,
    nfvbench_json_option,
    print_json,
    print_nfvbench,
    require_writable,
    write_json,
)
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nodrop.model.result import RunResult
    from nodrop.store.nfvbench import StoredNfvbench


@click.command()
@click.argument("result", type=RESULT)
@click.option("--all", "all_details", is_flag=True, help="Show all findings and doubts.")
@click.option("--trials", is_flag=True, help="List every trial with its reason and doubts, too.")
@click.option("--host", "as_host", is_flag=True, help="Show the host at the time of the run.")
@click.option("--json", "as_json", is_flag=True, help="Print the stored JSON.")
@format_option
@nfvbench_json_option
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Directory of results.")
def show(result: str, trials: bool, as_host: bool, as_json: bool, results_dir: str, **flags: Any) -> None:
    """Print a stored result of nodrop or NFVbench.

    RESULT is a result.json, its directory, a run id, `latest`, or a file written by NFVbench. For several runs
    measured together (frame sizes or repeats), RESULT is their suite.json or its id.

    \b
    nodrop show latest --all
    nodrop show latest --trials
    nodrop show latest --host
    nodrop show latest --json | jq .goals
    nodrop show latest --format markdown
    nodrop show latest --nfvbench-json - | jq .benchmarks
    """
    from nodrop import store
    from nodrop.cli.suite_output import format_suite_json, render_suite
    from nodrop.report.terminal import render_result, render_screen
    from nodrop.store import nfvbench, suites

    if as_host:
        _print_host(store.load(result, results_dir), as_json)
        return
    outputs = Outputs(None, flags["nfvbench_json"], flags["form"] or "text")
    if as_json and outputs.nfvbench_json == STDOUT:
        raise ConfigError(
            "--json and --nfvbench-json -: cannot both write to standard output; give --nfvbench-json a file name"
        )
    is_screen = sys.stdout.isatty() and not (flags["all_details"] or trials)
    if stored_suite := suites.load(result, results_dir):
        content = format_suite_json(*stored_suite)
        _print_runs(
            outputs,
            stored_suite.results,
            content,
            as_json,
            lambda: render_suite(*stored_suite, with_trials=trials, is_screen=is_screen),
        )
        return
    if nfvbench_result := nfvbench.find(result, results_dir):
        _print_nfvbench_file(nfvbench_result, outputs, as_json)
        return
    stored = store.load(result, results_dir)
    _print_runs(
        outputs,
        [stored],
        store.to_json(stored),
        as_json,
        lambda: render_screen(stored) if is_screen else render_result(stored, with_trials=trials),
    )


def _print_runs(
    outputs: Outputs,
    runs: "Sequence[RunResult]",
    content: str,
    as_json: bool,
    render: "Callable[[], RenderableType]",
) -> None:
    """Print runs, unless JSON goes to standard output, and write NFVbench's JSON on request."""
    require_writable(outputs.nfvbench_json, "--nfvbench-json")
    if as_json:
        print_json(content)
    elif outputs.nfvbench_json != STDOUT:
        outputs.show(runs, render)
    if outputs.nfvbench_json:
        from nodrop.export.nfvbench import build_nfvbench_result, format_nfvbench_json

        write_json(format_nfvbench_json(build_nfvbench_result(runs)), outputs.nfvbench_json)


def _print_host(stored: "RunResult", as_json: bool) -> None:
    """Print the Compute Host Descriptor of a run."""
    from rich.console import Group

    from nodrop.cli.console import print_renderable
    from nodrop.descriptors import format_descriptor
    from nodrop.report.host.table import build_host_parts

    chd = stored.facts.chd if stored.facts else None
    if chd is None:
        raise ConfigError(
            f"--host: run {stored.run_id} has no host descriptor; simulated runs, runs that never came up and runs of "
            "earlier releases have none"
        )
    if as_json:
        print_json(format_descriptor(chd, "json"))
    else:
        print_renderable(Group(*build_host_parts(chd)), sys.stdout)


def _print_nfvbench_file(stored: "StoredNfvbench", outputs: Outputs, as_json: bool) -> None:
    """Print a file in NFVbench's form, verbatim or as tables."""
    if outputs.nfvbench_json:
        raise ConfigError(f"--nfvbench-json: {stored.path} already has that form; copy the file")
    if as_json:
        print_json(stored.path.read_text(encoding="utf-8"))
        return
    if outputs.form in ("text", "nfvbench"):
        click.echo(f"{stored.path}: NFVbench's form, written by {stored.writer}\n")
    print_nfvbench(stored.result, outputs.form or "nfvbench", sys.stdout)
