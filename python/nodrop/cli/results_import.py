"""`nodrop results import`: results of other testers."""

import click

from nodrop.cli.completion_types import FILE
from nodrop.cli.result_filters import store_options


@click.command("import", short_help="Import results of NFVbench or TRex.")
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Tag for the results.")
@store_options
def command(files: tuple[str, ...], tags: tuple[str, ...], results_dir: str, index_url: str | None) -> None:
    """Import results of NFVbench (--json) and of TRex's ndr tool, to list, compare and trend them.

    The files are stored unchanged. Importing the same file again gives the same id.
    """
    from nodrop import store
    from nodrop.report.listing import format_listed_measure
    from nodrop.store.imported import import_file
    from nodrop.store.index import open_index
    from nodrop.store.tags import validate_tag

    for tag in tags:
        validate_tag(tag)
    store.require_writable(results_dir)
    with open_index(results_dir, index_url) as index:
        for file in files:
            imported = import_file(file, results_dir)
            index.refresh()
            if tags:
                index.tag(imported.run_id, add=tags)
            click.echo(f"{file}: {'imported' if imported.is_new else 'already imported'} as {imported.run_id}")
            for summary in imported.summaries:
                figures = ", ".join(f"{each.text} {format_listed_measure(each)}" for each in summary.measures[:2])
                click.echo(f"  {summary.path} {summary.frame_size}: {figures or 'no figures'}")
                for line in (*filter(None, [summary.error]), *summary.doubts):
                    click.echo(f"    {line}")
