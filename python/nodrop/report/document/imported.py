"""Runs of which only figures are known, as those in files of NFVbench or TRex."""

from collections.abc import Iterator, Sequence

from nodrop.analysis import Comparison
from nodrop.formatting import format_small_ratio
from nodrop.model.summary import Measure, Summary
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Card, Cell, Document, Section, Table, Tone
from nodrop.report.document.comparison import comparison_blocks, comparison_cards
from nodrop.report.document.glossary import glossary_blocks
from nodrop.units import format_ns, format_pps, format_seconds

WRITERS = {"nodrop": "nodrop", "nfvbench": "NFVbench", "trex": "TRex"}
CARDS_MAX = 4
FIGURES = (
    cells.word("run"),
    cells.word("measured by"),
    cells.word("frame size"),
    cells.word("figure"),
    cells.number("value"),
    cells.number("not above"),
    cells.word("limited by"),
)
RUNS = (
    cells.word("run"),
    cells.word("began"),
    cells.number("took", "s"),
    cells.word("SUT"),
    cells.word("path"),
    cells.number("chains"),
    cells.number("flows"),
    cells.word("asked"),
    cells.word("host"),
    cells.word("version"),
)


def summaries_document(summaries: Sequence[Summary], comparison: Comparison | None = None) -> Document:
    """The report of runs of which only figures are known, with the verdict between two groups of them."""
    compared = Section(
        name="comparison", title="A beside B", blocks=comparison_blocks(comparison) if comparison else ()
    )
    writers = " and ".join(dict.fromkeys(WRITERS[each.source] for each in summaries))
    first = summaries[0]
    runs = "a run" if len(summaries) == 1 else f"{len(summaries)} runs"
    return Document(
        title=f"{first.sut or first.run_id}: figures that {writers} measured",
        sentence=f"{comparison.sentence.rstrip('.')}."
        if comparison
        else f"These are the figures of {runs} that {writers} measured. How they were found is not in the file.",
        trust="Trials, their validity and where frames were lost are not known, so nodrop cannot say how far these "
        "figures can be trusted.",
        trust_tone="caution",
        cards=comparison_cards(comparison)
        if comparison
        else tuple(_card(measure, each) for each in summaries for measure in each.measures[:CARDS_MAX])[:CARDS_MAX],
        facts=tuple((name, text) for name, text in (("measured", first.started_at), ("with", first.version)) if text),
        sections=(
            *((compared,) if comparison else ()),
            Section(name="figures", title="Figures", blocks=summary_blocks(summaries)),
            Section(name="terms", title="Words", blocks=glossary_blocks()),
        ),
    )


def summary_blocks(summaries: Sequence[Summary]) -> tuple[Block, ...]:
    """Their figures and what is known of how they were measured."""
    return (
        Table(caption="Figures", columns=FIGURES, rows=tuple(row for each in summaries for row in _rows(each))),
        Table(caption="Runs", columns=RUNS, rows=tuple(map(_run, summaries))),
    )


def value_text(measure: Measure, value: float) -> str:
    """A figure in its unit, for people."""
    if measure.unit == "pps":
        return format_pps(value)
    return format_ns(value) if measure.unit == "ns" else format_small_ratio(value)


def _card(measure: Measure, summary: Summary) -> Card:
    tone: Tone = "plain" if measure.limit == "sut" else "caution"
    least = "" if measure.limit == "sut" else "at least "
    return Card(
        label=f"{measure.text}, frame size {summary.frame_size}",
        text=f"{least}{value_text(measure, measure.value)}",
        details=(f"{summary.path}, measured by {WRITERS[summary.source]}",),
        tone=tone,
    )


def _rows(summary: Summary) -> Iterator[tuple[Cell, ...]]:
    for measure in summary.measures:
        yield (
            cells.text(summary.run_id),
            cells.text(WRITERS[summary.source]),
            cells.text(summary.frame_size),
            cells.text(measure.text),
            Cell(text=value_text(measure, measure.value), key=measure.value),
            cells.NOTHING if measure.high is None else Cell(text=value_text(measure, measure.high), key=measure.high),
            cells.text("" if measure.limit == "sut" else measure.limit.replace("_", " ")),
        )


def _run(summary: Summary) -> tuple[Cell, ...]:
    return (
        cells.text(summary.run_id),
        cells.text(summary.started_at),
        Cell(text=format_seconds(summary.wall_s), key=summary.wall_s) if summary.wall_s else cells.NOTHING,
        cells.text(summary.sut),
        cells.text(summary.path),
        Cell(text=str(summary.chain_count), key=summary.chain_count),
        Cell(text=str(summary.flow_count), key=summary.flow_count),
        cells.text(summary.asked),
        cells.text(summary.host),
        cells.text(summary.version),
    )
