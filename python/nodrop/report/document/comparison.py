"""Two set-ups beside each other: the verdict, every measure, what to know, and in what they differ."""

from collections.abc import Iterator

from nodrop.analysis import Comparison, MetricComparison, ComparisonOutcome
from nodrop.analysis.text import effect_text, method_text, series_text, side_text, signed_text, span_text
from nodrop.charts import comparison as pictured
from nodrop.report.comparison import DO, KNOW, NOTHING_DIFFERS, SUSPECTS, known_lines
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Card, Cell, Paragraph, Table, Tone
from nodrop.report.document.figures import figure

TONES: dict[ComparisonOutcome, Tone] = {
    ComparisonOutcome.WORSE: "bad",
    ComparisonOutcome.BETTER: "good",
    ComparisonOutcome.EQUIVALENT: "good",
    ComparisonOutcome.UNDECIDED: "caution",
}
CARDS_MAX = 6
MEASURES = (
    cells.word("measure"),
    cells.number("A"),
    cells.number("B"),
    cells.number("B beside A", "ratio"),
    cells.number("between"),
    cells.word("verdict"),
    cells.number("more repeats needed"),
)
DIFFERENCES = (cells.word("what"), cells.sentences("A"), cells.sentences("B"), cells.sentences("what that does"))


def comparison_blocks(comparison: Comparison) -> tuple[Block, ...]:
    """All of a comparison."""
    return tuple(_blocks(comparison))


def comparison_cards(comparison: Comparison) -> tuple[Card, ...]:
    """What became of each headline measure, for the first screen."""
    headlines = [metric for metric in comparison.metrics if metric.headline][:CARDS_MAX]
    return tuple(
        Card(
            label=metric.text,
            text=metric.verdict.value,
            about=f"B beside A: {effect_text(metric.effect, metric.unit)}",
            details=(
                f"A {series_text(metric.a, metric.unit)}",
                f"B {series_text(metric.b, metric.unit)}",
                f"difference {span_text(metric.low, metric.high, metric.unit)}",
            ),
            tone=TONES[metric.verdict],
        )
        for metric in headlines
    )


def _blocks(comparison: Comparison) -> Iterator[Block]:
    yield Bullets(items=tuple(side_text(name, side) for name, side in (("A", comparison.a), ("B", comparison.b))))
    yield from figure(lambda: pictured.chart(comparison))
    rows = tuple(map(_measure, comparison.metrics))
    yield Table(caption="Measure by measure", columns=MEASURES, rows=rows, note=method_text(comparison))
    if known := tuple(known_lines(comparison)):
        yield Paragraph(text=f"{KNOW}:")
        yield Bullets(items=known, tone="caution")
    if comparison.differences:
        rows = tuple(tuple(map(cells.text, (each.text, each.a, each.b, each.why))) for each in comparison.differences)
        yield Table(caption=SUSPECTS, columns=DIFFERENCES, rows=rows)
    else:
        yield Paragraph(text=f"{SUSPECTS}: {NOTHING_DIFFERS}")
    if comparison.advice:
        yield Paragraph(text=f"{DO}:")
        yield Bullets(items=comparison.advice)


def _measure(metric: MetricComparison) -> tuple[Cell, ...]:
    more = metric.repeats_needed if metric.headline else None
    return (
        cells.text(metric.text),
        cells.text(series_text(metric.a, metric.unit)),
        cells.text(series_text(metric.b, metric.unit)),
        Cell(text=signed_text(metric.effect, metric.unit), key=metric.effect),
        cells.text(span_text(metric.low, metric.high, metric.unit)),
        cells.text(metric.verdict.value, TONES[metric.verdict]),
        cells.NOTHING if more is None else Cell(text=str(more), key=more),
    )
