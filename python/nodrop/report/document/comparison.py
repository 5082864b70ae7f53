"""The comparison of two setups: outcome, every measure, cautions, and differences between the setups."""

from collections.abc import Iterator

from nodrop.analysis import Comparison, ComparisonOutcome, MetricComparison
from nodrop.analysis.text import (
    describe_effect,
    describe_method,
    format_metric_effect,
    format_metric_range,
    format_outcome,
    format_series,
    format_side,
)
from nodrop.charts import comparison as comparison_chart
from nodrop.formatting.messages import format_message
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Card, Cell, Paragraph, Section, Table, Tone, build_figure

TONES: dict[ComparisonOutcome, Tone] = {
    ComparisonOutcome.WORSE: "bad",
    ComparisonOutcome.BETTER: "good",
    ComparisonOutcome.EQUIVALENT: "good",
    ComparisonOutcome.UNDECIDED: "caution",
}
CARDS_MAX = 6
MEASURES = (
    cells.make_text_column("measure"),
    cells.make_number_column("A"),
    cells.make_number_column("B"),
    cells.make_number_column("B compared with A", "ratio"),
    cells.make_number_column("between"),
    cells.make_text_column("outcome"),
    cells.make_number_column("more repeats needed"),
)
DIFFERENCES = (
    cells.make_text_column("setting"),
    cells.make_prose_column("A"),
    cells.make_prose_column("B"),
    cells.make_prose_column("effect"),
)
DIFFERENCES_TITLE = "Differences between the setups"


def build_comparison_section(comparison: Comparison) -> Section:
    """Return the entire comparison as a section of its own."""
    return Section(name="comparison", title="", blocks=build_comparison_blocks(comparison))


def build_comparison_blocks(comparison: Comparison, with_outcome: bool = True) -> tuple[Block, ...]:
    """Return the entire comparison, led by its outcome unless another text states it."""
    outcome = (Paragraph(text=comparison.sentence, tone=TONES[comparison.verdict]),) if with_outcome else ()
    return (*outcome, *_build_blocks(comparison))


def build_comparison_cards(comparison: Comparison) -> tuple[Card, ...]:
    """Return the outcome of each headline measure."""
    headlines = [metric for metric in comparison.metrics if metric.headline][:CARDS_MAX]
    return tuple(
        Card(
            label=metric.text,
            text=format_outcome(metric),
            about=f"B compared with A: {describe_effect(metric)}",
            details=(
                f"A {format_series(metric.a, metric.unit)}",
                f"B {format_series(metric.b, metric.unit)}",
                f"difference {format_metric_range(metric)}",
            ),
            tone=TONES[metric.verdict],
        )
        for metric in headlines
    )


def list_cautions(comparison: Comparison) -> Iterator[str]:
    """Yield each caution once, with the measures it applies to."""
    yield from (format_message(flag) for flag in comparison.flags)
    metrics: dict[str, list[str]] = {}
    for metric in comparison.metrics:
        for text in (format_message(flag) for flag in metric.flags if metric.headline):
            metrics.setdefault(text, []).append(metric.text)
        if metric.headline and metric.reason:
            metrics.setdefault(f"undecided, as {metric.reason}.", []).append(metric.text)
    for text, names in metrics.items():
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        yield f"{', '.join(names[:2])}{more}: {text}"


def _build_blocks(comparison: Comparison) -> Iterator[Block]:
    yield Bullets(items=(format_side("A", comparison.a), format_side("B", comparison.b)))
    yield from build_figure(lambda: comparison_chart.build_chart(comparison))
    rows = tuple(map(_build_measure, comparison.metrics))
    yield Table(caption="Measures", columns=MEASURES, rows=rows, note=describe_method(comparison))
    if cautions := tuple(list_cautions(comparison)):
        yield Paragraph(text="Cautions:")
        yield Bullets(items=cautions, tone="caution")
    if comparison.differences:
        rows = tuple(
            tuple(map(cells.make_text_cell, (each.text, each.a, each.b, each.why))) for each in comparison.differences
        )
        yield Table(caption=DIFFERENCES_TITLE, columns=DIFFERENCES, rows=rows)
    else:
        yield Paragraph(text=f"{DIFFERENCES_TITLE}: none recorded.")
    if comparison.advice:
        yield Paragraph(text="Next steps:")
        yield Bullets(items=comparison.advice)


def build_effect_cells(metric: MetricComparison) -> tuple[Cell, ...]:
    """Return the name of a measure, its values of A and B, and the difference."""
    return (
        cells.make_text_cell(metric.text),
        cells.make_text_cell(format_series(metric.a, metric.unit)),
        cells.make_text_cell(format_series(metric.b, metric.unit)),
        Cell(text=format_metric_effect(metric), key=metric.effect),
    )


def _build_measure(metric: MetricComparison) -> tuple[Cell, ...]:
    return (
        *build_effect_cells(metric),
        cells.make_text_cell(format_metric_range(metric)),
        cells.make_text_cell(format_outcome(metric), TONES[metric.verdict]),
        cells.make_number_cell(metric.repeats_needed if metric.headline else None),
    )
