"""`nodrop report`: results as a document that people send each other."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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


@click.command(short_help="Make a report of results that people send each other.")
@click.argument("results", type=RESULT, nargs=-1, required=True, metavar="RESULT...")
@click.option("-o", "--output", type=FILE, help="Where to; - is standard output.  [default: report-<run id>.<format>]")
@click.option("--format", "form", type=click.Choice(FORMATS), help="What to make.  [default: as the suffix says; html]")
@click.option("--against", type=RESULT, multiple=True, help="Results to compare the others with, as B beside A.")
@click.option("--table", type=click.Choice(TABLES), help="csv: which table.  [default: goals]")
@click.option("--chart", metavar="NAME", help="svg, png: this chart alone.  [default: figures and the first chart]")
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Where results are kept.")
def report(results: tuple[str, ...], output: str | None, results_dir: str, **flags: Any) -> None:
    """Make a report: one HTML file that opens anywhere, without network, and holds the results themselves.

    RESULT is a result.json, a directory, the id of a run or of a suite, `latest`, `label:NAME` or `tag:NAME`; several
    stand side by side. Files of NFVbench and TRex are taken as well, with the figures they hold.

    \b
    nodrop report latest -o report.html
    nodrop report before.json --against after.json
    nodrop report latest -o wiki.md
    nodrop report latest -o picture.png           figures and chart, for a chat
    nodrop report latest -o trials.csv --table trials
    """
    wanted, table, chart = _format(output, flags["form"]), flags["table"], flags["chart"]
    _refuse_misplaced(wanted, table, chart)
    from nodrop.store.selection import select_results

    a = select_results(results, results_dir)
    b = select_results(flags["against"], results_dir) if flags["against"] else ()
    if wanted == "csv":
        content = _csv((*a, *b), table or TABLES[0])
    else:
        content = _drawn(_document(a, b, results, results_dir), wanted, chart)
    _write(content, output or f"report-{a[0].summary.run_id.replace('#', '-')}.{wanted}")


def _format(output: str | None, form: str | None) -> str:
    """That which was asked for, or that of the file's suffix."""
    suffix = Path(output or "").suffix.lower().removeprefix(".")
    if form or not suffix:
        return form or "html"
    known = OTHER_SUFFIXES.get(suffix, suffix)
    if known not in FORMATS:
        raise ConfigError(
            f"--output: {output} asked, a report of an unknown kind; name a file that ends in "
            f".{', .'.join(FORMATS)}, or say --format"
        )
    return known


def _refuse_misplaced(wanted: str, table: str | None, chart: str | None) -> None:
    if table and wanted != "csv":
        raise ConfigError(f"--table: {table} asked, with --format {wanted}; only csv is one table")
    if chart and wanted not in ("svg", "png"):
        raise ConfigError(f"--chart: {chart} asked, with --format {wanted}; only svg and png are one chart")


def _document(a: "Sequence[SelectedResult]", b: "Sequence[SelectedResult]", words: Sequence[str], results_dir: str) -> "Document":
    """All of it; a suite that measured two set-ups in turn is compared without being asked."""
    from nodrop.analysis.stored_comparison import compare_results, split_variants
    from nodrop.explain.redecide import with_decisions
    from nodrop.report.document import build_document
    from nodrop.report.document.imported import build_imported_document
    from nodrop.store import suites

    everything = (*a, *b)
    results = {each.path: each.result() for each in everything if each.summary.source == "nodrop"}
    imported = [each.summary for each in everything if each.summary.source != "nodrop"]
    two = (a, b) if b else split_variants(a)
    comparison = compare_results(*two, load=lambda each: results[each.path]) if two else None
    if not results:
        return build_imported_document(imported, comparison)
    found = suites.locate(words[0], results_dir) if len(words) == 1 else None
    shown = [with_decisions(result) for result in results.values()]
    suite = found.suite if found else None
    return build_document(shown, suite, comparison, imported, _prices(suite, shown))


def _prices(suite: "Suite | None", results: "Sequence[RunResult]") -> "RuleCostTable | None":
    """What rules of placement are worth, where the suite is made for that."""
    from nodrop.run.rule_cost import build_cost_table

    return build_cost_table(suite, results) if suite and suite.pricing else None


def _csv(found: "Sequence[SelectedResult]", table: str) -> bytes:
    from nodrop.report.document.csv import export_table

    return export_table([each.result() for each in found], table).encode()


def _drawn(shown: "Document", wanted: str, chart: str | None) -> bytes:
    """The report in its format."""
    if wanted == "html":
        from nodrop.report.html import render_page

        return render_page(shown).encode()
    if wanted == "md":
        from nodrop.report.markdown import render_markdown

        return render_markdown(shown).encode()
    if wanted == "pdf":
        from nodrop.report.pdf import render_pdf

        return render_pdf(shown)
    from nodrop.charts import render
    from nodrop.report.image import build_image, find_chart

    return render.render_spec((find_chart(shown, chart) if chart else build_image(shown)).spec, f".{wanted}")


def _write(content: bytes, target: str) -> None:
    if target == STDOUT:
        sys.stdout.buffer.write(content)
        return
    try:
        Path(target).write_bytes(content)
    except OSError as error:
        raise ConfigError(f"--output: {target} asked, {error.strerror}; name a file that can be written") from None
    click.echo(f"report: {target}")
