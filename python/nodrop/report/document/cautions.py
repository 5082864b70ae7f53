"""What to know before figures are believed, in plain words."""

from nodrop.model.result import RunResult
from nodrop.report.document.blocks import Block, Bullets, Fold, Paragraph
from nodrop.report.text import warning_lines

MANY = 6
"""Sentences that nobody reads at once."""


def caution_blocks(result: RunResult) -> tuple[Block, ...]:
    """Warnings, then what else the search saw; nothing where there is nothing."""
    blocks: list[Block] = []
    warnings = tuple(map(_sentence, warning_lines(result)))
    if warnings:
        blocks.append(Bullets(items=warnings[:MANY], tone="caution"))
    if warnings[MANY:]:
        more = Bullets(items=warnings[MANY:], tone="caution")
        blocks.append(Fold(title=f"{len(warnings) - MANY} more", blocks=(more,)))
    if result.findings:
        blocks.append(Paragraph(text="What else was seen:"))
        blocks.append(Bullets(items=tuple(_sentence(finding.text) for finding in result.findings)))
    return tuple(blocks)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
