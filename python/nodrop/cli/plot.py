"""`nodrop plot`: a stored search, drawn."""

from pathlib import Path

import click

from nodrop.cli.completing import DIR, FILE, RESULT


@click.command(short_help="Draw a stored search as SVG, PNG or PDF.")
@click.argument("result", type=RESULT)
@click.option(
    "-o", "--output", required=True, type=FILE, help="Where to: name.svg, .png, .pdf, or .vl.json for Vega-Lite."
)
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Where results are kept.")
def plot(result: str, output: str, results_dir: str) -> None:
    """Draw a stored search: its trials over time, and the bounds closing in.

    RESULT is a result.json, the directory it is in, a run id, or `latest`.

    \b
    nodrop plot latest -o search.svg
    nodrop plot latest -o search.vl.json    to change the picture in an editor for Vega-Lite
    """
    from nodrop import store  # noqa: PLC0415
    from nodrop.charts import draw, funnel  # noqa: PLC0415
    from nodrop.replay import replay  # noqa: PLC0415

    draw.require_suffix(Path(output))
    stored = store.load(result, results_dir)
    draw.write(funnel.chart(stored, stored.steps or replay(stored).steps), Path(output))
