"""`nodrop results`: what was measured so far, found again, named, checked, handed on and taken in."""

import contextlib
import gc
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.completion_types import RESULT
from nodrop.cli.result_filters import filter_options, make_filter, place_options, say_troubles
from nodrop.errors import ConfigError, NodropError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodrop.model.summary import Row

COMMANDS = ("list", "show", "tag", "rm", "verify", "rebuild", "export", "import")
MODULES = {"rm": "results_rm", "export": "results_export", "import": "results_import"}
"""Commands that are in files of their own."""
SHOWN = 50


class ResultsGroup(click.Group):
    """Commands in the order they are needed, each loaded when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All of them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in MODULES:
            return super().get_command(ctx, cmd_name)
        command = importlib.import_module(f"nodrop.cli.{MODULES[cmd_name]}").command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=ResultsGroup, short_help="List, find, tag, check and export results.")
def results() -> None:
    """Everything that was measured: find it again, name it, check it, hand it on.

    Each result is a file, results/<run id>/result.json, which is never written again. They are looked up in an index
    that is made from these files and mends itself.

    A RESULT is a file, a directory, a run id, the id of a suite, `latest`, `label:NAME` or `tag:NAME`; several may be
    joined by commas.
    """


@results.command("list")
@filter_options
@click.option(
    "--sort", default="newest", show_default=True, metavar="KEY", help="newest, oldest, label, sut, host, ndr, ..."
)
@click.option("--limit", type=click.IntRange(min=0), default=SHOWN, show_default=True, metavar="N", help="0: all.")
@click.option("--everywhere", is_flag=True, help="Also results in other directories, where the database has them.")
@click.option("--format", "form", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True)
@place_options
def list_results(form: str, limit: int, results_dir: str, index_url: str | None, **flags: Any) -> None:
    """List results, newest first.

    \b
    nodrop results list --label nightly --since 7d
    nodrop results list --sut 'vnf-l2*' --frame-size 64 --sort ndr
    nodrop results list --tag good --limit 0 --format csv
    """
    from nodrop.store.index import open_index

    wanted = make_filter(flags, limit=limit or None)
    with _no_garbage(), open_index(results_dir, index_url) as index:
        rows = index.list(wanted)
        count = len(rows) if not limit or len(rows) < limit else index.count(wanted)
        say_troubles(index)
        click.echo("".join(f"{line}\n" for line in _lines(rows, form)), nl=False)
    if form == "text" and count > len(rows):
        click.echo(f"\n{len(rows)} of {count:,}; --limit 0 for all", err=True)
    if not rows and form == "text":
        click.echo(f"nothing of that kind in {results_dir}; measure first: nodrop run", err=True)


@contextlib.contextmanager
def _no_garbage() -> "Iterator[None]":
    """Thousands of rows are made and none thrown away: looking for garbage would take a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _lines(rows: "Sequence[Row]", form: str) -> "Iterator[str]":
    if form == "text":
        from shutil import get_terminal_size

        from nodrop.report.listing import WIDTH, listing

        if rows:
            yield from listing(rows, get_terminal_size((WIDTH, 0)).columns if sys.stdout.isatty() else WIDTH)
    elif form == "json":
        yield "[" + ",\n ".join(row.model_dump_json() for row in rows) + "]"
    else:
        from nodrop.export.table import to_csv, wide

        tags = {row.summary.run_id: row.tags for row in rows}
        yield to_csv(wide([row.summary for row in rows], tags)).rstrip("\n")


@results.command()
@click.argument("result", type=RESULT)
@click.option("--trials", is_flag=True, help="List every trial, why the search wanted it, and what there is to doubt.")
@click.option("--json", "as_json", is_flag=True, help="Print the stored file.")
@place_options
@click.pass_context
def show(
    context: click.Context, *, result: str, trials: bool, as_json: bool, results_dir: str, index_url: str | None
) -> None:
    """Print a result, whoever measured it, with its tags and whether it is as it was written."""
    from nodrop.cli.show import show as show_one
    from nodrop.report.listing import summary_lines
    from nodrop.store import checksums, suites, tags
    from nodrop.store.selection import select

    if suites.look_up(result, results_dir):
        context.invoke(show_one, result=result, trials=trials, as_json=as_json, results_dir=results_dir, form="text")
        return
    found = select([result], results_dir, index_url)
    if as_json:
        for path in dict.fromkeys(selected.path for selected in found):
            click.echo(path.read_text(encoding="utf-8"), nl=False)
        return
    for selected in found:
        for line in summary_lines(
            selected.summary, tags.read(selected.path.parent), checksums.check(selected.path).text
        ):
            click.echo(line)
        if selected.summary.source == "nodrop":
            click.echo()
            context.invoke(show_one, result=str(selected.path), trials=trials, results_dir=results_dir, form="text")


@results.command(context_settings={"ignore_unknown_options": True})
@click.argument("result", type=RESULT)
@click.argument("changes", nargs=-1, metavar="+TAG|-TAG...")
@place_options
def tag(result: str, changes: tuple[str, ...], results_dir: str, index_url: str | None) -> None:
    """Give results tags, take some from them, or say which they have.

    \b
    nodrop results tag latest +good +release-1.4
    nodrop results tag label:nightly -good
    """
    from nodrop.store.index import open_index
    from nodrop.store.selection import select

    odd = next((change for change in changes if change[0] not in "+-" or len(change) < 2), None)
    if odd:
        raise ConfigError(f"tag {odd!r} asked, + or - before a tag expected; write +{odd.strip('+-') or 'good'}")
    add, remove = ([change[1:] for change in changes if change[0] == sign] for sign in "+-")
    names = dict.fromkeys(selected.path.parent for selected in select([result], results_dir, index_url))
    with open_index(results_dir, index_url) as index:
        for directory in names:
            if directory.parent.absolute() != Path(results_dir).absolute():
                raise ConfigError(f"{directory}: its tags asked, it is not in {results_dir}; give its --results-dir")
            now = index.tag(directory.name, add, remove)
            click.echo(f"{directory.name}: {' '.join(now) or 'no tags'}")


@results.command()
@click.argument("wanted", nargs=-1, type=RESULT, metavar="[RESULT...]")
@place_options
def verify(wanted: tuple[str, ...], results_dir: str, index_url: str | None) -> int:
    """Say which results are not as they were written: changed, or missing. By default all are checked.

    Exit code 1 when there is one. Results of releases that kept no hash are said to be not hashed.
    """
    from nodrop.store.verification import verified

    checked = list(verified(wanted, results_dir, index_url))
    bad = [each for each in checked if each.state in ("altered", "missing")]
    for each in checked:
        if each.state != "intact":
            click.echo(each.text, err=each in bad)
    intact = sum(each.state == "intact" for each in checked)
    click.echo(f"{intact} of {len(checked)} results are as they were written")
    return NodropError.exit_code if bad else 0


@results.command()
@place_options
def rebuild(results_dir: str, index_url: str | None) -> None:
    """Make the index anew from the files. It mends itself otherwise; this is for when it is doubted."""
    import time

    from nodrop.store.index import open_index

    begin_s = time.monotonic()
    with open_index(results_dir, index_url, mend=False) as index:
        count = index.rebuild().taken_count
        say_troubles(index)
    click.echo(f"{count:,} results read in {time.monotonic() - begin_s:.1f} s", file=sys.stdout)
