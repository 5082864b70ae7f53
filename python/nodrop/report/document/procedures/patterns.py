"""The report of a procedure of load patterns: a row for each pattern, two columns for each goal."""

from collections.abc import Iterator, Sequence

from nodrop.charts import patterns as patterns_chart
from nodrop.model.choices import PatternKind
from nodrop.model.procedure import PatternsPlan
from nodrop.model.result import RunResult
from nodrop.procedure.patterns import (
    FLAT,
    PatternRate,
    PatternsReport,
    build_patterns_report,
    list_cautions,
    list_deviations,
)
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Card, Cell, Paragraph, Table, build_figure
from nodrop.report.document.labels import describe_sut
from nodrop.report.document.procedures.base import ProcedureView, build_deviations
from nodrop.units import format_count, format_pps, format_ratio


def build_view(plan: PatternsPlan, results: Sequence[RunResult]) -> ProcedureView:
    """Return the parts of a report on a procedure of load patterns."""
    report = build_patterns_report(plan, results)
    cautions = tuple(list_cautions(report, results))
    table = (_build_table(report).brief(),) if report.rates else ()
    return ProcedureView(
        title="Load patterns",
        sentence=f"nodrop searched the rate of {describe_sut(results[0])} under flat load and under "
        f"{format_count(len(plan.kinds) - 1, 'pattern')} of the same mean. {report.text}",
        cards=tuple(_build_cards(report)),
        answer=(*table, Paragraph(text=report.text)),
        cautions=cautions,
        blocks=tuple(_build_blocks(report, results, cautions)),
    )


def _build_cards(report: PatternsReport) -> Iterator[Card]:
    for goal in report.goals:
        flat, least = report.find_rate(FLAT, goal), report.find_least(goal)
        if flat and least:
            yield Card(
                label=goal,
                text=f"{format_ratio(least.flat_ratio or 0.0)} of flat",
                about=f"under {least.kind}, the least",
                details=(f"{format_pps(least.load_pps)}, flat {format_pps(flat.load_pps)}",),
            )


def _build_blocks(report: PatternsReport, results: Sequence[RunResult], cautions: tuple[str, ...]) -> Iterator[Block]:
    yield Paragraph(text=report.text)
    if cautions:
        yield Bullets(items=cautions, tone="caution")
    if report.rates:
        yield _build_table(report)
        yield from build_figure(lambda: patterns_chart.build_chart(report))
        yield from build_deviations(list_deviations(results))


def _build_table(report: PatternsReport) -> Table:
    columns = [cells.make_text_column("pattern")]
    for goal in report.goals:
        columns += [cells.make_number_column(goal, "pps"), cells.make_number_column("of flat", "ratio")]
    return Table(
        caption="",
        columns=tuple(columns),
        rows=tuple(_build_row(report, kind) for kind in report.plan.kinds),
        note="Rates: mean loads over all directions"
        + (", medians of the repeats." if report.plan.repeat_count > 1 else "."),
    )


def _build_row(report: PatternsReport, kind: PatternKind) -> tuple[Cell, ...]:
    row = [cells.make_text_cell(kind)]
    for goal in report.goals:
        rate = report.find_rate(kind, goal)
        row += [cells.make_rate_cell(rate.load_pps if rate else None), _make_share_cell(rate)]
    return tuple(row)


def _make_share_cell(rate: PatternRate | None) -> Cell:
    if rate is None or rate.flat_ratio is None or rate.kind == FLAT:
        return cells.NOTHING
    return Cell(text=format_ratio(rate.flat_ratio), key=rate.flat_ratio)
