"""Repeats of one setup, or two setups in alternation, on one screen: cautions first, the answer last."""

from collections.abc import Iterator, Sequence

from nodrop.analysis import Comparison, MetricComparison
from nodrop.analysis.spread import Spread, compute_spreads
from nodrop.analysis.text import format_outcome
from nodrop.errors import ConfigError
from nodrop.formatting import describe_run, describe_traffic, format_measure, format_sut_name
from nodrop.model.result import RunResult, Status
from nodrop.model.suite import Suite
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Cell, Paragraph, Section, Table
from nodrop.report.document.comparison import TONES, build_effect_cells, list_cautions
from nodrop.report.document.expectations import list_missed_expectations
from nodrop.report.document.procedures import ProcedureView, view_procedure
from nodrop.report.document.screen import build_cautions, build_commands
from nodrop.report.document.status import build_suite_status
from nodrop.report.document.suite import (
    build_spread_table,
    compare_variants,
    describe_runs,
    format_relative_deviation,
    format_short_name,
)
from nodrop.report.document.suite_screen import list_suite_cautions
from nodrop.store.summaries import summarize_result
from nodrop.units import format_count

ROWS_MAX = 4
"""Most measures in the table: rates first."""
DIFFERENCES_MAX = 2
LATENCY_KEY = "latency_p99_at_"
"""Start of the keys of the latencies that have a row."""


def build_repeat_screen(
    suite: Suite, results: Sequence[RunResult], comparison: Comparison | None = None
) -> tuple[Section, ...]:
    """Return the screen of repeats; the answer is last, so that it is still on the terminal.

    Args:
        suite: repeats of one setup, or of two.
        results: the results of its runs, in the same order, at least one.
        comparison: the comparison of two setups, if it is not that with the default margins.
    """
    name = suite.suite_id[-6:]
    if procedure := view_procedure(suite, results):
        return _build_procedure_screen(procedure, suite, results)
    try:
        comparison = comparison or compare_variants(results)
        answer = _build_answer(suite, results, comparison)
    except ConfigError as error:
        answer = (Paragraph(text=f"No comparison: {error}", tone="bad"),)
    blocks: tuple[tuple[str, Sequence[Block]], ...] = (
        ("headline", tuple(_describe_suite(suite, results))),
        ("cautions", build_cautions(_list_cautions(results, comparison), name)),
        ("commands", (*_describe_comparison(comparison), build_commands(name, report="report"))),
        ("answer", answer),
    )
    return tuple(Section(name=name, title="", blocks=tuple(each)) for name, each in blocks if each)


def _build_procedure_screen(
    procedure: ProcedureView, suite: Suite, results: Sequence[RunResult]
) -> tuple[Section, ...]:
    name = suite.suite_id[-6:]
    cautions = [*procedure.cautions, *_list_cautions(results, None)]
    blocks = (
        ("headline", tuple(_describe_suite(suite, results))),
        ("cautions", build_cautions(cautions, name)),
        ("commands", (build_commands(name, report="report"),)),
        ("answer", procedure.answer),
    )
    return tuple(Section(name=name, title="", blocks=tuple(each)) for name, each in blocks if each)


def _build_answer(suite: Suite, results: Sequence[RunResult], comparison: Comparison | None) -> tuple[Block, ...]:
    if comparison:
        return tuple(_build_comparison(comparison))
    if any(run.variant for run in suite.runs):
        return (Paragraph(text="No comparison: a setup has no complete run.", tone="bad"),)
    return tuple(_build_spreads(results))


def _describe_suite(suite: Suite, results: Sequence[RunResult]) -> Iterator[Paragraph]:
    if suite.procedure:
        frames, *_ = describe_traffic(results[0].plan.traffic).partition(",")
        yield Paragraph(text=f"{format_sut_name(results[0])}, {frames}")
        yield build_suite_status(suite, describe_runs(suite), results)
        return
    suts = {result.plan.variant: format_sut_name(result) for result in results}
    named = [f"{variant} {sut}" for variant, sut in sorted(suts.items())] if len(suts) > 1 else list(suts.values())
    plan = results[0].plan
    sizes = len(suite.frame_sizes)
    traffic = format_count(sizes, "frame size") if sizes > 1 else describe_traffic(plan.traffic)
    yield Paragraph(text=f"{', '.join(named)}, {traffic}, {describe_run(plan)}")
    yield build_suite_status(suite, describe_runs(suite), results)


def _list_cautions(results: Sequence[RunResult], comparison: Comparison | None) -> list[str]:
    """Return missed expectations, the cautions of the comparison, then those of the runs."""
    has_one_size = len({result.plan.frame_size for result in results}) == 1

    def name_run(result: RunResult) -> str:
        name = format_short_name(result.plan)
        return name.removeprefix(f"{result.plan.frame_size}, ") if has_one_size else name

    missed = (f"{name_run(result)}: {text}" for result in results for text in list_missed_expectations(result))
    of_runs = list_suite_cautions(results, name_run)
    return [*missed, *(list_cautions(comparison) if comparison else ()), *of_runs]


def _describe_comparison(comparison: Comparison | None) -> Iterator[Paragraph]:
    """Yield the differences between two setups, and the next step."""
    if not comparison:
        return
    texts = [f"{each.text} {each.a} → {each.b}" for each in comparison.differences]
    more = f"; {len(texts) - DIFFERENCES_MAX} more" if len(texts) > DIFFERENCES_MAX else ""
    yield Paragraph(text=f"B differs in: {'; '.join(texts[:DIFFERENCES_MAX]) or 'nothing'}{more}", tone="quiet")
    yield from (Paragraph(text=text) for text in comparison.advice[:1])


def _build_comparison(comparison: Comparison) -> Iterator[Block]:
    titles = ("measure", "A", "B", "difference", "outcome")
    yield Table(
        caption="",
        columns=tuple(map(cells.make_text_column, titles)),
        rows=tuple(_build_metric(metric) for metric in _select_metrics(comparison)),
    )
    yield Paragraph(text=comparison.sentence, tone=TONES[comparison.verdict])


def _select_metrics(comparison: Comparison) -> Sequence[MetricComparison]:
    """Return the primary metrics, then those that decide the outcome, then the others."""
    ranked = sorted(comparison.metrics, key=lambda metric: (not metric.headline, metric.verdict != comparison.verdict))
    return ranked[:ROWS_MAX]


def _build_metric(metric: MetricComparison) -> tuple[Cell, ...]:
    return *build_effect_cells(metric), cells.make_text_cell(format_outcome(metric), TONES[metric.verdict])


def _build_spreads(results: Sequence[RunResult]) -> Iterator[Block]:
    complete = [result for result in results if result.status is Status.COMPLETE]
    spreads = compute_spreads([summarize_result(result) for result in complete])
    if not spreads:
        yield Paragraph(text="No run has a result.", tone="bad")
        return
    rates = [each for each in spreads if each.unit == "pps"]
    latencies = [each for each in spreads if each.unit == "ns" and each.key.startswith(LATENCY_KEY)]
    others = [each for each in spreads if each.unit == "ratio"]
    yield build_spread_table([*rates, *others, *latencies][:ROWS_MAX]).brief()
    yield Paragraph(text=format_spread(spreads[0]), tone="good" if spreads[0].count > 1 else "caution")


def format_spread(spread: Spread) -> str:
    """Format the spread of a measure: `NDR: 520 kpps, 498 to 531 kpps in 5 repeats, which differ by 2.1 %`."""
    least = "at least " if spread.at_least else ""
    median, low, high = (format_measure(each, spread.unit) for each in (spread.median, spread.lowest, spread.highest))
    if spread.count == 1:
        return f"{spread.text}: {least}{median} in one run"
    deviation = format_relative_deviation(spread)
    runs = format_count(spread.count, "repeat")
    return f"{spread.text}: {least}{median}, {low} to {high} in {runs}; repeatability {deviation} (standard deviation)"
