"""`nodrop show`: a stored result, printed again."""

import sys

import click

from nodrop.cli.completing import DIR, RESULT


@click.command()
@click.argument("result", type=RESULT)
@click.option("--trials", is_flag=True, help="List every trial, why the search wanted it, and what there is to doubt.")
@click.option("--json", "as_json", is_flag=True, help="Print the stored JSON.")
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Where results are kept.")
def show(result: str, trials: bool, as_json: bool, results_dir: str) -> None:
    """Print a stored result.

    RESULT is a result.json, the directory it is in, a run id, or `latest`. Of several frame sizes measured together it
    is their suite.json, or its id.

    \b
    nodrop show latest --trials
    nodrop show latest --json | jq .goals
    """
    from nodrop import store  # noqa: PLC0415
    from nodrop.cli import console  # noqa: PLC0415
    from nodrop.report.suite import suite_report  # noqa: PLC0415
    from nodrop.report.text import report  # noqa: PLC0415
    from nodrop.store import suites  # noqa: PLC0415

    several = suites.find(result, results_dir)
    if several:
        if as_json:
            click.echo(suites.results_json(*several), nl=False)
        else:
            console.show(suite_report(*several, with_trials=trials), sys.stdout)
        return
    stored = store.load(result, results_dir)
    if as_json:
        click.echo(store.to_json(stored), nl=False)
        return
    console.show(report(stored, with_trials=trials), sys.stdout)
