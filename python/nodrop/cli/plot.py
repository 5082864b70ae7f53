"""`nodrop plot`: stored results, drawn."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodrop.cli.completion_types import DIR, FILE, RESULT

if TYPE_CHECKING:
    from nodrop.charts.base import Chart
    from nodrop.charts.theme import Theme
    from nodrop.model.result import RunResult
    from nodrop.model.trial import TrialResult

CHARTS = (
    "funnel",
    "sizes",
    "bits",
    "latency",
    "latency-ways",
    "load-latency",
    "loss",
    "rate",
    "sankey",
    "chains",
)


@click.command(short_help="Draw stored results as SVG, PNG or PDF.")
@click.argument("result", type=RESULT, nargs=-1, required=True)
@click.option(
    "-o", "--output", required=True, type=FILE, help="Where to: name.svg, .png, .pdf, or .vl.json for Vega-Lite."
)
@click.option(
    "--chart",
    "name",
    type=click.Choice(CHARTS),
    help="What to draw, see below.  [default: funnel, or rate where there was no search]",
)
@click.option("--trial", type=int, metavar="N", help="Which trial, from 0 (loss, sankey, chains).")
@click.option(
    "--theme", type=click.Choice(["light", "dark", "print"]), default="light", show_default=True, help="Colours."
)
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Where results are kept.")
def plot(
    result: tuple[str, ...], output: str, *, name: str | None, trial: int | None, theme: "Theme", results_dir: str
) -> None:
    """Draw stored results.

    RESULT is a result.json, the directory it is in, a run id, or `latest`; charts of several results also take suite
    ids, label:NAME and tag:NAME.

    \b
    funnel         the search: trials over time, and the bounds closing in
    sizes, bits    frames or bits per second by frame size (several results)
    latency        latency by percentile at each load (several results)
    latency-ways   the same for each direction
    load-latency   latency by load
    loss           frames lost over time within trials
    rate           a run at a fixed rate over time
    sankey         where a trial lost frames, by cause
    chains         rate, loss and latency of each chain

    \b
    nodrop plot latest -o search.svg
    nodrop plot latest --chart latency -o latency.pdf
    nodrop plot SUITE --chart sizes -o sizes.png
    nodrop plot latest -o search.vl.json    to change the picture in an editor for Vega-Lite
    """
    from nodrop.charts import render

    file = Path(output)
    render.require_suffix(file)
    render.write(_chart(name, result, trial, results_dir), file, theme)


def _chart(name: str | None, wanted: Sequence[str], trial: int | None, results_dir: str) -> "Chart":
    from nodrop import store
    from nodrop.charts.catalogue import KINDS, Asked
    from nodrop.errors import ConfigError
    from nodrop.explain.redecide import with_steps
    from nodrop.store.selection import select

    if name and KINDS[name].takes_several:
        results = [selected.result() for selected in select(wanted, results_dir)]
    elif len(wanted) > 1:
        raise ConfigError(f"{len(wanted)} results asked in one picture, a {name or 'funnel'} chart shows one; name one")
    else:
        results = [store.load(wanted[0], results_dir)]
    name = name or ("rate" if results[0].plan.fixed else "funnel")
    kind = KINDS[name]
    if trial is not None and not kind.takes_trial:
        raise ConfigError(f"--trial {trial}: a trial asked, a {name} chart shows all of them; leave it out")
    first = results[0]
    steps = (with_steps(first) if name == "funnel" else first).steps
    return kind.draw(Asked(results, steps, _trial(first, trial) if trial is not None else None))


def _trial(result: "RunResult", index: int) -> "TrialResult":
    from nodrop.errors import ConfigError

    found = next((trial for trial in result.trials if trial.index == index), None)
    if found is None:
        raise ConfigError(f"--trial {index}: asked of run {result.run_id}, it has trials 0 to {len(result.trials) - 1}")
    return found
