"""`nodrop results export`: tables for spreadsheets and data frames."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import FILE, RESULT
from nodrop.cli.outputs import STDOUT, require_writable
from nodrop.cli.result_filters import filter_options, has_filters, make_filter, print_index_problems, store_options
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.export.table import Format, ResultTable
    from nodrop.store.selection import SelectedResult

TABLES = ("runs", "measures", "trials", "windows")


@click.command("export", short_help="Export results as CSV or Parquet.")
@click.argument("references", nargs=-1, type=RESULT, metavar="[RESULT...]")
@filter_options
@click.option("--table", "kind", type=Choice(TABLES), default="runs", show_default=True, help="Kind of rows.")
@click.option("-o", "--output", default=STDOUT, show_default=True, type=FILE, help="Output file; - is standard output.")
@click.option(
    "--format",
    "form",
    type=Choice(["csv", "parquet"]),
    help="File format.  [default: by the file name, else csv]",
)
@store_options
def command(
    references: tuple[str, ...],
    *,
    kind: str,
    output: str,
    form: str | None,
    results_dir: str,
    index_url: str | None,
    **flags: Any,
) -> None:
    """Export results as CSV or Parquet: all, named or filtered ones.

    \b
    nodrop results export -o runs.parquet
    nodrop results export --label nightly --table measures -o nightly.csv
    nodrop results export latest --table trials | column -t -s,
    """
    from nodrop import store
    from nodrop.export.table import serialize_table

    require_writable(output, "--output")
    content = serialize_table(_build_table(kind, references, flags, results_dir, index_url), _format(form, output))
    if output == STDOUT:
        sys.stdout.buffer.write(content)
    else:
        store.write_bytes(Path(output), content)


def _format(form: str | None, output: str) -> "Format":
    """Return the requested format, or that of the file name. Raises ConfigError."""
    if form in ("csv", "parquet"):
        return form  # type: ignore[return-value]
    suffix = Path(output).suffix.lower()
    if output != STDOUT and suffix not in (".csv", ".parquet"):
        raise ConfigError(f"--output: unknown format of {output}; use .csv or .parquet, or set --format")
    return "parquet" if suffix == ".parquet" else "csv"


def _build_table(
    kind: str, references: tuple[str, ...], flags: dict[str, Any], results_dir: str, index_url: str | None
) -> "ResultTable":
    from nodrop.export import table
    from nodrop.store import tags

    selection = _select_results(references, flags, results_dir, index_url)
    if kind in ("trials", "windows"):
        results = [selected.result() for selected in selection]
        tables = [
            table.build_trial_table(each) if kind == "trials" else table.build_window_table(each) for each in results
        ]
        return tables[0]._replace(rows=[row for one in tables for row in one.rows])
    tagged = {selected.summary.run_id: tags.read_tags(selected.path.parent) for selected in selection}
    return (table.build_wide_table if kind == "runs" else table.build_long_table)(
        [selected.summary for selected in selection], tagged
    )


def _select_results(
    references: tuple[str, ...], flags: dict[str, Any], results_dir: str, index_url: str | None
) -> "tuple[SelectedResult, ...]":
    """Select at least one result. Raises ConfigError."""
    from nodrop.store.index import open_index
    from nodrop.store.selection import SelectedResult, select_results

    if references and has_filters(flags):
        raise ConfigError("results export: results and filters cannot be combined")
    if references:
        return select_results(references, results_dir, index_url)
    with open_index(results_dir, index_url) as index:
        selection = tuple(SelectedResult(row.summary, Path(row.file)) for row in index.list(make_filter(flags)))
        print_index_problems(index)
    if not selection:
        raise ConfigError(f"results export: no matching results in {results_dir}; run 'nodrop results list'")
    return selection
