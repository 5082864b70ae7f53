"""`nodrop report`: results as a document that people send each other."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.completion_types import DIR, FILE, RESULT
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.analysis.rule_costs import PriceTable
    from nodrop.model.result import RunResult
    from nodrop.model.suite import Suite
    from nodrop.report.document.blocks import Document
    from nodrop.store.selection import Selected

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
    from nodrop.store.selection import select

    a = select(results, results_dir)
    b = select(flags["against"], results_dir) if flags["against"] else ()
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


def _document(a: "Sequence[Selected]", b: "Sequence[Selected]", words: Sequence[str], results_dir: str) -> "Document":
    """All of it; a suite that measured two set-ups in turn is compared without being asked."""
    from nodrop.analysis.stored_comparison import in_two, verdict_on
    from nodrop.explain.redecide import with_steps
    from nodrop.report.document import document
    from nodrop.report.document.imported import summaries_document
    from nodrop.store import suites

    everything = (*a, *b)
    results = {each.path: each.result() for each in everything if each.summary.source == "nodrop"}
    imported = [each.summary for each in everything if each.summary.source != "nodrop"]
    two = (a, b) if b else in_two(a)
    comparison = verdict_on(*two, load=lambda each: results[each.path]) if two else None
    if not results:
        return summaries_document(imported, comparison)
    found = suites.look_up(words[0], results_dir) if len(words) == 1 else None
    shown = [with_steps(result) for result in results.values()]
    suite = found.suite if found else None
    return document(shown, suite, comparison, imported, _prices(suite, shown))


def _prices(suite: "Suite | None", results: "Sequence[RunResult]") -> "PriceTable | None":
    """What rules of placement are worth, where the suite is made for that."""
    from nodrop.run.rule_cost import table_of

    return table_of(suite, results) if suite and suite.pricing else None


def _csv(found: "Sequence[Selected]", table: str) -> bytes:
    from nodrop.report.document.csv import csv_of

    return csv_of([each.result() for each in found], table).encode()


def _drawn(shown: "Document", wanted: str, chart: str | None) -> bytes:
    """The report in its format."""
    if wanted == "html":
        from nodrop.report.html import page_of

        return page_of(shown).encode()
    if wanted == "md":
        from nodrop.report.markdown import markdown

        return markdown(shown).encode()
    if wanted == "pdf":
        from nodrop.report.pdf import pdf

        return pdf(shown)
    from nodrop.charts import render
    from nodrop.report.image import chart_of, picture

    return render.drawn((chart_of(shown, chart) if chart else picture(shown)).spec, f".{wanted}")


def _write(content: bytes, target: str) -> None:
    if target == STDOUT:
        sys.stdout.buffer.write(content)
        return
    try:
        Path(target).write_bytes(content)
    except OSError as error:
        raise ConfigError(f"--output: {target} asked, {error.strerror}; name a file that can be written") from None
    click.echo(f"report: {target}")
