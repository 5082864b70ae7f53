"""`nodrop results import`: results of other testers, taken in among ours."""

import click

from nodrop.cli.completion_types import FILE
from nodrop.cli.result_filters import place_options


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Give them this tag.")
@place_options
def command(files: tuple[str, ...], tags: tuple[str, ...], results_dir: str, index_url: str | None) -> None:
    """Take in results of NFVbench (--json) and of TRex's ndr tool, to list, compare and follow them beside ours.

    Each file is kept as it is. The same file is known by the same id, however often it comes.
    """
    from nodrop import store
    from nodrop.report.listing import figure_text
    from nodrop.store.imported import take
    from nodrop.store.index import open_index
    from nodrop.store.tags import require_tag

    for tag in tags:
        require_tag(tag)
    store.require_writable(results_dir)
    with open_index(results_dir, index_url) as index:
        for file in files:
            taken = take(file, results_dir)
            index.mend()
            if tags:
                index.tag(taken.run_id, add=tags)
            click.echo(f"{file}: {'taken in' if taken.is_new else 'there already'} as {taken.run_id}")
            for summary in taken.summaries:
                figures = ", ".join(f"{each.text} {figure_text(each)}" for each in summary.measures[:2])
                click.echo(f"  {summary.path} {summary.frame_size}: {figures or 'no figures'}")
