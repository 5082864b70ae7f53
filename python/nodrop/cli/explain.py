"""`nodrop explain`: a stored search, trial by trial, or re-decided."""

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
@click.option("--outlook", is_flag=True, help="Add the effect of the opposite outcome of each trial.")
@click.option("--verify", is_flag=True, help="Re-decide every trial from the recorded outcomes and compare.")
@click.option("--trial", type=int, metavar="N", help="Show only the loss of trial N, hop by hop.")
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Directory of results.")
def explain(result: str, outlook: bool, verify: bool, trial: int | None, results_dir: str) -> None:
    """Explain a stored search, one sentence for every trial.

    RESULT is a result.json, its directory, a run id, or `latest`.

    \b
    nodrop explain latest
    nodrop explain latest --trial 7   loss of trial 7 by hop
    nodrop explain latest --verify    exit code 5 if the search decides differently
    """
    from nodrop import store
    from nodrop.errors import SearchError
    from nodrop.explain.redecide import add_decisions, redecide
    from nodrop.report.story import render_story

    stored = store.load(result, results_dir)
    if trial is not None:
        _print_ledger(stored, trial)
        return
    if not verify:
        steps = add_decisions(stored).steps
        click.echo(render_story(stored, steps, min(shutil.get_terminal_size().columns, WIDTH_MAX), outlook), nl=False)
        return
    check = redecide(stored)
    if not check.trial_count:
        raise SearchError(f"run {stored.run_id} has no trials of a search to re-decide")
    if check.differences:
        reproduced = f"{len(check.steps)} of {check.trial_count} trials reproduced"
        differences = "\n".join(f"  {difference}" for difference in check.differences)
        raise SearchError(f"run {stored.run_id}: {reproduced}; verify with the release that measured it\n{differences}")
    click.echo(f"reproduced: {len(check.steps)} of {check.trial_count} trials, all bounds")


def _print_ledger(stored: "RunResult", index: int) -> None:
    from nodrop.cli.console import print_renderable
    from nodrop.errors import ConfigError
    from nodrop.report.document.loss import build_ledger_blocks
    from nodrop.report.terminal import render_blocks
    from nodrop.units import format_count

    if not 0 <= index < len(stored.trials):
        count = len(stored.trials)
        raise ConfigError(
            f"--trial: no trial {index}; run {stored.run_id} has {format_count(count, 'trial')}, counted from 0"
        )
    print_renderable(render_blocks(build_ledger_blocks(stored.trials[index])), sys.stdout)
