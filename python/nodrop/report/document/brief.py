"""The brief report: the answer, its limits and cautions, one chart each of search and latency; about two pages."""

from collections.abc import Iterator, Sequence

from nodrop.analysis import Comparison
from nodrop.charts import latency, rate_by_frame_size, search_bounds
from nodrop.model.result import RunResult
from nodrop.report.document.blocks import Block, Bullets, Document, Paragraph, Section, Table, build_figure
from nodrop.report.document.comparison import build_comparison_blocks, list_cautions
from nodrop.report.document.expectations import build_expectation_blocks
from nodrop.report.document.host import describe_provenance
from nodrop.report.document.labels import is_simulated
from nodrop.report.document.loss import describe_key_losses
from nodrop.report.document.sizes import build_size_table, has_several_sizes
from nodrop.report.document.warnings import list_short_warnings
from nodrop.units import format_count

CAUTIONS_MAX = 6


def shorten_document(
    document: Document, results: Sequence[RunResult], comparison: Comparison | None = None
) -> Document:
    """Return a report with the first screen as it is, and sections of the most important blocks.

    Args:
        document: the entire report.
        results: its runs, each with its steps.
        comparison: the comparison of two groups of them.
    """
    sections: tuple[Section, ...] = (
        Section(name="comparison", title="B compared with A", blocks=tuple(_build_comparison(comparison))),
        Section(name="cautions", title="Cautions", blocks=tuple(_build_cautions(results))),
        Section(name="search", title="Search", blocks=tuple(_build_search(results))),
        Section(name="rates", title="Rates", blocks=tuple(_build_rates(results))),
        Section(name="latency", title="Latency", blocks=build_figure(lambda: latency.build_chart(results))),
        Section(name="repeat", title="Repeat this measurement", blocks=tuple(_build_provenance(results))),
    )
    if procedure := [section for section in document.sections if section.name == "procedure"]:
        sections = (*procedure, sections[-1])
    return document.replace(sections=tuple(section for section in sections if section.blocks))


def _build_comparison(comparison: Comparison | None) -> Iterator[Block]:
    if comparison:
        yield next(block for block in build_comparison_blocks(comparison) if isinstance(block, Table))
        if cautions := tuple(_limit(list_cautions(comparison))):
            yield Bullets(items=cautions, tone="caution")


def _build_cautions(results: Sequence[RunResult]) -> Iterator[Block]:
    """Yield expectations and warnings of one run; of several runs, the first screen has the reasons."""
    if len(results) > 1:
        return
    yield from build_expectation_blocks(results[0])
    if warnings := tuple(_limit(list_short_warnings(results[0]))):
        yield Bullets(items=warnings, tone="caution")


def _limit(texts: Iterator[str]) -> Iterator[str]:
    """Yield the first texts, and the number of the others."""
    every = list(texts)
    yield from every[:CAUTIONS_MAX]
    if len(every) > CAUTIONS_MAX:
        yield f"{format_count(len(every) - CAUTIONS_MAX, 'more remark')} in the full report."


def _build_search(results: Sequence[RunResult]) -> Iterator[Block]:
    if len(results) == 1:
        yield from build_figure(lambda: search_bounds.build_chart(results[0], results[0].steps))
        if losses := tuple(describe_key_losses(results[0])):
            yield Bullets(items=losses)


def _build_rates(results: Sequence[RunResult]) -> Iterator[Block]:
    if len(results) > 1 and (table := build_size_table(results)).rows:
        if has_several_sizes(results):
            yield from build_figure(lambda: rate_by_frame_size.build_chart(results))
        yield table


def _build_provenance(results: Sequence[RunResult]) -> Iterator[Block]:
    """Yield the facts of the first run in a line, and where the others are."""
    first = results[0]
    if first.facts:
        yield Paragraph(text=f"{describe_provenance(first.facts)}.", tone="quiet")
    command = "nodrop simulate" if is_simulated(first) else "nodrop run -c"
    names = " ".join(result.run_id for result in results)
    yield Paragraph(
        text=f"'nodrop report {names}' writes the full report, with the configuration for '{command}', every trial, "
        "the path, and the terms used here.",
        tone="quiet",
    )
