"""A comparison for people: the verdict first, then every measure, what to know, suspects, and what to do."""

from collections.abc import Iterator, Sequence
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nodrop.analysis.text import method_text, series_text, side_text, signed_text, span_text
from nodrop.analysis.types import Comparison, SetupDifference, MetricComparison, ComparisonOutcome

STYLES = {
    ComparisonOutcome.WORSE: "bold red",
    ComparisonOutcome.BETTER: "bold green",
    ComparisonOutcome.EQUIVALENT: "green",
    ComparisonOutcome.UNDECIDED: "yellow",
}
HEADINGS = ("", "A", "B", "B beside A", "between", "verdict")
SUSPECTS = "What differs between the set-ups"
KNOW = "What to know"
DO = "What to do"
NOTHING_DIFFERS = "Nothing that nodrop records."


def comparison_report(comparison: Comparison) -> RenderableType:
    """All of it, for a terminal."""
    parts: list[RenderableType] = [
        Text(comparison.sentence, style=STYLES[comparison.verdict]),
        "",
        side_text("A", comparison.a),
        side_text("B", comparison.b),
        _table(comparison),
        Text(method_text(comparison), style="dim"),
    ]
    if notes := list(known_lines(comparison)):
        parts += ["", Text(KNOW, style="bold"), *(Text(f"! {line}", style="yellow") for line in notes)]
    parts += ["", Text(SUSPECTS, style="bold"), _suspects(comparison.differences)]
    if comparison.advice:
        parts += ["", Text(DO, style="bold"), *(f"- {line}" for line in comparison.advice)]
    return Group(*parts)


def known_lines(comparison: Comparison) -> Iterator[str]:
    """Everything that a reader has to know before believing it, each once."""
    yield from (flag.text for flag in comparison.flags)
    several: dict[str, list[str]] = {}
    for metric in comparison.metrics:
        for text in (flag.text for flag in metric.flags if metric.headline):
            several.setdefault(text, []).append(metric.text)
        if metric.headline and metric.reason:
            several.setdefault(f"undecided, as {metric.reason}.", []).append(metric.text)
    for text, metrics in several.items():
        more = f" and {len(metrics) - 2} more" if len(metrics) > 2 else ""
        yield f"{', '.join(metrics[:2])}{more}: {text}"


def _table(comparison: Comparison) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="dim", pad_edge=False)
    for heading in HEADINGS:
        justify: Literal["left", "right"] = "left" if heading in ("", "verdict") else "right"
        table.add_column(heading, justify=justify, no_wrap=heading not in ("", "A", "B"))
    for metric in comparison.metrics:
        *cells, verdict = _cells(metric)
        style = "" if metric.headline else "dim"
        table.add_row(*(Text(cell, style=style) for cell in cells), Text(verdict, style=STYLES[metric.verdict]))
    return table


def _cells(metric: MetricComparison) -> tuple[str, ...]:
    more = f", {metric.repeats_needed} more" if metric.repeats_needed else ""
    return (
        metric.text,
        series_text(metric.a, metric.unit),
        series_text(metric.b, metric.unit),
        signed_text(metric.effect, metric.unit),
        span_text(metric.low, metric.high, metric.unit),
        f"{metric.verdict}{more}",
    )


def _suspects(differences: Sequence[SetupDifference]) -> RenderableType:
    if not differences:
        return Text(NOTHING_DIFFERS)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for each in differences:
        table.add_row(Text(each.text, style="bold"), f"{each.a} → {each.b}", Text(each.why, style="dim"))
    return table


def comparison_markdown(comparison: Comparison) -> str:
    """All of it, to be pasted into an issue or a change."""
    return "\n".join(_markdown(comparison)) + "\n"


def _markdown(comparison: Comparison) -> Iterator[str]:
    yield f"**{escaped(comparison.sentence)}**"
    yield ""
    yield from (f"- {escaped(side_text(name, side))}" for name, side in (("A", comparison.a), ("B", comparison.b)))
    yield ""
    yield markdown_row(HEADINGS)
    yield "|---|--:|--:|--:|--:|---|"
    for metric in comparison.metrics:
        yield markdown_row(_cells(metric))
    yield ""
    yield escaped(method_text(comparison))
    if notes := list(known_lines(comparison)):
        yield from ("", f"### {KNOW}", "", *(f"- {escaped(line)}" for line in notes))
    yield from ("", f"### {SUSPECTS}", "")
    if comparison.differences:
        yield from (markdown_row(("", "A", "B", "")), "|---|---|---|---|")
        yield from (markdown_row((each.text, each.a, each.b, each.why)) for each in comparison.differences)
    else:
        yield NOTHING_DIFFERS
    if comparison.advice:
        yield from ("", f"### {DO}", "", *(f"- {escaped(line)}" for line in comparison.advice))


def markdown_row(cells: Sequence[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"


def escaped(text: str) -> str:
    """As it is, where Markdown would see marks of its own."""
    for mark in ("\\", "`", "*", "_", "|", "<", "[", "#"):
        text = text.replace(mark, f"\\{mark}")
    return text
