"""`nodrop trend`: where a series of runs changed, and whether for the worse."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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
  nodrop trend --sut 'vnf-l2*' --tag release    runs by what they are, not by label
  nodrop trend nightly --fail-on worse          exit code 8 when the last change was for the worse
"""


@click.command(epilog=EPILOG, short_help="Where a series of runs changed, and whether for the worse.")
@click.argument("wanted", required=False, metavar="[LABEL]")
@filter_options
@click.option("--metric", default="", metavar="KEY", help="What to follow: ndr, pdr, mrr, latency_p99_at_ndr, ...")
@margin_option
@click.option("--last", type=click.IntRange(min=1), default=LAST, show_default=True, metavar="N", help="Newest runs.")
@click.option("-o", "--output", type=FILE, help="Also draw it: name.svg, name.png, or name.vl.json for Vega-Lite.")
@click.option("--fail-on", type=click.Choice(["worse"]), help="End with exit code 8 if the last change is that.")
@click.option("--format", "form", type=click.Choice(FORMS), default="text", show_default=True, help="How to print it.")
@store_options
def trend(wanted: str | None, form: str, results_dir: str, index_url: str | None, **flags: Any) -> None:
    """Say where a series of runs changed, by how much, and what differed from then on.

    Runs with the same traffic are a series. It is cut into groups where telling it takes the fewest bits (minimum
    description length, as FD.io CSIT does); within a group nothing changed but by chance. Runs in which something other
    than the SUT was the limit are shown and not judged.
    """
    from nodrop.analysis.stored_trends import analyze_stored_trends

    margins = parse_margins(flags["margins"])
    runs = _selected(wanted, flags, results_dir, index_url)
    found = analyze_stored_trends(runs, flags["metric"], margins, results_dir)
    if not found:
        raise ConfigError("a trend asked, no run has such a figure; name another --metric")
    files = _files(flags["output"], found)
    _show(found, form)
    for file, each in zip(files, found, strict=False):
        from nodrop.charts import trend as drawing
        from nodrop.charts.render import write_chart

        write_chart(drawing.build_chart(each), file)
    if flags["fail_on"]:
        _require_none_worse(found)


def _selected(
    wanted: str | None, flags: dict[str, Any], results_dir: str, index_url: str | None
) -> "Sequence[SelectedResult]":
    """The newest runs that are meant, complete ones unless another status is asked for. Raises ConfigError."""
    from nodrop.store.index import open_index
    from nodrop.store.selection import SelectedResult

    if wanted and flags["label"]:
        raise ConfigError(f"trend: {wanted} and --label {flags['label']} asked, both name a label; write one of them")
    asked = flags | {"label": wanted or flags["label"], "status": flags["status"] or "complete"}
    with open_index(results_dir, index_url) as index:
        rows = index.list(make_filter(asked, limit=flags["last"]))
    if not rows:
        raise ConfigError(
            f"a trend{f' of {wanted}' if wanted else ''} asked, {results_dir} has no such run; "
            "list what there is: nodrop results list"
        )
    return [SelectedResult(row.summary, Path(row.file)) for row in rows]


def _files(output: str | None, found: "Sequence[Trend]") -> list[Path]:
    """A file for each drawing: the one that was named, with the frame size in its name where there are several."""
    if not output:
        return []
    from nodrop.charts.render import require_suffix

    file = Path(output)
    suffix = require_suffix(file)
    if len(found) == 1:
        return [file]
    stem = file.name[: -len(suffix)]
    return [file.with_name(f"{stem}-{number}{suffix}") for number in range(1, len(found) + 1)]


def _show(found: "Sequence[Trend]", form: str) -> None:
    if form == "json":
        from nodrop.analysis.trend_text import describe_trend

        contents = [each.model_dump(mode="json") | {"sentences": list(describe_trend(each))} for each in found]
        import json

        click.echo(json.dumps({"trends": contents}, indent=1))
        return
    from nodrop.report.trend import render_trend, render_trend_markdown

    if form == "markdown":
        click.echo("\n".join(render_trend_markdown(each) for each in found), nl=False)
        return
    from nodrop.cli.console import console, show

    for number, each in enumerate(found):
        if number:
            click.echo()
        show(render_trend(each, console(sys.stdout).width, plain=not _knows_drawing()), sys.stdout)


def _knows_drawing() -> bool:
    """Whether standard output can have the characters a drawing is made of."""
    try:
        "●△○─┊│└".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _require_none_worse(found: "Sequence[Trend]") -> None:
    """Raises VerdictError when the last change of one was for the worse."""
    from nodrop.analysis.trend_text import describe_trend
    from nodrop.analysis.types import ComparisonOutcome

    worse = [next(describe_trend(each)) for each in found if each.verdict is ComparisonOutcome.WORSE]
    if worse:
        raise FailOnError(f"--fail-on worse asked: {' '.join(worse)}")
