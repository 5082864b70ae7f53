"""`nodrop compare`: whether one set-up is better or worse than another, as far as their runs show."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.completion_types import DIR, FILE, RESULT
from nodrop.cli.margins import margin_option, parse_margins
from nodrop.errors import ConfigError, FailOnError

if TYPE_CHECKING:
    from nodrop.analysis import Comparison
    from nodrop.store.selection import SelectedResult

FAIL_ON = ("worse", "better", "undecided", "equivalent")
FORMS = ("text", "markdown", "json")
EPILOG = """
\b
Examples:
  nodrop compare 20260131T120000Z-3f9a2c latest                  one run each: says how many more it takes
  nodrop compare label:before label:after                        all runs of two labels
  nodrop compare --a A1,A2,A3 --b B1,B2,B3 --margin 2%           repeats by name
  nodrop compare 20260131T120000Z-5e01d7                         a suite that measured A and B in turn
  nodrop compare label:main label:patch --fail-on worse          exit code 8 when it is
  nodrop compare old.json new.json                               NFVbench's or TRex's results
"""


@click.command(epilog=EPILOG, short_help="Better, worse, equivalent or undecided: one set-up beside another.")
@click.argument("results", nargs=-1, type=RESULT)
@click.option("--a", "of_a", multiple=True, type=RESULT, help="Runs of A, in place of the first RESULT; repeatable.")
@click.option("--b", "of_b", multiple=True, type=RESULT, help="Runs of B, in place of the second RESULT; repeatable.")
@margin_option
@click.option("--confidence", default="95%", show_default=True, metavar="SHARE", help="How sure a verdict has to be.")
@click.option("--metric", "metrics", multiple=True, metavar="KEY", help="Only these, as ndr,pdr_0.5%.  [default: all]")
@click.option("--fail-on", multiple=True, metavar="VERDICT", help="End with exit code 8 on worse, undecided, ...")
@click.option("--format", "form", type=click.Choice(FORMS), default="text", show_default=True, help="How to print it.")
@click.option("--plot", type=FILE, help="Also draw it: name.svg, name.png, or name.vl.json for Vega-Lite.")
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Where results are kept.")
def compare(results: Sequence[str], results_dir: str, form: str, plot: str | None, **flags: Any) -> None:
    """Say whether B is better or worse than A, as far as their runs show.

    Each RESULT is one run or several, joined by commas: a file, a directory, a run id, a suite id, `latest`,
    `label:NAME`, `tag:NAME`. One RESULT alone is a suite that measured two set-ups in turn.

    \b
    worse, better   the figures differ, and not by chance
    equivalent      any difference is smaller than the margin, and that is proven
    undecided       neither is shown; about how many more runs would is said
    """
    from nodrop.analysis.stored_comparison import compare_results
    from nodrop.store.selection import select_results

    failing = _verdicts(flags["fail_on"])
    margins, confidence = parse_margins(flags["margins"]), _confidence(flags["confidence"])
    file = _picture(plot)
    a, b = _sides(lambda words: select_results(words, results_dir), results, flags["of_a"], flags["of_b"])
    metrics = [key.strip() for each in flags["metrics"] for key in each.split(",")]
    comparison = compare_results(a, b, margins=margins, confidence=confidence, metrics=metrics)
    _show(comparison, form)
    if file:
        from nodrop.charts import comparison as pictured
        from nodrop.charts.render import write_chart

        write_chart(pictured.build_chart(comparison), file)
    if comparison.verdict in failing:
        raise FailOnError(f"--fail-on {comparison.verdict} asked: {comparison.sentence}")


def _sides(
    select: "Any", results: Sequence[str], of_a: Sequence[str], of_b: Sequence[str]
) -> "tuple[Sequence[SelectedResult], Sequence[SelectedResult]]":
    """The runs of A and of B. Raises ConfigError when it is not clear which is which."""
    if bool(of_a) != bool(of_b) or (of_a and results):
        raise ConfigError("compare: --a and --b go together, in place of other results; name both sides the same way")
    if of_a:
        return select(of_a), select(of_b)
    if len(results) == 2:
        return select(results[:1]), select(results[1:])
    if len(results) != 1:
        raise ConfigError(
            f"compare: {len(results)} results asked, two sides expected; join the runs of one by commas, "
            "or name them with --a and --b"
        )
    from nodrop.analysis.stored_comparison import require_variants

    return require_variants(select(results), results[0])


def _show(comparison: "Comparison", form: str) -> None:
    if form == "json":
        click.echo(comparison.model_dump_json(indent=1))
        return
    from nodrop.report.document.comparison import build_comparison_section

    section = build_comparison_section(comparison)
    if form == "markdown":
        from nodrop.report.markdown import render_markdown_sections

        click.echo(render_markdown_sections("", [section]), nl=False)
        return
    from nodrop.cli.console import show
    from nodrop.report.terminal import render_sections

    show(render_sections([section]), sys.stdout)


def _confidence(written: str) -> float:
    from nodrop.units import parse_ratio

    try:
        confidence = parse_ratio(written)
    except ValueError:
        confidence = 0.0
    if not 0.5 <= confidence < 1:
        raise ConfigError(f"--confidence: {written!r} asked, 50 % up to less than 100 % expected; write 95%")
    return confidence


def _verdicts(written: Sequence[str]) -> set[str]:
    asked = {part.strip() for each in written for part in each.split(",")}
    unknown = sorted(asked - set(FAIL_ON))
    if unknown:
        raise ConfigError(
            f"--fail-on: {', '.join(unknown)} asked, a verdict expected; name one of {', '.join(FAIL_ON)}"
        )
    return asked


def _picture(plot: str | None) -> Path | None:
    """Where a picture goes, refused before any work where it cannot be one."""
    if plot is None:
        return None
    from nodrop.charts.render import require_suffix

    require_suffix(Path(plot))
    return Path(plot)
