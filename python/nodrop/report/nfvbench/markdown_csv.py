"""Tables as Markdown, for people, and as CSV, for programs."""

import csv
import io
import re
from collections.abc import Iterator

from nodrop.report.nfvbench.table import Cell, Document, Sheet


def markdown(document: Document) -> str:
    """Headings, tables of GitHub's Markdown, warnings as quotes."""
    return "\n".join(_markdown_lines(document)) + "\n"


def comma_separated(document: Document) -> str:
    """All tables, an empty line between them; each row begins with its table and its frame size.

    Rates are in bits or packets per second and times in microseconds, as plain numbers; what is not known is empty.
    """
    return "\n".join(_block(sheet) for sheet in document.parts if isinstance(sheet, Sheet))


def _markdown_lines(document: Document) -> Iterator[str]:
    yield f"# {document.title}"
    yield from ("", "```text", *document.header, "```")
    for part in document.parts:
        yield ""
        if isinstance(part, Sheet):
            yield f"### {part.title}"
            yield ""
            yield from _markdown_table(part)
        elif part.warning:
            yield from (f"> **Warning:** {_escaped(line)}" for line in part.lines)
        else:
            yield f"## {_escaped(part.lines[0])}"
            yield from (line for text in part.lines[1:] for line in ("", _escaped(text)))


def _markdown_table(sheet: Sheet) -> Iterator[str]:
    yield _markdown_row(sheet.columns)
    yield _markdown_row((":---", *("---:" for _ in sheet.columns[1:])))
    yield from (_markdown_row([cell.text for cell in row]) for row in sheet.rows)


def _markdown_row(texts: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(map(_escaped, texts))} |"


def _escaped(text: str) -> str:
    return re.sub(r"[\\|*<]", r"\\\g<0>", text).replace("\n", " ")


def _block(sheet: Sheet) -> str:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    lead = ("table", "frame size") if sheet.frame_size else ("table",)
    rows.writerow((*lead, *sheet.columns))
    for row in sheet.rows:
        begin = (sheet.title, sheet.frame_size) if sheet.frame_size else (sheet.title,)
        rows.writerow((*begin, *map(_plain, row)))
    return out.getvalue()


def _plain(cell: Cell) -> str | int | float:
    return "" if cell.value is None else cell.value
