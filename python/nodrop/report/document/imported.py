"""Runs of other tools, or of files without trials: only figures are known, e.g. from NFVbench or TRex."""

from collections.abc import Iterator, Sequence

from nodrop.analysis import Comparison
from nodrop.formatting import format_measure
from nodrop.model.summary import Measure, Summary
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Card, Cell, Document, Section, Table
from nodrop.report.document.comparison import build_comparison_blocks, build_comparison_cards
from nodrop.report.document.glossary import build_glossary_blocks
from nodrop.units import format_count, format_seconds

WRITERS = {"nodrop": "nodrop", "nfvbench": "NFVbench", "trex": "TRex"}
CARDS_MAX = 4
FIGURES = (
    cells.make_text_column("run"),
    cells.make_text_column("measured by"),
    cells.make_text_column("frame size"),
    cells.make_text_column("figure"),
    cells.make_number_column("value"),
    cells.make_number_column("upper bound"),
    cells.make_text_column("limited by"),
)
RUNS = (
    cells.make_text_column("run"),
    cells.make_text_column("began"),
    cells.make_number_column("took", "s"),
    cells.make_text_column("SUT"),
    cells.make_text_column("path"),
    cells.make_number_column("chains"),
    cells.make_number_column("flows"),
    cells.make_text_column("requested"),
    cells.make_text_column("host"),
    cells.make_text_column("version"),
)


def build_imported_document(summaries: Sequence[Summary], comparison: Comparison | None = None) -> Document:
    """Return the report of runs with figures only, with the comparison of two groups of them."""
    writers = " and ".join(dict.fromkeys(WRITERS[each.source] for each in summaries))
    first = summaries[0]
    sentence = f"Figures of {format_count(len(summaries), 'run')} measured by {writers}. The files have no trials."
    cards = tuple(_build_card(measure, each) for each in summaries for measure in each.measures[:CARDS_MAX])[:CARDS_MAX]
    sections: tuple[Section, ...] = (
        Section(name="figures", title="Figures", blocks=build_imported_blocks(summaries)),
        Section(name="terms", title="Terms", blocks=build_glossary_blocks()),
    )
    if comparison:
        sentence = f"{comparison.sentence.rstrip('.')}."
        cards = build_comparison_cards(comparison)
        blocks = build_comparison_blocks(comparison, with_outcome=False)
        sections = (Section(name="comparison", title="B compared with A", blocks=blocks), *sections)
    return Document(
        title=f"{first.sut or first.run_id}: figures measured by {writers}",
        sentence=sentence,
        trust="nodrop cannot assess these figures: their trials, validity and places of loss are unknown.",
        trust_tone="caution",
        cards=cards,
        facts=tuple((name, text) for name, text in (("measured", first.started_at), ("with", first.version)) if text),
        sections=sections,
    )


def build_imported_blocks(summaries: Sequence[Summary]) -> tuple[Block, ...]:
    """Return the figures, what is missing or impossible among them, and the known conditions of their measurement."""
    cautions = tuple(caution for each in summaries for caution in _list_cautions(each))
    return (
        Table(caption="Figures", columns=FIGURES, rows=tuple(row for each in summaries for row in _build_rows(each))),
        *((Bullets(items=cautions, tone="caution"),) if cautions else ()),
        Table(caption="Runs", columns=RUNS, rows=tuple(map(_build_run, summaries))),
    )


def _build_card(measure: Measure, summary: Summary) -> Card:
    least = "" if measure.limit == "sut" else "at least "
    return Card(
        label=f"{measure.text}, frame size {summary.frame_size}",
        text=f"{least}{format_measure(measure.value, measure.unit)}",
        details=(f"{summary.path}, measured by {WRITERS[summary.source]}",),
        tone="plain" if measure.limit == "sut" else "caution",
    )


def _build_rows(summary: Summary) -> Iterator[tuple[Cell, ...]]:
    for measure in summary.measures:
        high = measure.high
        yield (
            cells.make_text_cell(summary.run_id),
            cells.make_text_cell(WRITERS[summary.source]),
            cells.make_text_cell(summary.frame_size),
            cells.make_text_cell(measure.text),
            Cell(text=format_measure(measure.value, measure.unit), key=measure.value),
            cells.NOTHING if high is None else Cell(text=format_measure(high, measure.unit), key=high),
            cells.make_text_cell("" if measure.limit == "sut" else measure.limit.replace("_", " ")),
        )


def _list_cautions(summary: Summary) -> Iterator[str]:
    lines = (*(f"{each.text}: {each.reason}" for each in summary.missing_goals), *summary.doubts)
    yield from (f"{summary.run_id}: {line}" for line in lines)


def _build_run(summary: Summary) -> tuple[Cell, ...]:
    return (
        cells.make_text_cell(summary.run_id),
        cells.make_text_cell(summary.started_at),
        Cell(text=format_seconds(summary.wall_s), key=summary.wall_s) if summary.wall_s else cells.NOTHING,
        cells.make_text_cell(summary.sut),
        cells.make_text_cell(summary.path),
        cells.make_number_cell(summary.chain_count),
        cells.make_number_cell(summary.flow_count),
        cells.make_text_cell(summary.asked),
        cells.make_text_cell(summary.host),
        cells.make_text_cell(summary.version),
    )
