"""The answer of a test whose trials are prescribed: frame loss rate, back-to-back frames."""

from collections.abc import Iterator

from nodrop.formatting.messages import format_message
from nodrop.model.goal import Flag
from nodrop.model.profiles import PRESCRIBED_SEARCHES
from nodrop.model.result import RunResult
from nodrop.report.document.blocks import Block, Paragraph

ANSWERS = ("loss-rates", "burst-length", "burst-limit")
"""Codes of the findings that are the answer."""


def has_prescribed_trials(result: RunResult) -> bool:
    """Return whether the run was such a test."""
    return not result.plan.fixed and result.plan.search.algorithm in PRESCRIBED_SEARCHES


def list_other_findings(result: RunResult) -> list[Flag]:
    """Return the findings of any run that are not its answer."""
    return [finding for finding in result.findings if finding.code not in ANSWERS]


def build_answer(result: RunResult) -> Iterator[Block]:
    """Yield the answer of such a test."""
    answers = [finding for finding in result.findings if finding.code in ANSWERS]
    yield from (Paragraph(text=format_message(answer)) for answer in answers)
    if not answers and not result.plan.no_traffic:
        yield Paragraph(text="No test was completed.", tone="bad")
