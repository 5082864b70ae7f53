"""`nodrop report`: results as a document."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import DIR, FILE, RESULT
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.analysis.rule_costs import RuleCostTable
    from nodrop.model.result import RunResult
    from nodrop.model.suite import Suite
    from nodrop.report.document.blocks import Document
    from nodrop.store.selection import SelectedResult

STDOUT = "-"
FORMATS = ("html", "md", "csv", "svg", "png", "pdf")
OTHER_SUFFIXES = {"htm": "html", "markdown": "md"}
TABLES = ("goals", "trials", "latency", "chains")


@click.command(short_help="Write a report of results.")
@click.argument("results", type=RESULT, nargs=-1, required=True, metavar="RESULT...")
@click.option(
    "-o", "--output", type=FILE, help="Output file; - is standard output.  [default: report-<run or suite id>.<format>]"
)
@click.option("--format", "form", type=Choice(FORMATS), help="Format.  [default: by suffix; html]")
@click.option("--against", type=RESULT, multiple=True, help="Results B to compare with RESULT as A.")
@click.option(
    "--brief", is_flag=True, help="Two pages: result, limits, cautions, and a chart each of search and latency."
)
@click.option("--table", type=Choice(TABLES), help="Table, for csv.  [default: goals]")
@click.option("--chart", metavar="NAME", help="Single chart, for svg and png.  [default: figures and the first chart]")
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Directory of results.")
def report(results: tuple[str, ...], output: str | None, results_dir: str, **flags: Any) -> None:
    """Write a report: one HTML file that opens without network and embeds the results.

    RESULT is a result.json, a directory, the id of a run or of a suite, `latest`, `label:NAME` or `tag:NAME`. Several
    results are shown next to each other. Files of NFVbench and TRex also work, with the figures they contain.

    \b
    nodrop report latest -o report.html
    nodrop report before.json --against after.json
    nodrop report latest --brief -o two-pages.pdf
    nodrop report latest -o wiki.md
    nodrop report latest -o picture.png           figures and chart, for a chat
    nodrop report latest -o trials.csv --table trials
    """
    form, table, chart = _select_format(output, flags["form"]), flags["table"], flags["chart"]
    _check_format_options(form, table, chart)
    if flags["brief"] and form == "csv":
        raise ConfigError("--brief: not available with --format csv; use --table to select one")
    from nodrop.store.selection import select_results

    a = select_results(results, results_dir)
    b = select_results(flags["against"], results_dir) if flags["against"] else ()
    suite = _find_suite(results, results_dir)
    if form == "csv":
        content = _render_csv((*a, *b), table or TABLES[0])
    else:
        content = _render(_build_document(a, b, suite, is_brief=flags["brief"]), form, chart)
    name = suite.suite_id if suite else a[0].summary.run_id.replace("#", "-")
    _write(content, output or f"report-{name}.{form}")


def _select_format(output: str | None, form: str | None) -> str:
    """Return the requested format, or the one of the file's suffix."""
    suffix = Path(output or "").suffix.lower().removeprefix(".")
    if form or not suffix:
        return form or "html"
    by_suffix = OTHER_SUFFIXES.get(suffix, suffix)
    if by_suffix not in FORMATS:
        raise ConfigError(
            f"--output: {output} has an unknown suffix; name a file that ends in .{', .'.join(FORMATS)}, or use "
            "--format"
        )
    return by_suffix


def _check_format_options(form: str, table: str | None, chart: str | None) -> None:
    if table and form != "csv":
        raise ConfigError(f"--table: not available with --format {form}; use --format csv")
    if chart and form not in ("svg", "png"):
        raise ConfigError(f"--chart: not available with --format {form}; use --format svg or png")


def _build_document(
    a: "Sequence[SelectedResult]", b: "Sequence[SelectedResult]", suite: "Suite | None", *, is_brief: bool
) -> "Document":
    """Build the report; the variants of an interleaved suite are compared without --against."""
    from nodrop.analysis.stored_comparison import compare_results, split_variants
    from nodrop.explain.redecide import add_decisions
    from nodrop.report.document import build_document
    from nodrop.report.document.imported import build_imported_document

    selected = (*a, *b)
    results = {each.path: each.result() for each in selected if each.summary.source == "nodrop"}
    imported = [each.summary for each in selected if each.summary.source != "nodrop"]
    sides = (a, b) if b else split_variants(a)
    comparison = compare_results(*sides, load=lambda each: results[each.path]) if sides else None
    if not results:
        return build_imported_document(imported, comparison)
    runs = [add_decisions(result) for result in results.values()]
    return build_document(runs, suite, comparison, imported, _build_costs(suite, runs), is_brief=is_brief)


def _find_suite(names: "Sequence[str]", results_dir: str) -> "Suite | None":
    """Return the suite that a single argument names, if any."""
    from nodrop.store import suites

    located = suites.locate(names[0], results_dir) if len(names) == 1 else None
    return located.suite if located else None


def _build_costs(suite: "Suite | None", results: "Sequence[RunResult]") -> "RuleCostTable | None":
    """Return the costs of placement rules, if the suite measured them."""
    from nodrop.run.rule_cost import build_cost_table

    return build_cost_table(suite, results) if suite and suite.pricing else None


def _render_csv(selected: "Sequence[SelectedResult]", table: str) -> bytes:
    from nodrop.report.document.csv import export_table

    return export_table([each.result() for each in selected], table).encode()


def _render(document: "Document", form: str, chart: str | None) -> bytes:
    """Return the report in a format."""
    if form == "html":
        from nodrop.report.html import render_page

        return render_page(document).encode()
    if form == "md":
        from nodrop.report.markdown import render_markdown

        return render_markdown(document).encode()
    if form == "pdf":
        from nodrop.report.pdf import render_pdf

        return render_pdf(document)
    from nodrop.charts import render
    from nodrop.report.image import build_image, find_chart

    return render.render_spec((find_chart(document, chart) if chart else build_image(document)).spec, f".{form}")


def _write(content: bytes, target: str) -> None:
    if target == STDOUT:
        sys.stdout.buffer.write(content)
        return
    try:
        Path(target).write_bytes(content)
    except OSError as error:
        raise ConfigError(f"--output: cannot write {target}: {error.strerror}") from None
    click.echo(f"report: {target}")
