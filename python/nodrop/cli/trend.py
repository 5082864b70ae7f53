"""`nodrop trend`: changes in a series of runs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import FILE
from nodrop.cli.margins import margin_option, parse_margins
from nodrop.cli.result_filters import filter_options, make_filter, store_options
from nodrop.errors import ConfigError, FailOnError

if TYPE_CHECKING:
    from nodrop.analysis.trend import Trend
    from nodrop.store.selection import SelectedResult

LAST = 1000
FORMS = ("text", "json", "markdown")
EPILOG = """
\b
Examples:
  nodrop trend nightly                          NDR of all runs of a label
  nodrop trend nightly --metric latency_p99_at_ndr
  nodrop trend nightly --frame-size 64 --since 30d -o trend.svg
  nodrop trend --sut 'vnf-l2*' --tag release    runs by SUT and tag
  nodrop trend nightly --fail-on worse          exit code 8 if the latest change is a regression
"""


@click.command(epilog=EPILOG, short_help="Detect changes in a series.")
@click.argument("series", required=False, metavar="[LABEL]")
@filter_options
@click.option("--metric", default="", metavar="KEY", help="Metric: ndr, pdr, mrr, latency_p99_at_ndr, ...")
@margin_option
@click.option(
    "--last", type=click.IntRange(min=1), default=LAST, show_default=True, metavar="N", help="Number of newest runs."
)
@click.option("-o", "--output", type=FILE, help="Write a chart: .svg, .png, or .vl.json for Vega-Lite.")
@click.option("--fail-on", type=Choice(["worse"]), help="Exit with status 8 if the latest change is a regression.")
@click.option("--format", "form", type=Choice(FORMS), default="text", show_default=True, help="Output format.")
@store_options
def trend(series: str | None, form: str, results_dir: str, index_url: str | None, **flags: Any) -> None:
    """Detect changes in a series of runs: time, size, and what differed from then on.

    Runs with the same traffic form a series. It is divided into groups by minimum description length, as in FD.io CSIT;
    within a group there is no significant change. Runs limited by something other than the SUT are shown but not
    evaluated.
    """
    from nodrop.analysis.stored_trends import analyze_stored_trends

    margins = parse_margins(flags["margins"])
    runs = _select_runs(series, flags, results_dir, index_url)
    trends = analyze_stored_trends(runs, flags["metric"], margins, results_dir)
    if not trends:
        raise ConfigError(f"trend: no run has the metric {flags['metric'] or 'ndr'}; choose another --metric")
    files = _name_files(flags["output"], trends)
    _print_trends(trends, form)
    for file, each in zip(files, trends, strict=False):
        from nodrop.charts import trend as charts
        from nodrop.charts.render import write_chart

        write_chart(charts.build_chart(each), file)
    if flags["fail_on"]:
        _require_none_worse(trends)


def _select_runs(
    series: str | None, flags: dict[str, Any], results_dir: str, index_url: str | None
) -> "Sequence[SelectedResult]":
    """Select the newest matching runs, by default complete ones. Raises ConfigError."""
    from nodrop.store.index import open_index
    from nodrop.store.selection import SelectedResult

    if series and flags["label"]:
        raise ConfigError(f"trend: both LABEL ({series}) and --label ({flags['label']}) are given; use one of them")
    filters = flags | {"label": series or flags["label"], "status": flags["status"] or "complete"}
    with open_index(results_dir, index_url) as index:
        rows = index.list(make_filter(filters, limit=flags["last"]))
    if not rows:
        raise ConfigError(
            f"trend: no matching runs{f' of label {series}' if series else ''} in {results_dir}; "
            "run 'nodrop results list'"
        )
    return [SelectedResult(row.summary, Path(row.file)) for row in rows]


def _name_files(output: str | None, trends: "Sequence[Trend]") -> list[Path]:
    """Return a file for each chart: the given name, with a number if there are several charts."""
    if not output:
        return []
    from nodrop.charts.render import require_suffix

    file = Path(output)
    suffix = require_suffix(file)
    if len(trends) == 1:
        return [file]
    stem = file.name[: -len(suffix)]
    return [file.with_name(f"{stem}-{number}{suffix}") for number in range(1, len(trends) + 1)]


def _print_trends(trends: "Sequence[Trend]", form: str) -> None:
    if form == "json":
        from nodrop.analysis.trend_text import describe_trend

        contents = [each.model_dump(mode="json") | {"sentences": list(describe_trend(each))} for each in trends]
        import json

        click.echo(json.dumps({"trends": contents}, indent=1))
        return
    from nodrop.report.trend import render_trend, render_trend_markdown

    if form == "markdown":
        click.echo("\n".join(render_trend_markdown(each) for each in trends), nl=False)
        return
    from nodrop.cli.console import make_console, print_renderable

    for number, each in enumerate(trends):
        if number:
            click.echo()
        print_renderable(
            render_trend(each, make_console(sys.stdout).width, plain=not _has_plot_characters()), sys.stdout
        )


def _has_plot_characters() -> bool:
    """Return whether the encoding of standard output has the characters of a plot."""
    try:
        "●△○─┊│└".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _require_none_worse(trends: "Sequence[Trend]") -> None:
    """Raise an error if the latest change of a series is a regression."""
    from nodrop.analysis.trend_text import describe_trend
    from nodrop.analysis.types import ComparisonOutcome

    worse = [next(describe_trend(each)) for each in trends if each.verdict is ComparisonOutcome.WORSE]
    if worse:
        raise FailOnError(f"--fail-on worse: {' '.join(worse)}")
