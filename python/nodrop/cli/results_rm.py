"""`nodrop results rm`: permanent deletion of results."""

import sys
from pathlib import Path
from typing import Any

import click

from nodrop.cli.completion_types import RESULT
from nodrop.cli.result_filters import filter_options, has_filters, make_filter, store_options
from nodrop.errors import ConfigError
from nodrop.units import format_count


@click.command("rm", short_help="Delete results.")
@click.argument("references", nargs=-1, type=RESULT, metavar="[RESULT...]")
@filter_options
@click.option("--dry-run", is_flag=True, help="Only list the results to delete.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@store_options
def command(
    references: tuple[str, ...], dry_run: bool, yes: bool, results_dir: str, index_url: str | None, **flags: Any
) -> int:
    """Delete results permanently, with their directories, after confirmation.

    Deletes the named or the filtered results. Their suites record the deletion.

    \b
    nodrop results rm 20260131T120000Z-3f9a2c
    nodrop results rm --status failed --until 30d --dry-run
    """
    from nodrop.store.deletion import delete_results
    from nodrop.store.index import open_index

    with open_index(results_dir, index_url) as index:
        names = _list_directories(references, flags, Path(results_dir), index_url)
        for name in names:
            click.echo(f"{'would delete' if dry_run else 'to delete'}: {Path(results_dir) / name}")
        if dry_run or not names or not _is_confirmed(len(names), yes):
            return 0
        delete_results(names, Path(results_dir))
        index.refresh()
    click.echo(f"{len(names)} deleted")
    return 0


def _list_directories(
    references: tuple[str, ...], flags: dict[str, Any], results_dir: Path, index_url: str | None
) -> list[str]:
    """Return the directories of the selected results. Raises ConfigError."""
    from nodrop.store.index import open_index
    from nodrop.store.selection import select_results

    if bool(references) == has_filters(flags):
        raise ConfigError("results rm: give either results or filters; see 'nodrop results rm --help'")
    if references:
        files = [selected.path for selected in select_results(references, results_dir, index_url)]
    else:
        with open_index(results_dir, index_url) as index:
            files = [Path(row.file) for row in index.list(make_filter(flags))]
    for file in files:
        if file.parent.parent.absolute() != results_dir.absolute():
            raise ConfigError(f"{file} is not in {results_dir}; set --results-dir")
    return list(dict.fromkeys(file.parent.name for file in files))


def _is_confirmed(count: int, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise ConfigError(f"results rm: cannot ask for confirmation without a terminal ({count} to delete); use --yes")
    return click.confirm(f"Permanently delete {format_count(count, 'result')}?")
