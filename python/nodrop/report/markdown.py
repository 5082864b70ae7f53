"""A report as GitHub-flavoured Markdown, for wikis and merge requests."""

import html
import re
from collections.abc import Iterator, Sequence

from nodrop.report.document.blocks import (
    Block,
    Bullets,
    Card,
    Code,
    Document,
    Facts,
    Figure,
    Fold,
    Paragraph,
    Table,
    Terms,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$@!&])")
_BREAKS = re.compile(r"\s*[\r\n]+\s*")
MARKS = {"good": "✔ ", "caution": "⚠ ", "bad": "✘ ", "plain": "", "quiet": ""}


def markdown(shown: Document) -> str:
    """The whole report; charts are their summaries in words."""
    return "\n\n".join(_parts(shown)) + "\n"


def escaped(text: str) -> str:
    """Text that stays text in Markdown, on one line."""
    return _SPECIAL.sub(r"\\\1", _BREAKS.sub(" ", text))


def _parts(shown: Document) -> Iterator[str]:
    yield f"# {escaped(shown.title)}"
    yield escaped(shown.sentence)
    if shown.cards:
        yield _cards(shown.cards)
    yield f"> {MARKS[shown.trust_tone]}{escaped(shown.trust)}"
    yield _pairs(shown.facts)
    for section in shown.sections:
        yield f"## {escaped(section.title)}"
        for block in section.blocks:
            yield from _block(block)


def _cards(cards: Sequence[Card]) -> str:
    lines = ["| | | |", "|---|---|---|"]
    for card in cards:
        about = "<br>".join(map(escaped, (card.about, *card.details)))
        lines.append(f"| {escaped(card.label)} | **{escaped(card.text)}** | {about} |")
    return "\n".join(lines)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph():
            yield f"{MARKS[block.tone]}{escaped(block.text)}"
        case Bullets():
            yield "\n".join(f"- {MARKS[block.tone]}{escaped(item)}" for item in block.items)
        case Table():
            yield _table(block)
        case Figure():
            yield f"*{escaped(block.chart.title)}.* {escaped(block.chart.summary)}"
        case Facts():
            yield f"**{escaped(block.caption)}**"
            yield _pairs(block.pairs)
        case Terms():
            yield _pairs(block.pairs)
        case Code():
            yield _fenced(block)
        case Fold():
            inner = "\n\n".join(part for each in block.blocks for part in _block(each))
            yield f"<details><summary>{html.escape(block.title)}</summary>\n\n{inner}\n\n</details>"


def _table(table: Table) -> str:
    lines = [
        f"**{escaped(table.caption)}**\n",
        _line(column.title for column in table.columns),
        "|" + "|".join("---:" if column.is_number else "---" for column in table.columns) + "|",
        *(_line(cell.text for cell in row) for row in table.rows),
    ]
    note = f"\n\n{escaped(table.note)}" if table.note else ""
    return "\n".join(lines) + note


def _line(texts: Iterator[str]) -> str:
    return f"| {' | '.join(map(escaped, texts))} |"


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- **{escaped(name)}**: {escaped(text)}" for name, text in pairs)


def _fenced(code: Code) -> str:
    """Between more backticks than are in it."""
    longest = max((len(run) for run in re.findall("`+", code.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{code.language}\n{code.text.rstrip()}\n{fence}"
