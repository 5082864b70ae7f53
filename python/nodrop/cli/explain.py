"""`nodrop explain`: a stored search, told trial by trial, or decided again."""

import shutil
import sys
from typing import TYPE_CHECKING

import click

from nodrop.cli.completion_types import DIR, RESULT

if TYPE_CHECKING:
    from nodrop.model.result import RunResult

WIDTH_MAX = 100
"""Longer lines are hard to read."""


@click.command()
@click.argument("result", type=RESULT)
@click.option("--outlook", is_flag=True, help="Say as well what the other outcome of each trial would have meant.")
@click.option("--verify", is_flag=True, help="Decide every trial again from the outcomes on record, and compare.")
@click.option("--trial", type=int, metavar="N", help="Say only where the frames of this trial were lost, hop by hop.")
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Where results are kept.")
def explain(result: str, outlook: bool, verify: bool, trial: int | None, results_dir: str) -> None:
    """Tell a stored search as a story, one sentence for every trial.

    RESULT is a result.json, the directory it is in, a run id, or `latest`.

    \b
    nodrop explain latest
    nodrop explain latest --trial 7   where its frames were lost
    nodrop explain latest --verify    exit code 5 where the record is not what the search decides
    """
    from nodrop import store
    from nodrop.errors import SearchError
    from nodrop.explain.redecide import redecide, with_decisions
    from nodrop.report.story import render_story

    stored = store.load(result, results_dir)
    if trial is not None:
        _show_ledger(stored, trial)
        return
    if not verify:
        steps = with_decisions(stored).steps
        click.echo(render_story(stored, steps, min(shutil.get_terminal_size().columns, WIDTH_MAX), outlook), nl=False)
        return
    again = redecide(stored)
    if not again.trial_count:
        raise SearchError(f"a search to decide again asked, run {stored.run_id} has no trial that a search was told of")
    if again.differences:
        found = f"{len(again.steps)} of {again.trial_count} trials reproduced"
        where = "\n".join(f"  {difference}" for difference in again.differences)
        raise SearchError(
            f"the decisions of run {stored.run_id} asked, {found}; verify with the release that measured it\n{where}"
        )
    click.echo(f"reproduced: {len(again.steps)} of {again.trial_count} trials, all bounds")


def _show_ledger(stored: "RunResult", index: int) -> None:
    from nodrop.cli.console import show
    from nodrop.errors import ConfigError
    from nodrop.report.document.loss import build_ledger_blocks
    from nodrop.report.terminal import render_blocks

    if not 0 <= index < len(stored.trials):
        count = len(stored.trials)
        raise ConfigError(f"--trial: {index} asked, run {stored.run_id} has {count} trials, counted from 0")
    show(render_blocks(build_ledger_blocks(stored.trials[index])), sys.stdout)
