"""A trend for a terminal with a plot, and as Markdown: statements, segments, and differences at each change."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from nodrop.analysis.text import format_effect
from nodrop.analysis.trend import Trend, TrendChange
from nodrop.analysis.trend_text import (
    describe_trend,
    format_change,
    format_run_count,
    format_segment_spread,
    format_series_title,
    format_time_in_series,
)
from nodrop.analysis.types import ComparisonOutcome
from nodrop.formatting import format_measure
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Cell, Paragraph, Section, Table, Tone
from nodrop.report.markdown import render_markdown_sections
from nodrop.report.terminal import render_blocks
from nodrop.report.trend_plot import draw_trend

TONES: dict[ComparisonOutcome, Tone] = {ComparisonOutcome.WORSE: "bad", ComparisonOutcome.BETTER: "good"}
SUSPECTS_MAX = 6
SEGMENTS = (
    cells.make_text_column("since"),
    cells.make_text_column("first run"),
    cells.make_number_column("runs"),
    cells.make_number_column("median"),
    cells.make_number_column("spread"),
    cells.make_text_column("change"),
)


def render_trend(trend: Trend, columns: int, *, plain: bool = False) -> RenderableType:
    """Return the trend for a terminal.

    Args:
        trend: the trend.
        columns: the width of the terminal.
        plain: whether to plot with ASCII only.
    """
    parts: list[RenderableType] = [render_blocks(tuple(_build_statements(trend)))]
    if trend.groups:
        title = Text(format_series_title(trend.series), style="dim")
        parts += ["", title, *draw_trend(trend, columns, plain=plain), "", render_blocks(tuple(_build_details(trend)))]
    return Group(*parts)


def render_trend_markdown(trend: Trend) -> str:
    """Return the trend as Markdown, without the plot."""
    blocks = (*_build_statements(trend), *(_build_details(trend) if trend.groups else ()))
    return render_markdown_sections("", [Section(name="trend", title="", blocks=blocks)])


def _build_statements(trend: Trend) -> Iterator[Block]:
    first, *details = describe_trend(trend)
    yield Paragraph(text=first, tone=TONES.get(trend.verdict, "plain") if trend.verdict else "plain")
    yield from (Paragraph(text=text) for text in details)


def _build_details(trend: Trend) -> Iterator[Block]:
    """Yield the segments, then the differences at each change, the latest first."""
    changes: list[TrendChange | None] = [None, *trend.changes]
    rows = (_build_row(trend, position, change) for position, change in enumerate(changes))
    yield Table(caption="", columns=SEGMENTS, rows=tuple(rows))
    for change in reversed(trend.changes):
        suspects = [f"{each.text}: {each.a} → {each.b}" for each in change.suspects[:SUSPECTS_MAX]]
        more_count = len(change.suspects) - len(suspects)
        suspects += [f"and {more_count} more"] if more_count > 0 else []
        size = format_change(change, trend.series.unit)
        yield Paragraph(text=f"Differences since run {change.run_id}, {size}:")
        yield Bullets(items=tuple(suspects or ["none recorded"]))


def _build_row(trend: Trend, position: int, change: TrendChange | None) -> tuple[Cell, ...]:
    group, unit = trend.groups[position], trend.series.unit
    effect = f"{format_effect(change.effect, unit)}, {change.verdict}" if change else ""
    return (
        cells.make_text_cell(format_time_in_series(trend.series, group.start)),
        cells.make_text_cell(group.run_ids[0]),
        cells.make_text_cell(format_run_count(group)),
        cells.make_text_cell(format_measure(group.median, unit)),
        cells.make_text_cell(format_segment_spread(group)),
        Cell(text=effect, tone=TONES[change.verdict] if change else "plain"),
    )
