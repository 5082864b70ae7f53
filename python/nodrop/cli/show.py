"""`nodrop show`: a stored result, printed again."""

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
@click.option("--trials", is_flag=True, help="List every trial, why the search wanted it, and what there is to doubt.")
@click.option("--host", "as_host", is_flag=True, help="Show the machine it was measured on, as it was then.")
@click.option("--json", "as_json", is_flag=True, help="Print the stored JSON.")
@format_option
@nfvbench_json_option
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Where results are kept.")
def show(result: str, trials: bool, as_host: bool, as_json: bool, results_dir: str, **flags: Any) -> None:
    """Print a stored result, nodrop's or NFVbench's.

    RESULT is a result.json, the directory it is in, a run id, `latest`, or a file that NFVbench wrote. Of several runs
    measured together, frame sizes or repeats, it is their suite.json, or its id.

    \b
    nodrop show latest --trials
    nodrop show latest --host
    nodrop show latest --json | jq .goals
    nodrop show latest --format markdown
    nodrop show latest --nfvbench-json - | jq .benchmarks
    """
    from nodrop import store
    from nodrop.cli.suite_output import render_suite
    from nodrop.report.terminal import render_result
    from nodrop.store import nfvbench, suites

    if as_host:
        _show_host(store.load(result, results_dir), as_json)
        return
    outputs = Outputs(None, flags["nfvbench_json"], flags["form"] or "text")
    if as_json and outputs.nfvbench_json == STDOUT:
        raise ConfigError("--json and --nfvbench-json -: standard output asked for both, it can hold one; name a file")
    several = suites.load(result, results_dir)
    if several:
        runs = several.results
        as_text = lambda: render_suite(*several, with_trials=trials)  # noqa: E731
        _show(outputs, runs, suites.to_results_json(*several), as_json, as_text)
        return
    theirs = nfvbench.find(result, results_dir)
    if theirs:
        _show_theirs(theirs, outputs, as_json)
        return
    stored = store.load(result, results_dir)
    _show(outputs, [stored], store.to_json(stored), as_json, lambda: render_result(stored, with_trials=trials))


def _show(
    outputs: Outputs,
    runs: "Sequence[RunResult]",
    own_json: str,
    as_json: bool,
    own: "Callable[[], RenderableType]",
) -> None:
    """Runs of our own: shown unless JSON goes to standard output, and written where that is asked for."""
    require_writable(outputs.nfvbench_json, "--nfvbench-json")
    if as_json:
        click.echo(own_json, nl=False)
    elif outputs.nfvbench_json != STDOUT:
        outputs.show(runs, own)
    if outputs.nfvbench_json:
        from nodrop.export.nfvbench import build_nfvbench_result, format_nfvbench_json

        write_json(format_nfvbench_json(build_nfvbench_result(runs)), outputs.nfvbench_json)


def _show_host(stored: "RunResult", as_json: bool) -> None:
    """The Compute Host Descriptor that the run kept."""
    from rich.console import Group

    from nodrop.cli.console import show as print_out
    from nodrop.descriptors import format_descriptor
    from nodrop.report.host.table import build_host_parts

    chd = stored.facts.chd if stored.facts else None
    if chd is None:
        raise ConfigError(
            f"--host: the machine of run {stored.run_id} asked, its result has no host descriptor; "
            "releases since this one keep one, simulated runs and runs that never came up have none"
        )
    if as_json:
        click.echo(format_descriptor(chd, "json"), nl=False)
    else:
        print_out(Group(*build_host_parts(chd)), sys.stdout)


def _show_theirs(theirs: "StoredNfvbench", outputs: Outputs, as_json: bool) -> None:
    """A file in NFVbench's form: as it is, or as tables."""
    if outputs.nfvbench_json:
        raise ConfigError(f"--nfvbench-json: {theirs.path} is in that form already; copy it")
    if as_json:
        click.echo(theirs.path.read_text(encoding="utf-8"), nl=False)
        return
    if outputs.form in ("text", "nfvbench"):
        click.echo(f"{theirs.path}: NFVbench's form, written by {theirs.writer}\n")
    print_nfvbench(theirs.result, outputs.form or "nfvbench", sys.stdout)
