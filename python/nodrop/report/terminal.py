"""Renders the blocks of a report for a terminal: as wide as the terminal, with its own colors."""

import re
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from nodrop.model.result import RunResult
from nodrop.report.document.blocks import (
    Block,
    Bullets,
    Code,
    Document,
    FactList,
    Figure,
    Fold,
    Glossary,
    Paragraph,
    Section,
    Table,
    Tone,
)
from nodrop.report.document.run_summary import build_run_summary
from nodrop.report.document.screen import build_screen
from nodrop.system.output_encoding import is_utf, replace_missing_characters

STYLES: dict[Tone, str] = {
    "plain": "",
    "good": "bold green",
    "caution": "yellow",
    "bad": "bold red",
    "quiet": "dim",
}
CELL_STYLES: dict[Tone, str] = STYLES | {"good": "green", "bad": "red"}
MARKS: dict[Tone, str] = {"plain": "- ", "good": "- ", "caution": "! ", "bad": "! ", "quiet": "- "}
GAP = 2
"""Blanks between two columns, one of them part of the table's frame."""
HEADER_RULE = box.Box(str(box.SIMPLE_HEAD), ascii=True)
"""A rule below the header; marked as ASCII because rich draws frames with bars in other encodings than UTF-8."""
LONG_WIDTH_MIN = 30
"""The width below which a column of sentences moves below its table."""
HEADING_LINES_MAX = 3
BREAK = re.compile(r"(?<=[ .])")
"""The positions at which a heading may break: after a blank or a point."""


def render_result(result: RunResult, with_trials: bool = False) -> RenderableType:
    """Return the summary of a run; with its trials on request."""
    return render_sections(build_run_summary(result, with_trials))


def render_screen(result: RunResult) -> RenderableType:
    """Return the result of a search or a fixed rate on one screen; that of other runs in full."""
    has_figures = result.goals or result.fixed_trial
    return render_sections(build_screen(result), with_rules=False) if has_figures else render_result(result)


def render_document(document: Document) -> RenderableType:
    """Return an entire report; charts are left out."""
    return Group(Text(document.title, style="bold"), document.sentence, "", render_sections(document.sections))


def render_sections(sections: Sequence[Section], *, with_rules: bool = True) -> RenderableType:
    """Return sections below each other, with an empty line between them; for the rules see `render_blocks`."""
    parts: list[RenderableType] = []
    for section in sections:
        parts += [""] if parts else []
        has_text = bool(section.blocks) and isinstance(section.blocks[0], (Paragraph, Bullets))
        if section.title:
            parts += [Text(section.title, style="bold"), *([] if has_text else [""] if section.blocks else [])]
        if section.blocks:
            parts.append(render_blocks(section.blocks, with_rules=with_rules))
    return Group(*parts)


def render_blocks(blocks: Sequence[Block], *, with_rules: bool = True) -> RenderableType:
    """Return blocks below each other; texts follow each other without an empty line.

    Args:
        blocks: the blocks.
        with_rules: whether a rule separates the header of a table from its rows.
    """
    parts: list[RenderableType] = []
    was_text = True
    for block in blocks:
        if isinstance(block, Figure):
            continue
        is_text = isinstance(block, (Paragraph, Bullets))
        if parts and not (is_text and was_text):
            parts.append("")
        parts.append(_render_block(block, with_rules=with_rules))
        was_text = is_text
    return Group(*parts)


def _render_block(block: Block, *, with_rules: bool) -> RenderableType:
    match block:
        case Paragraph():
            return Text(block.text, style=STYLES[block.tone])
        case Bullets():
            return Group(*(_render_item(MARKS[block.tone], item, CELL_STYLES[block.tone]) for item in block.items))
        case Table():
            return TerminalTable(block, with_rule=with_rules)
        case Code():
            return Text(block.text.rstrip("\n"))
        case Glossary():
            return _render_pairs(block.pairs)
        case FactList():
            title, body = block.caption, _render_pairs(block.pairs)
        case Fold():
            title, body = block.title, render_blocks(block.blocks)
        case Figure():
            title, body = block.chart.title, Text(block.chart.summary)
    return Group(Text(title, style="bold"), body)


def _render_item(mark: str, text: str, style: str) -> RenderableType:
    """Return a text with a mark; further lines are indented."""
    grid = RichTable.grid()
    grid.add_row(Text(mark, style=style), Text(text, style=style))
    return grid


def _render_pairs(pairs: Sequence[tuple[str, str]]) -> RenderableType:
    grid = RichTable.grid(padding=(0, GAP, 0, 0))
    for name, text in pairs:
        grid.add_row(name, Text(text))
    return grid


class TerminalTable:
    """A table for a console; one too wide continues below, and each part repeats the leading columns."""

    def __init__(self, table: Table, *, with_rule: bool = True) -> None:
        self._table, self._with_rule = table, with_rule
        self._long = [position for position, column in enumerate(table.columns) if column.is_long]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield caption, parts, sentences without a column, and note."""
        table = _replace_missing_characters(self._table, options.encoding)
        yield from TerminalTable(table, with_rule=self._with_rule)._render_parts(options.max_width)

    def _render_parts(self, width: int) -> Iterator[RenderableType]:
        table = self._table
        if table.caption:
            yield Text(f"{table.caption}:", style="bold")
        groups = group_columns(table, width)
        long = self._long if len(groups) == 1 and self._has_room(groups[0], width) else []
        for number, group in enumerate(groups):
            if number:
                yield ""
            yield _render_part(table, sorted([*group, *long]), with_rule=self._with_rule)
        if self._long and not long:
            yield ""
            yield from self._render_sentences()
        if table.note:
            yield Text(table.note, style="dim")

    def _has_room(self, group: Sequence[int], width: int) -> bool:
        used_width = sum(measure_column(self._table, column) + GAP for column in group)
        return width - used_width >= sum(
            min(LONG_WIDTH_MIN, measure_column(self._table, each)) + GAP for each in self._long
        )

    def _render_sentences(self) -> Iterator[RenderableType]:
        for row in self._table.rows:
            texts = [row[column].text for column in self._long if row[column].text != "-"]
            if texts:
                yield _render_item(f"{row[0].text:>3} ", " → ".join(texts), "")


def _replace_missing_characters(table: Table, encoding: str) -> Table:
    """Return a table without the characters that the encoding lacks: those in ASCII may be wider."""
    if is_utf(encoding):
        return table
    columns = (each.replace(title=replace_missing_characters(each.title, encoding)) for each in table.columns)
    rows = (
        tuple(cell.replace(text=replace_missing_characters(cell.text, encoding)) for cell in row) for row in table.rows
    )
    return table.replace(columns=tuple(columns), rows=tuple(rows))


def group_columns(table: Table, width: int) -> list[list[int]]:
    """Return the columns of each part of a table; a part too wide ends before a column that starts a part, if any."""
    columns = [position for position, column in enumerate(table.columns) if not column.is_long]
    widths = {column: measure_column(table, column) for column in columns}
    lead = [position for position in columns if table.columns[position].is_lead] or columns[:1]
    groups: list[list[int]] = [list(lead)]
    for column in (each for each in columns if each not in lead):
        groups[-1].append(column)
        details = groups[-1][len(lead) + 1 :]
        if details and sum(widths[each] + GAP for each in groups[-1]) - GAP > width:
            cut = next((each for each in reversed(details) if table.columns[each].starts_part), column)
            position = groups[-1].index(cut)
            groups.append([*lead, *groups[-1][position:]])
            del groups[-2][position:]
    return groups


def measure_column(table: Table, column: int) -> int:
    """Return the width of a column with its heading broken into few lines."""
    return max(len(line) for line in (*_list_cell_texts(table, column), *break_heading(table, column)))


def break_heading(table: Table, column: int) -> list[str]:
    """Return a heading in as few lines as its cells are wide enough for, three at most."""
    title = table.columns[column].title
    pieces = BREAK.split(title)
    cell_width = max((len(text) for text in _list_cell_texts(table, column)), default=0)
    for width in range(max(cell_width, *(len(piece.strip()) for piece in pieces)), len(title) + 1):
        lines = _wrap(pieces, width)
        if len(lines) <= HEADING_LINES_MAX:
            return lines
    return [title]


def _wrap(pieces: Sequence[str], width: int) -> list[str]:
    lines = [""]
    for piece in pieces:
        if len((lines[-1] + piece).rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def _list_cell_texts(table: Table, column: int) -> list[str]:
    return [row[column].text for row in table.rows]


def _render_part(table: Table, columns: Sequence[int], *, with_rule: bool) -> RichTable:
    part = RichTable(
        box=HEADER_RULE if with_rule else None,
        padding=(0, GAP - 1 if with_rule else GAP, 0, 0),
        show_edge=False,
        pad_edge=False,
        header_style="bold",
    )
    for position in columns:
        column = table.columns[position]
        part.add_column(
            "\n".join(break_heading(table, position)),
            justify="right" if column.is_number else "left",
            no_wrap=not column.is_long,
        )
    for row in table.rows:
        is_total = row[0].text.lower() in ("total", "all")
        cells = [Text(row[position].text, style=CELL_STYLES[row[position].tone]) for position in columns]
        part.add_row(*cells, style="bold" if is_total else "")
    return part
