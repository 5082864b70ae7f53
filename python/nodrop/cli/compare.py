"""`nodrop compare`: the comparison of two setups by their runs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.choice import Choice, find_nearest
from nodrop.cli.comparison_runs import list_run_options, measure_suts, run_options
from nodrop.cli.completion_types import DIR, FILE, RESULT
from nodrop.cli.help_sections import GroupedCommand
from nodrop.cli.margins import margin_option, parse_margins
from nodrop.cli.suite_output import render_suite
from nodrop.errors import ConfigError, FailOnError

if TYPE_CHECKING:
    from nodrop.analysis import Comparison
    from nodrop.cli.measure import MeasuredSuite
    from nodrop.store.selection import SelectedResult

FAIL_ON = ("worse", "better", "undecided", "equivalent")
FORMS = ("text", "markdown", "json")
COMMON_OPTIONS = (
    *("suts", "repeat", "nfvbench_frame_size", "profile", "budget", "files", "settings"),
    *("of_a", "of_b", "margins", "metrics", "fail_on", "allow_undecided", "form", "plot", "results_dir"),
)
"""Arguments of the options that `--help` shows; `--help-all` shows all."""
EPILOG = """
\b
Examples:
  nodrop compare --sut bridge,ovs                                measure both, alternating, and compare them
  nodrop compare --sut bridge,ovs --budget 20s --repeat 3        the same in about two minutes
  nodrop compare 3f9a2c latest                                   one run each: estimates the repeats needed
  nodrop compare label:before label:after                        all runs of two labels
  nodrop compare --a A1,A2,A3 --b B1,B2,B3 --margin 2%           repeats by name
  nodrop compare 20260131T120000Z-5e01d7                         an interleaved suite of A and B
  nodrop compare label:main label:patch --fail-on worse          exit code 8 if B is worse or undecided
  nodrop compare old.json new.json                               NFVbench's or TRex's results
"""


@click.command(cls=GroupedCommand, common=COMMON_OPTIONS, epilog=EPILOG, short_help="Compare two setups.")
@click.argument("results", nargs=-1, type=RESULT)
@run_options
@click.option("--a", "of_a", multiple=True, type=RESULT, help="Runs of A instead of the first RESULT; repeatable.")
@click.option("--b", "of_b", multiple=True, type=RESULT, help="Runs of B instead of the second RESULT; repeatable.")
@margin_option
@click.option("--confidence", default="95%", show_default=True, metavar="SHARE", help="Confidence level.")
@click.option(
    "--metric", "metrics", multiple=True, metavar="KEY", help="Metrics to compare, e.g. ndr,pdr_0.5%.  [default: all]"
)
@click.option(
    "--fail-on",
    multiple=True,
    metavar="VERDICT",
    help="Exit with status 8 on this verdict, e.g. worse, and if undecided.",
)
@click.option("--allow-undecided", is_flag=True, help="With --fail-on, pass if the outcome is undecided.")
@click.option("--format", "form", type=Choice(FORMS), default="text", show_default=True, help="Output format.")
@click.option("--plot", type=FILE, help="Write a chart: .svg, .png, or .vl.json for Vega-Lite.")
@click.option("--results-dir", default="results", show_default=True, type=DIR, help="Directory of results.")
def compare(results: Sequence[str], results_dir: str, form: str, plot: str | None, **flags: Any) -> int:
    """Compare setup B with setup A by their runs, stored ones or, with --sut, new ones.

    Each RESULT is one or more runs, separated by commas: a file, a directory, a run id, a suite id, `latest`,
    `label:NAME`, `tag:NAME`. A single RESULT is an interleaved suite of two setups.

    \b
    worse, better   the difference is statistically significant
    equivalent      the difference is significantly smaller than the margin
    undecided       neither; the output estimates how many more runs are needed
    """
    from nodrop.analysis.stored_comparison import compare_results
    from nodrop.store.selection import select_results

    failing = _parse_verdicts(flags["fail_on"], flags["allow_undecided"])
    margins, confidence = parse_margins(flags["margins"]), _parse_confidence(flags["confidence"])
    file = _check_chart_file(plot)
    measured = _measure(results, flags, results_dir, form)
    if measured and not (measured.suite and measured.has_both_variants):
        return measured.exit_code
    names = (measured.suite.suite_id,) if measured and measured.suite else results
    a, b = _select_sides(lambda names: select_results(names, results_dir), names, flags["of_a"], flags["of_b"])
    metrics = [key.strip() for each in flags["metrics"] for key in each.split(",")]
    try:
        comparison = compare_results(a, b, margins=margins, confidence=confidence, metrics=metrics)
    except ConfigError as error:
        if not (measured and measured.exit_code):
            raise
        click.echo(f"nodrop: error: {error}", err=True)
        return measured.exit_code  # of the failures that caused it
    _show(comparison, form, measured)
    if file:
        from nodrop.charts import comparison as charts
        from nodrop.charts.render import write_chart

        write_chart(charts.build_chart(comparison), file)
    if measured and measured.exit_code:
        return measured.exit_code
    if comparison.verdict in failing:
        is_open = comparison.verdict.value not in ",".join(flags["fail_on"])
        problem = "the comparison could not decide (--allow-undecided passes then): " if is_open else ""
        raise FailOnError(f"--fail-on {','.join(flags['fail_on'])}: {problem}{comparison.sentence}")
    return 0


def _measure(results: Sequence[str], flags: dict[str, Any], results_dir: str, form: str) -> "MeasuredSuite | None":
    """Measure the SUTs of `--sut`; None without it. Raises ConfigError for options that contradict it or need it."""
    if flags["suts"]:
        _require_no_results(results, flags)
        return measure_suts(flags, results_dir, sys.stdout if form == "text" else sys.stderr)
    if unused := list_run_options(flags):
        raise ConfigError(f"compare: {unused[0]} changes runs, and stored ones are compared; use it with --sut A,B")
    return None


def _require_no_results(results: Sequence[str], flags: dict[str, Any]) -> None:
    """Raise ConfigError if stored results are named beside SUTs to measure."""
    if results or flags["of_a"] or flags["of_b"]:
        raise ConfigError("compare: --sut measures both sides; remove the results, or compare them without --sut")


def _select_sides(
    select: "Any", results: Sequence[str], of_a: Sequence[str], of_b: Sequence[str]
) -> "tuple[Sequence[SelectedResult], Sequence[SelectedResult]]":
    """Select the runs of A and of B. Raises ConfigError if the sides are ambiguous."""
    if bool(of_a) != bool(of_b) or (of_a and results):
        raise ConfigError("compare: --a and --b must be used together and without RESULT arguments")
    if of_a:
        return select(of_a), select(of_b)
    if len(results) == 2:
        return select(results[:1]), select(results[1:])
    if len(results) != 1:
        raise ConfigError(
            f"compare: expected two sides, got {len(results)} results; separate the runs of a side by commas, or use "
            "--a and --b"
        )
    from nodrop.analysis.stored_comparison import require_variants

    return require_variants(select(results), results[0])


def _show(comparison: "Comparison", form: str, measured: "MeasuredSuite | None") -> None:
    """Print the comparison; that of runs just measured on one screen of a terminal."""
    if form == "json":
        from nodrop.cli.outputs import print_json
        from nodrop.formatting.messages import WITH_SENTENCES

        print_json(comparison.model_dump_json(indent=1, context=WITH_SENTENCES) + "\n")
        return
    from nodrop.report.document.comparison import build_comparison_section

    section = build_comparison_section(comparison)
    if form == "markdown":
        from nodrop.report.markdown import render_markdown_sections

        click.echo(render_markdown_sections("", [section]), nl=False)
        return
    from nodrop.cli.console import print_renderable
    from nodrop.report.terminal import render_sections

    if measured and measured.suite:
        click.echo()
        if sys.stdout.isatty():
            screen = render_suite(measured.suite, measured.results, is_screen=True, comparison=comparison)
            print_renderable(screen, sys.stdout)
            return
    print_renderable(render_sections([section]), sys.stdout)


def _parse_confidence(text: str) -> float:
    from nodrop.units import parse_ratio

    try:
        confidence = parse_ratio(text)
    except ValueError:
        confidence = 0.0
    if not 0.5 <= confidence < 1:
        raise ConfigError(f"--confidence: {text!r} is not between 50 % and 100 %; use e.g. 95%")
    return confidence


def _parse_verdicts(values: Sequence[str], allows_undecided: bool) -> set[str]:
    """Return the verdicts that fail: those named, and undecided if any is named, as it would otherwise pass unseen."""
    verdicts = {part.strip() for value in values for part in value.split(",")}
    for unknown in sorted(verdicts - set(FAIL_ON)):
        nearest = find_nearest(unknown, FAIL_ON)
        hint = f"did you mean {nearest}?" if nearest else f"choose from {', '.join(FAIL_ON)}"
        raise ConfigError(f"--fail-on: unknown verdict {unknown}; {hint}")
    if allows_undecided and (not verdicts or "undecided" in verdicts):
        raise ConfigError("--allow-undecided: contradicts --fail-on; name the verdicts that fail, e.g. --fail-on worse")
    return verdicts | ({"undecided"} if verdicts and not allows_undecided else set())


def _check_chart_file(plot: str | None) -> Path | None:
    """Return the file of the chart, after checking its suffix."""
    if plot is None:
        return None
    from nodrop.charts.render import require_suffix

    require_suffix(Path(plot))
    return Path(plot)
