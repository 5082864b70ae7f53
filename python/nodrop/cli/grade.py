"""`nodrop grade`: configurations of a function against a baseline."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import FILE, RESULT
from nodrop.cli.result_filters import store_options
from nodrop.errors import FailOnError

if TYPE_CHECKING:
    from nodrop.analysis.grade import GradedResults
    from nodrop.model.summary import Summary

FORMS = ("text", "json", "markdown")
EPILOG = """
\b
Examples:
  nodrop run --user-label bypass; nodrop run --user-label inspect; nodrop run --user-label log
  nodrop grade label:bypass label:inspect label:log
  nodrop grade label:bypass label:inspect --fail-below B
"""


@click.command(epilog=EPILOG, short_help="Grade configurations.")
@click.argument("results", nargs=-1, required=True, type=RESULT, metavar="BASELINE RESULT...")
@click.option("--metric", default="ndr", show_default=True, metavar="KEY", help="Rate to compare: ndr, pdr_0.5%, ...")
@click.option("-o", "--output", type=FILE, help="Write a chart: .svg, .png, .pdf, or .vl.json for Vega-Lite.")
@click.option("--fail-below", type=Choice("ABCD"), help="Exit with status 8 if the grade is worse.")
@click.option("--format", "form", type=Choice(FORMS), default="text", show_default=True, help="Output format.")
@store_options
def grade(results: tuple[str, ...], metric: str, results_dir: str, index_url: str | None, **flags: Any) -> None:
    """Grade a function in several configurations by the throughput that each leaves of the baseline.

    As for DPI in ETSI GS NFV-PER 001 C.2.1.1: the smallest share decides; A from 95 %, B from 80 %, C from 70 %, D from
    60 %, else F. A label or suite of several runs counts with the median run.
    """
    from nodrop.analysis.grade import grade_results

    baseline, *others = (_select(name, metric, results_dir, index_url) for name in results)
    graded = grade_results(baseline, others, metric)
    _print_grade(graded, flags["form"])
    if flags["output"]:
        from nodrop.charts import grade as charts
        from nodrop.charts.render import write_chart

        write_chart(charts.build_chart(graded), Path(flags["output"]))
    if flags["fail_below"] and graded.letter > flags["fail_below"]:
        from nodrop.analysis.grade import format_grade

        raise FailOnError(f"--fail-below {flags['fail_below']}: {format_grade(graded)}")


def _select(name: str, metric: str, results_dir: str, index_url: str | None) -> "tuple[str, Summary]":
    """Return the text and the summary of the results with a name: of several runs, that with the median rate."""
    from nodrop.store.selection import select_results

    summaries = [selected.summary for selected in select_results([name], results_dir, index_url)]

    def rate(summary: "Summary") -> float:
        return next((measure.value for measure in summary.measures if measure.key == metric), 0.0)

    summary = sorted(summaries, key=rate)[len(summaries) // 2]
    return summary.label or summary.run_id, summary


def _print_grade(graded: "GradedResults", form: str) -> None:
    from nodrop.report.grade import export_grade, render_grade, render_grade_markdown

    if form == "json":
        import json

        click.echo(json.dumps(export_grade(graded), indent=1))
    elif form == "markdown":
        click.echo(render_grade_markdown(graded), nl=False)
    else:
        from nodrop.cli.console import print_renderable

        print_renderable(render_grade(graded), sys.stdout)
