"""`nodrop plot`: charts of stored results."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodrop.cli.choice import Choice
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
    "chains",
)


@click.command(short_help="Draw charts of results.")
@click.argument("result", type=RESULT, nargs=-1, required=True)
@click.option(
    "-o", "--output", required=True, type=FILE, help="Output file: .svg, .png, .pdf, or .vl.json for Vega-Lite."
)
@click.option(
    "--chart",
    "name",
    type=Choice(CHARTS),
    help="Chart, see below.  [default: funnel; rate for a fixed rate]",
)
@click.option("--trial", type=int, metavar="N", help="Trial, from 0 (loss, chains).")
@click.option(
    "--theme", type=Choice(["light", "dark", "print"]), default="light", show_default=True, help="Color theme."
)
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Directory of results.")
def plot(
    result: tuple[str, ...], output: str, *, name: str | None, trial: int | None, theme: "Theme", results_dir: str
) -> None:
    """Draw charts of stored results.

    RESULT is a result.json, its directory, a run id, or `latest`; charts of several results also take suite ids,
    label:NAME and tag:NAME.

    \b
    funnel         the search: trials over time, and the bounds closing in
    sizes, bits    frames or bits per second by frame size (several results)
    latency        latency by percentile at each load (several results)
    latency-ways   latency by percentile for each direction
    load-latency   latency by load
    loss           lost frames over time within trials
    rate           rate over time of a run at a fixed rate
    chains         rate, loss and latency of each chain

    \b
    nodrop plot latest -o search.svg
    nodrop plot latest --chart latency -o latency.pdf
    nodrop plot SUITE --chart sizes -o sizes.png
    nodrop plot latest -o search.vl.json    to edit the chart with Vega-Lite
    """
    from nodrop.charts import render

    file = Path(output)
    render.require_suffix(file)
    render.write_chart(_build_chart(name, result, trial, results_dir), file, theme)


def _build_chart(name: str | None, references: Sequence[str], trial: int | None, results_dir: str) -> "Chart":
    from nodrop import store
    from nodrop.charts.catalogue import CHART_KINDS, ChartInput
    from nodrop.errors import ConfigError
    from nodrop.explain.redecide import add_decisions
    from nodrop.store.selection import select_results

    if name and CHART_KINDS[name].accepts_several:
        results = [selected.result() for selected in select_results(references, results_dir)]
    elif len(references) > 1:
        raise ConfigError(f"a {name or 'funnel'} chart shows a single result ({len(references)} given)")
    else:
        results = [store.load(references[0], results_dir)]
    name = name or ("rate" if results[0].plan.fixed else "funnel")
    kind = CHART_KINDS[name]
    if trial is not None and not kind.accepts_trial:
        raise ConfigError(f"--trial: a {name} chart shows all trials; remove the option")
    first = results[0]
    steps = (add_decisions(first) if name == "funnel" else first).steps
    return kind.draw(ChartInput(results, steps, _select_trial(first, trial) if trial is not None else None))


def _select_trial(result: "RunResult", index: int) -> "TrialResult":
    from nodrop.errors import ConfigError

    trial = next((trial for trial in result.trials if trial.index == index), None)
    if trial is None:
        raise ConfigError(
            f"--trial: run {result.run_id} has no trial {index}; choose from 0 to {len(result.trials) - 1}"
        )
    return trial
