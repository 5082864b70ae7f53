"""A trend for people: what happened, drawn, and the groups with what differs between them."""

from collections.abc import Iterator

from rich.console import Group as Shown
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from nodrop.analysis.text import effect_text
from nodrop.analysis.trend import Change, Trend
from nodrop.analysis.trend_text import change_text, group_text, sentences, spread_text, time_text, title
from nodrop.analysis.types import ComparisonOutcome
from nodrop.formatting import format_measure
from nodrop.report.tables import plain_table
from nodrop.report.trend_plot import plot

STYLES = {ComparisonOutcome.WORSE: "bold red", ComparisonOutcome.BETTER: "bold green"}
SUSPECTS_MAX = 6
HEADINGS = ("since", "first run", "runs", "median", "spread", "change")


def trend_report(trend: Trend, columns: int, *, drawn: bool = True, plain: bool = False) -> RenderableType:
    """All of it, for a terminal so many columns wide.

    Args:
        trend: what to tell.
        columns: as many there are.
        drawn: whether with the drawing.
        plain: whether to draw with ASCII only.
    """
    said = list(sentences(trend))
    style = STYLES[trend.verdict] if trend.verdict else "bold"
    parts: list[RenderableType] = [Text(said[0], style=style), *(Text(line) for line in said[1:])]
    if drawn and trend.groups:
        parts += ["", Text(title(trend.series), style="dim"), *plot(trend, columns, plain=plain)]
    if trend.groups:
        parts += ["", groups_table(trend), *(Text(line) for line in suspect_lines(trend))]
    return Shown(*parts)


def groups_table(trend: Trend) -> Table:
    """Every group, with the change that began it."""
    table = plain_table(*HEADINGS)
    table.columns[-1].justify = "left"
    for row in _rows(trend):
        table.add_row(*(Text(cell, style=style) for cell, style in row))
    return table


def suspect_lines(trend: Trend) -> Iterator[str]:
    """What differs from each change on, the newest first."""
    for change in reversed(trend.changes):
        told = [f"{each.text}: {each.a} → {each.b}" for each in change.suspects[:SUSPECTS_MAX]]
        more = len(change.suspects) - len(told)
        texts = [*told, *([f"and {more} more"] if more > 0 else [])] or ["nothing that is recorded"]
        yield ""
        far = change_text(change, trend.series.unit)
        yield f"What differs from run {change.run_id} on, {far}:"
        yield from (f"  {text}" for text in texts)


def markdown(trend: Trend) -> Iterator[str]:
    """The same as lines of Markdown, without the drawing."""
    yield from (f"{line}\n" for line in sentences(trend))
    if not trend.groups:
        return
    yield f"| {' | '.join(HEADINGS)} |"
    yield "|---|---|--:|--:|--:|---|"
    for row in _rows(trend):
        cells = (cell.replace("|", "\\|") for cell, _style in row)
        yield f"| {' | '.join(cells)} |"
    for line in suspect_lines(trend):
        yield f"- {line.strip()}" if line.startswith("  ") else f"{line}\n" if line else ""


def _rows(trend: Trend) -> Iterator[tuple[tuple[str, str], ...]]:
    """Cells of every group, each with its style."""
    unit = trend.series.unit
    changes: list[Change | None] = [None, *trend.changes]
    for group, change in zip(trend.groups, changes, strict=True):
        yield (
            (time_text(trend.series, group.start), ""),
            (group.run_ids[0], ""),
            (group_text(group), ""),
            (format_measure(group.median, unit), "bold"),
            (spread_text(group), ""),
            (f"{effect_text(change.effect, unit)}, {change.verdict}", STYLES[change.verdict]) if change else ("", ""),
        )
