"""`nodrop explain`: a stored search, told trial by trial, or decided again."""

import shutil

import click

WIDTH_MAX = 100
"""Longer lines are hard to read."""


@click.command()
@click.argument("result")
@click.option("--outlook", is_flag=True, help="Say as well what the other outcome of each trial would have meant.")
@click.option("--verify", is_flag=True, help="Decide every trial again from the outcomes on record, and compare.")
@click.option("--results-dir", default="results", show_default=True, metavar="DIR", help="Where results are kept.")
def explain(result: str, outlook: bool, verify: bool, results_dir: str) -> None:
    """Tell a stored search as a story, one sentence for every trial.

    RESULT is a result.json, the directory it is in, a run id, or `latest`.

    \b
    nodrop explain latest
    nodrop explain latest --verify    exit code 5 where the record is not what the search decides
    """
    from nodrop import store  # noqa: PLC0415
    from nodrop.errors import SearchError  # noqa: PLC0415
    from nodrop.replay import replay  # noqa: PLC0415
    from nodrop.report.story import story  # noqa: PLC0415

    stored = store.load(result, results_dir)
    if not verify:
        steps = stored.steps or replay(stored).steps
        click.echo(story(stored, steps, min(shutil.get_terminal_size().columns, WIDTH_MAX), outlook), nl=False)
        return
    again = replay(stored)
    if not again.trial_count:
        raise SearchError(f"a search to decide again asked, run {stored.run_id} has no trial that a search was told of")
    if again.differences:
        found = f"{len(again.steps)} of {again.trial_count} trials reproduced"
        where = "\n".join(f"  {difference}" for difference in again.differences)
        raise SearchError(
            f"the decisions of run {stored.run_id} asked, {found}; verify with the release that measured it\n{where}"
        )
    click.echo(f"reproduced: {len(again.steps)} of {again.trial_count} trials, all bounds")
