"""A report as data: what is in it and in which order, and nothing of how it looks.

`document` builds it from results; report/html, report/markdown.py and report/pdf.py draw it. One file for each section.
"""

from collections.abc import Sequence

from nodrop.analysis import Comparison
from nodrop.analysis.rule_costs import PriceTable, dearest_text
from nodrop.model.result import RunResult
from nodrop.model.suite import Suite
from nodrop.model.summary import Summary
from nodrop.report.document import headline, labels
from nodrop.report.document.attachments import attachments
from nodrop.report.document.blocks import Block, Card, Document, Fold, Section
from nodrop.report.document.chains import chain_blocks
from nodrop.report.document.comparison import comparison_blocks, comparison_cards
from nodrop.report.document.glossary import glossary_blocks
from nodrop.report.document.host import host_blocks
from nodrop.report.document.imported import summary_blocks
from nodrop.report.document.latency import latency_blocks
from nodrop.report.document.loss import loss_blocks
from nodrop.report.document.reproduce import setup_blocks
from nodrop.report.document.rule_cost import price_blocks, price_cards
from nodrop.report.document.search import search_blocks
from nodrop.report.document.sizes import size_blocks
from nodrop.report.document.warnings import caution_blocks
from nodrop.report.rule_cost import title_text


def document(
    results: Sequence[RunResult],
    suite: Suite | None = None,
    comparison: Comparison | None = None,
    imported: Sequence[Summary] = (),
    prices: PriceTable | None = None,
) -> Document:
    """The report of one run, or of several that are set side by side.

    Args:
        results: one or more, each with its steps; frame sizes of a suite are one table.
        suite: the list they are of, if any.
        comparison: the verdict between two groups of them.
        imported: runs besides of which only figures are known.
        prices: what rules of placement are worth, where runs break them.
    """
    tone, trust = headline.trust(results)
    compared = comparison_blocks(comparison) if comparison else ()
    others = summary_blocks(imported) if imported else ()
    sections = (
        _section("comparison", "A beside B", compared),
        _section("prices", title_text(prices) if prices else "", price_blocks(prices) if prices else ()),
        *(_of_one(results[0]) if len(results) == 1 else _of_several(results)),
        _section("imported", "Measured by others", others),
        _section("terms", "Words", glossary_blocks()),
    )
    return Document(
        title=title_text(prices) if prices else labels.title(results, comparison),
        sentence=_sentence(results, comparison, prices),
        trust=trust,
        trust_tone=tone,
        cards=_cards(results, comparison, prices),
        facts=headline.facts(results, suite),
        sections=tuple(section for section in sections if section.blocks),
        attachments=attachments(results),
    )


def _sentence(results: Sequence[RunResult], comparison: Comparison | None, prices: PriceTable | None) -> str:
    """What came of it."""
    if prices:
        return f"{dearest_text(prices)}."
    return f"{comparison.sentence.rstrip('.')}." if comparison else headline.sentence(results)


def _cards(results: Sequence[RunResult], comparison: Comparison | None, prices: PriceTable | None) -> tuple[Card, ...]:
    """The figures of the first screen."""
    if prices:
        return price_cards(prices)
    return comparison_cards(comparison) if comparison else headline.cards(results)


def _of_one(result: RunResult) -> tuple[Section, ...]:
    return (
        _section("cautions", "What to know before you rely on it", caution_blocks(result)),
        _section("rates", "Rate, and what the link could carry", size_blocks([result])),
        _section("search", "How it was found", search_blocks(result)),
        _section("latency", "Latency", latency_blocks([result])),
        *_details(result),
    )


def _of_several(results: Sequence[RunResult]) -> tuple[Section, ...]:
    """What compares them first, then each by itself, folded."""
    names = labels.names(results)
    return (
        _section("rates", "Rate by frame size", size_blocks(results)),
        _section("latency", "Latency", latency_blocks(results)),
        *(_run(f"run-{n}", name, run) for n, (name, run) in enumerate(zip(names, results, strict=True), 1)),
    )


def _run(name: str, title: str, result: RunResult) -> Section:
    """A run as one section: its sections are folds."""
    parts = (_section("search", "How it was found", search_blocks(result)), *_details(result))
    folds = tuple(Fold(title=part.title, blocks=part.blocks) for part in parts if part.blocks)
    return _section(name, f"{title}: run {result.run_id}", (*caution_blocks(result), *folds))


def _details(result: RunResult) -> tuple[Section, ...]:
    return (
        _section("losses", "When and where frames were lost", loss_blocks(result)),
        _section("chains", "Chain by chain", chain_blocks(result)),
        _section("host", "Host and path", host_blocks(result)),
        _section("repeat", "How to measure this again", setup_blocks(result)),
    )


def _section(name: str, title: str, blocks: tuple[Block, ...]) -> Section:
    return Section(name=name, title=title, blocks=blocks)
