"""A report as GitHub-flavored Markdown, for wikis and merge requests."""

import html
import re
from collections.abc import Iterator, Sequence

from nodrop.report.document.blocks import (
    Block,
    Bullets,
    Card,
    Code,
    Document,
    FactList,
    Figure,
    Fold,
    Glossary,
    Paragraph,
    Section,
    Table,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$@!&])")
_BREAKS = re.compile(r"\s*[\r\n]+\s*")
MARKS = {"good": "✔ ", "caution": "⚠ ", "bad": "✘ ", "plain": "", "quiet": ""}


def render_markdown(document: Document) -> str:
    """Return an entire report; charts are their summaries in words."""
    return "\n\n".join((*_render_header(document), *_render_sections(document.sections))) + "\n"


def render_markdown_sections(title: str, sections: Sequence[Section]) -> str:
    """Return sections under a title; without one if the title is empty. Charts are left out."""
    header = [f"# {escape_markdown(title)}"] if title else []
    return "\n\n".join((*header, *_render_sections(sections, with_figures=False))) + "\n"


def escape_markdown(text: str) -> str:
    """Return text without markup in Markdown, on one line."""
    return _SPECIAL.sub(r"\\\1", _BREAKS.sub(" ", text))


def _render_header(document: Document) -> Iterator[str]:
    yield f"# {escape_markdown(document.title)}"
    yield escape_markdown(document.sentence)
    if document.cards:
        yield _render_cards(document.cards)
    yield f"> {MARKS[document.trust_tone]}{escape_markdown(document.trust)}"
    yield _render_pairs(document.facts)


def _render_sections(sections: Sequence[Section], with_figures: bool = True) -> Iterator[str]:
    for section in sections:
        if section.title:
            yield f"## {escape_markdown(section.title)}"
        for block in section.blocks:
            if with_figures or not isinstance(block, Figure):
                yield from _render_block(block)


def _render_cards(cards: Sequence[Card]) -> str:
    lines = ["| | | |", "|---|---|---|"]
    for card in cards:
        about = "<br>".join(map(escape_markdown, (card.about, *card.details)))
        lines.append(f"| {escape_markdown(card.label)} | **{escape_markdown(card.text)}** | {about} |")
    return "\n".join(lines)


def _render_block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph():
            yield f"{MARKS[block.tone]}{escape_markdown(block.text)}"
        case Bullets():
            yield "\n".join(f"- {MARKS[block.tone]}{escape_markdown(item)}" for item in block.items)
        case Table():
            yield _render_table(block)
        case Figure():
            yield f"*{escape_markdown(block.chart.title)}.* {escape_markdown(block.chart.summary)}"
        case FactList():
            yield f"**{escape_markdown(block.caption)}**"
            yield _render_pairs(block.pairs)
        case Glossary():
            yield _render_pairs(block.pairs)
        case Code():
            yield _render_code(block)
        case Fold():
            inner = "\n\n".join(part for each in block.blocks for part in _render_block(each))
            yield f"<details><summary>{html.escape(block.title)}</summary>\n\n{inner}\n\n</details>"


def _render_table(table: Table) -> str:
    lines = [
        *([f"**{escape_markdown(table.caption)}**\n"] if table.caption else []),
        _render_row(column.title for column in table.columns),
        f"| {' | '.join('---:' if column.is_number else '---' for column in table.columns)} |",
        *(_render_row(cell.text for cell in row) for row in table.rows),
    ]
    note = f"\n\n{escape_markdown(table.note)}" if table.note else ""
    return "\n".join(lines) + note


def _render_row(texts: Iterator[str]) -> str:
    return f"| {' | '.join(map(escape_markdown, texts))} |"


def _render_pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- **{escape_markdown(name)}**: {escape_markdown(text)}" for name, text in pairs)


def _render_code(code: Code) -> str:
    """Return a fence of more backticks than the code has."""
    longest = max((len(run) for run in re.findall("`+", code.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{code.language}\n{code.text.rstrip()}\n{fence}"
