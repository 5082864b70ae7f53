"""`nodrop results`: list, show, tag, verify, delete, export and import results."""

import contextlib
import gc
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import RESULT
from nodrop.cli.result_filters import filter_options, make_filter, print_index_problems, store_options
from nodrop.errors import ConfigError, NodropError
from nodrop.system.output_encoding import escape_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodrop.model.summary import ResultRow

COMMANDS = ("list", "show", "tag", "rm", "verify", "rebuild", "export", "import")
MODULES = {"rm": "results_rm", "export": "results_export", "import": "results_import"}
"""Commands in their own files."""
DEFAULT_LIMIT = 50


class ResultsGroup(click.Group):
    """Lists the commands in a fixed order and imports some of them on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, imported if necessary."""
        if cmd_name not in MODULES:
            return super().get_command(ctx, cmd_name)
        command = importlib.import_module(f"nodrop.cli.{MODULES[cmd_name]}").command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=ResultsGroup, short_help="Manage stored results.")
def results() -> None:
    """List, tag, verify, delete, export and import stored results.

    Each result is a file, results/<run id>/result.json, that is never rewritten. Searches use an index, which nodrop
    derives from these files and updates by itself.

    A RESULT is a file, a directory, a run id, the id of a suite, `latest`, `label:NAME` or `tag:NAME`; separate several
    by commas.
    """


@results.command("list")
@filter_options
@click.option(
    "--sort",
    default="newest",
    show_default=True,
    metavar="KEY",
    help="Order: newest, oldest, label, sut, host, or a metric, e.g. ndr.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=DEFAULT_LIMIT,
    show_default=True,
    metavar="N",
    help="Number of results; 0: all.",
)
@click.option("--everywhere", is_flag=True, help="Include results of other directories in the database.")
@click.option("--format", "form", type=Choice(["text", "json", "csv"]), default="text", show_default=True)
@store_options
def list_results(form: str, limit: int, results_dir: str, index_url: str | None, **flags: Any) -> None:
    """List results, newest first.

    \b
    nodrop results list --label nightly --since 7d
    nodrop results list --sut 'vnf-l2*' --frame-size 64 --sort ndr
    nodrop results list --tag good --limit 0 --format csv
    """
    from nodrop.store.index import open_index

    criteria = make_filter(flags, limit=limit or None)
    with _without_gc(), open_index(results_dir, index_url) as index:
        rows = index.list(criteria)
        count = len(rows) if not limit or len(rows) < limit else index.count(criteria)
        print_index_problems(index)
        click.echo("".join(f"{line}\n" for line in _format_lines(rows, form)), nl=False)
    if form == "text" and count > len(rows):
        click.echo(f"\n{len(rows)} of {count:,}; --limit 0 for all", err=True)
    if not rows and form == "text":
        click.echo(f"no matching results in {results_dir}", err=True)


@contextlib.contextmanager
def _without_gc() -> "Iterator[None]":
    """Disable the garbage collector: it would take a third of the time for thousands of rows, none of them garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _format_lines(rows: "Sequence[ResultRow]", form: str) -> "Iterator[str]":
    if form == "text":
        from shutil import get_terminal_size

        from nodrop.report.listing import WIDTH, format_listing

        if rows:
            yield from format_listing(rows, get_terminal_size((WIDTH, 0)).columns if sys.stdout.isatty() else WIDTH)
    elif form == "json":
        yield escape_json("[" + ",\n ".join(row.model_dump_json() for row in rows) + "]", sys.stdout)
    else:
        from nodrop.export.table import build_wide_table, to_csv

        tags = {row.summary.run_id: row.tags for row in rows}
        yield to_csv(build_wide_table([row.summary for row in rows], tags)).rstrip("\n")


@results.command()
@click.argument("result", type=RESULT)
@click.option("--trials", is_flag=True, help="List every trial with its reason and doubts.")
@click.option("--json", "as_json", is_flag=True, help="Print the stored file.")
@store_options
@click.pass_context
def show(
    context: click.Context, *, result: str, trials: bool, as_json: bool, results_dir: str, index_url: str | None
) -> None:
    """Print a result of nodrop or another tool, with its tags and integrity."""
    from nodrop.cli.show import show as show_one
    from nodrop.report.listing import format_summary
    from nodrop.store import checksums, suites, tags
    from nodrop.store.selection import select_results

    if suites.locate(result, results_dir):
        context.invoke(show_one, result=result, trials=trials, as_json=as_json, results_dir=results_dir, form="text")
        return
    selection = select_results([result], results_dir, index_url)
    if as_json:
        for path in dict.fromkeys(selected.path for selected in selection):
            click.echo(path.read_text(encoding="utf-8"), nl=False)
        return
    for selected in selection:
        for line in format_summary(
            selected.summary, tags.read_tags(selected.path.parent), checksums.check_file(selected.path).text
        ):
            click.echo(line)
        if selected.summary.source == "nodrop":
            click.echo()
            context.invoke(show_one, result=str(selected.path), trials=trials, results_dir=results_dir, form="text")


@results.command(context_settings={"ignore_unknown_options": True})
@click.argument("result", type=RESULT)
@click.argument("changes", nargs=-1, metavar="+TAG|-TAG...")
@store_options
def tag(result: str, changes: tuple[str, ...], results_dir: str, index_url: str | None) -> None:
    """Add, remove or list tags of results.

    \b
    nodrop results tag latest +good +release-1.4
    nodrop results tag label:nightly -good
    """
    from nodrop.store.index import open_index
    from nodrop.store.selection import select_results

    invalid = next((change for change in changes if change[0] not in "+-" or len(change) < 2), None)
    if invalid:
        raise ConfigError(f"tag {invalid!r}: expected + or - and a tag; use e.g. +{invalid.strip('+-') or 'good'}")
    add, remove = ([change[1:] for change in changes if change[0] == sign] for sign in "+-")
    names = dict.fromkeys(selected.path.parent for selected in select_results([result], results_dir, index_url))
    with open_index(results_dir, index_url) as index:
        for directory in names:
            if directory.parent.absolute() != Path(results_dir).absolute():
                raise ConfigError(f"{directory} is not in {results_dir}; set --results-dir")
            now = index.tag(directory.name, add, remove)
            click.echo(f"{directory.name}: {' '.join(now) or 'no tags'}")


@results.command()
@click.argument("references", nargs=-1, type=RESULT, metavar="[RESULT...]")
@store_options
def verify(references: tuple[str, ...], results_dir: str, index_url: str | None) -> int:
    """Verify the integrity of results, by default of all.

    Exits with status 1 if a result was changed or is missing. Results of releases without hashes are listed as not
    hashed.
    """
    from nodrop.store.verification import verify_results

    checked = list(verify_results(references, results_dir, index_url))
    bad = [each for each in checked if each.state in ("altered", "missing")]
    for each in checked:
        if each.state != "intact":
            click.echo(each.text, err=each in bad)
    intact = sum(each.state == "intact" for each in checked)
    click.echo(f"{intact} of {len(checked)} results are intact")
    return NodropError.exit_code if bad else 0


@results.command()
@store_options
def rebuild(results_dir: str, index_url: str | None) -> None:
    """Rebuild the index from the files; normally nodrop updates it by itself."""
    import time

    from nodrop.store.index import open_index

    begin_s = time.monotonic()
    with open_index(results_dir, index_url, refresh=False) as index:
        count = index.rebuild().read_count
        print_index_problems(index)
    click.echo(f"{count:,} results read in {time.monotonic() - begin_s:.1f} s", file=sys.stdout)
