"""`nodrop results rm`: results taken away for good."""

import sys
from pathlib import Path
from typing import Any

import click

from nodrop.cli.completion_types import RESULT
from nodrop.cli.result_filters import asks_anything, filter_options, make_filter, place_options
from nodrop.errors import ConfigError


@click.command("rm")
@click.argument("wanted", nargs=-1, type=RESULT, metavar="[RESULT...]")
@filter_options
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@place_options
def command(
    wanted: tuple[str, ...], dry_run: bool, yes: bool, results_dir: str, index_url: str | None, **flags: Any
) -> int:
    """Remove results for good, with everything in their directories. Asks before it does.

    Those that are named, or all that a filter lets through. A suite that had one of them says so from then on.

    \b
    nodrop results rm 20260131T120000Z-3f9a2c
    nodrop results rm --status failed --until 30d --dry-run
    """
    from nodrop.store.deletion import remove
    from nodrop.store.index import open_index

    with open_index(results_dir, index_url) as index:
        names = _names(wanted, flags, Path(results_dir), index_url)
        for name in names:
            click.echo(f"{'would remove' if dry_run else 'to be removed'}: {Path(results_dir) / name}")
        if dry_run or not names or not _is_sure(len(names), yes):
            return 0
        remove(names, Path(results_dir))
        index.mend()
    click.echo(f"{len(names)} removed")
    return 0


def _names(wanted: tuple[str, ...], flags: dict[str, Any], results_dir: Path, index_url: str | None) -> list[str]:
    """Directories of what is meant. Raises ConfigError."""
    from nodrop.store.index import open_index
    from nodrop.store.selection import select

    if bool(wanted) == asks_anything(flags):
        raise ConfigError("results rm: results or filters expected, and not both; see nodrop results rm --help")
    if wanted:
        files = [selected.path for selected in select(wanted, results_dir, index_url)]
    else:
        with open_index(results_dir, index_url) as index:
            files = [Path(row.file) for row in index.list(make_filter(flags))]
    for file in files:
        if file.parent.parent.absolute() != results_dir.absolute():
            raise ConfigError(f"{file}: asked to be removed, it is not in {results_dir}; give its --results-dir")
    return list(dict.fromkeys(file.parent.name for file in files))


def _is_sure(count: int, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise ConfigError(f"results rm: {count} to be removed, and nobody can be asked here; say --yes")
    return click.confirm(f"Remove {count} result{'s' if count > 1 else ''} for good?")
