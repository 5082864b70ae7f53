"""The grade of several configurations for a terminal, as Markdown, and as JSON."""

import math
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from nodrop.analysis.grade import GradedResult, GradedResults, format_grade, format_share
from nodrop.formatting import LIMIT_NAMES
from nodrop.model.goal import Limit
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Cell, Paragraph, Section, Table
from nodrop.report.markdown import render_markdown_sections
from nodrop.report.terminal import render_blocks

COLUMNS = (
    cells.make_text_column("configuration", is_lead=True),
    cells.make_number_column("rate"),
    cells.make_number_column("bits per second"),
    cells.make_number_column("of baseline"),
    cells.make_number_column("cost"),
)


def render_grade(graded: GradedResults) -> RenderableType:
    """Return the grade for a terminal."""
    return render_blocks(tuple(_build_blocks(graded)))


def render_grade_markdown(graded: GradedResults) -> str:
    """Return the grade as Markdown."""
    return render_markdown_sections("", [Section(name="grade", title="", blocks=tuple(_build_blocks(graded)))])


def export_grade(graded: GradedResults) -> dict[str, Any]:
    """Return the grade for JSON; shares and costs are ratios."""
    return {
        "grade": graded.letter,
        "metric": graded.baseline.measure.key,
        "baseline": _export_result(graded.baseline),
        "results": [_export_result(each) for each in graded.others],
    }


def list_cautions(graded: GradedResults) -> Iterator[str]:
    """Yield what speaks against the grade: results above the baseline, or limited by something other than the SUT."""
    for each in graded.others:
        if each.share > 1:
            yield f"{each.name} is above the baseline: the runs vary by more than the cost, or the baseline is another"
    for each in (graded.baseline, *graded.others):
        if each.measure.limit != Limit.SUT:
            yield f"{each.name}: {LIMIT_NAMES[Limit(each.measure.limit)]} was the limit, not the SUT"


def _build_blocks(graded: GradedResults) -> Iterator[Block]:
    yield Paragraph(text=format_grade(graded) + ".")
    rows = tuple(_build_row(each) for each in (graded.baseline, *graded.others))
    yield Table(caption="Throughput", columns=COLUMNS, rows=rows)
    if cautions := tuple(list_cautions(graded)):
        yield Bullets(items=cautions, tone="caution")


def _build_row(result: GradedResult) -> tuple[Cell, ...]:
    return (
        cells.make_text_cell(result.name),
        cells.make_rate_cell(result.measure.value),
        cells.make_bit_rate_cell(result.rate_bps),
        cells.make_text_cell(format_share(result.share)),
        cells.make_text_cell(f"{math.ceil(result.cost * 1000 - 1e-9) / 10 + 0.0:.1f} %"),
    )


def _export_result(result: GradedResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "run_id": result.summary.run_id,
        "rate_pps": result.measure.value,
        "rate_bps": result.rate_bps,
        "share": result.share,
        "cost": result.cost,
    }
