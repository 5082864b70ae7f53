"""`nodrop results export`: results as tables for spreadsheets and data frames."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.completion_types import FILE, RESULT
from nodrop.cli.outputs import STDOUT, require_writable
from nodrop.cli.result_filters import asks_anything, filter_options, make_filter, place_options, say_troubles
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.export.table import Format, Table
    from nodrop.store.selection import Selected

TABLES = ("runs", "measures", "trials", "windows")


@click.command("export")
@click.argument("wanted", nargs=-1, type=RESULT, metavar="[RESULT...]")
@filter_options
@click.option("--table", "kind", type=click.Choice(TABLES), default="runs", show_default=True, help="A row for each.")
@click.option("-o", "--output", default=STDOUT, show_default=True, type=FILE, help="Where to; - is standard output.")
@click.option("--format", "form", type=click.Choice(["csv", "parquet"]), help="[default: that of the file's name, csv]")
@place_options
def command(
    wanted: tuple[str, ...],
    *,
    kind: str,
    output: str,
    form: str | None,
    results_dir: str,
    index_url: str | None,
    **flags: Any,
) -> None:
    """Write results as CSV or Parquet: all, those named, or those a filter lets through.

    \b
    nodrop results export -o runs.parquet
    nodrop results export --label nightly --table measures -o nightly.csv
    nodrop results export latest --table trials | column -t -s,
    """
    from nodrop import store
    from nodrop.export.table import written

    require_writable(output, "--output")
    content = written(_table(kind, wanted, flags, results_dir, index_url), _format(form, output))
    if output == STDOUT:
        sys.stdout.buffer.write(content)
    else:
        store.write_bytes(Path(output), content)


def _format(form: str | None, output: str) -> "Format":
    """The one that was asked for, or that of the file's name. Raises ConfigError."""
    if form in ("csv", "parquet"):
        return form  # type: ignore[return-value]
    suffix = Path(output).suffix.lower()
    if output != STDOUT and suffix not in (".csv", ".parquet"):
        raise ConfigError(f"--output: {output} asked, of an unknown kind; end it in .csv or .parquet, or say --format")
    return "parquet" if suffix == ".parquet" else "csv"


def _table(
    kind: str, wanted: tuple[str, ...], flags: dict[str, Any], results_dir: str, index_url: str | None
) -> "Table":
    from nodrop.export import table
    from nodrop.store import tags

    found = _selected(wanted, flags, results_dir, index_url)
    if kind in ("trials", "windows"):
        results = [selected.result() for selected in found]
        tables = [table.trials(each) if kind == "trials" else table.windows(each) for each in results]
        return tables[0]._replace(rows=[row for one in tables for row in one.rows])
    tagged = {selected.summary.run_id: tags.read(selected.path.parent) for selected in found}
    return (table.wide if kind == "runs" else table.long)([selected.summary for selected in found], tagged)


def _selected(
    wanted: tuple[str, ...], flags: dict[str, Any], results_dir: str, index_url: str | None
) -> "tuple[Selected, ...]":
    """What is meant, one at least. Raises ConfigError."""
    from nodrop.store.index import open_index
    from nodrop.store.selection import Selected, select

    if wanted and asks_anything(flags):
        raise ConfigError("results export: results and filters both asked; give either")
    if wanted:
        return select(wanted, results_dir, index_url)
    with open_index(results_dir, index_url) as index:
        found = tuple(Selected(row.summary, Path(row.file)) for row in index.list(make_filter(flags)))
        say_troubles(index)
    if not found:
        raise ConfigError(f"results export: nothing of that kind in {results_dir}; list: nodrop results list")
    return found
