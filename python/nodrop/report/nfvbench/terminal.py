"""Tables on a terminal: as wide as it is, no colour but the terminal's own, and red for losses."""

import re
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from nodrop.report.nfvbench.table import Document, Lines, Sheet

GAP = 2
"""Blanks between two columns, one of them the table's own."""
BREAK = re.compile(r"(?<=[ .])")
"""Where a heading may be broken: after a blank or a point."""


class Screen:
    """A document for a console; tables too wide for it are continued below, each part with what its rows are about."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Title, header, tables and text."""
        yield Text(f"===== {self._document.title} =====", style="bold")
        yield from (Text(line) for line in self._document.header)
        for part in self._document.parts:
            yield ""
            if isinstance(part, Lines):
                yield from _lines(part)
            else:
                yield Text(f"{part.title}:", style="bold")
                yield from fitted(part, options.max_width)


def fitted(sheet: Sheet, width: int) -> Iterator[RenderableType]:
    """A table in as many parts as the width asks for."""
    for number, group in enumerate(column_groups(sheet, width)):
        if number:
            yield ""
        yield _table(sheet, group)


def column_groups(sheet: Sheet, width: int) -> list[list[int]]:
    """Columns that fit side by side, led by what rows are about; a group too wide ends at a seam if it can."""
    widths = [column_width(sheet, column) for column in range(len(sheet.columns))]
    lead = list(range(sheet.lead_count))
    groups: list[list[int]] = [list(lead)]
    for column in range(sheet.lead_count, len(widths)):
        groups[-1].append(column)
        own = groups[-1][sheet.lead_count + 1 :]
        if own and sum(widths[known] + GAP for known in groups[-1]) - GAP > width:
            cut = next((seam for seam in reversed(sheet.seams) if seam in own), column)
            place = groups[-1].index(cut)
            groups.append([*lead, *groups[-1][place:]])
            del groups[-2][place:]
    return groups


def column_width(sheet: Sheet, column: int) -> int:
    """What a column needs with its heading broken wherever it can be without adding lines beyond three."""
    return max(len(line) for line in (*_cells(sheet, column), *heading_lines(sheet, column)))


def heading_lines(sheet: Sheet, column: int) -> list[str]:
    """A heading in as few lines as its cells are wide enough for, three if it must be."""
    pieces = BREAK.split(sheet.columns[column])
    room = max((len(text) for text in _cells(sheet, column)), default=0)
    longest = max(len(piece.strip()) for piece in pieces)
    for width in range(max(room, longest), len(sheet.columns[column]) + 1):
        lines = _wrapped(pieces, width)
        if len(lines) <= 3:
            return lines
    return [sheet.columns[column]]


def _wrapped(pieces: Sequence[str], width: int) -> list[str]:
    lines = [""]
    for piece in pieces:
        if len((lines[-1] + piece).rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def _cells(sheet: Sheet, column: int) -> list[str]:
    return [row[column].text for row in sheet.rows]


def _table(sheet: Sheet, columns: Sequence[int]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column("\n".join(heading_lines(sheet, column)), justify="right" if column else "left", no_wrap=True)
    for row in sheet.rows:
        last = row[0].text.lower() == "total"
        cells = [Text(row[column].text, style="red" if row[column].loud else "") for column in columns]
        table.add_row(*cells, style="bold" if last else "")
    return table


def _lines(part: Lines) -> Iterator[RenderableType]:
    if not part.warning:
        yield from (Text(line, style="bold" if not number else "") for number, line in enumerate(part.lines))
        return
    for line in part.lines:
        grid = Table.grid()
        grid.add_row(Text("! ", style="bold"), Text(line))
        yield grid
