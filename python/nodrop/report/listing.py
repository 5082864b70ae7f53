"""Results in a list: a line each, newest first, as wide as a terminal of 100 columns."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from nodrop.formatting import format_measure
from nodrop.model.goal import Limit
from nodrop.model.summary import Measure, ResultRow, Summary

WIDTH = 100
FIGURES = 2
"""Measures that have columns of their own."""
CUT = ("label", "SUT", "notes")
"""Columns whose texts are cut where there is no room, the widest first."""
NARROWEST = 8


def listing(rows: Sequence[ResultRow], width: int = WIDTH) -> Iterator[str]:
    """A head and a line for each run, with the measures that most of them have; others name what they have."""
    measures = _common(rows)
    heads = ["run", "label", "SUT", "size", *measures.values(), "notes"]
    lines = [_cells(row, list(measures)) for row in rows]
    shown = [at for at in range(len(heads)) if any(line[at] for line in lines)]
    widths = _widths([heads, *lines], shown, width)
    figures = [at for at in range(4, len(heads) - 1) if at in shown]
    yield _line(heads, widths, figures)
    for row, line in zip(rows, lines, strict=True):
        if row.summary.measures and not any(line[at] for at in figures):
            first = row.summary.measures[0]
            yield _line(line, widths, figures, f"{_short(first)} {first.text}")
        else:
            yield _line(line, widths, figures)


def _line(cells: Sequence[str], widths: Mapping[int, int], figures: Sequence[int], instead: str = "") -> str:
    """Cells side by side; one text in place of all figures where there are none of these."""
    texts = {at: _cut(cells[at], widths[at]) for at in widths}
    shown = {at: text.rjust(widths[at]) if at in figures else text.ljust(widths[at]) for at, text in texts.items()}
    if instead:
        room = sum(widths[at] for at in figures) + 2 * (len(figures) - 1)
        shown[figures[0]] = _cut(instead, room).ljust(room)
        shown = {at: text for at, text in shown.items() if at not in figures[1:]}
    return "  ".join(shown.values()).rstrip()


def _widths(lines: Sequence[Sequence[str]], shown: Sequence[int], width: int) -> dict[int, int]:
    """Of each column: as wide as it needs to be, and no wider than there is room."""
    widths = {at: max(len(line[at]) for line in lines) for at in shown}
    cut = [at for at in shown if lines[0][at] in CUT]
    while cut and sum(widths.values()) + 2 * (len(shown) - 1) > width:
        widest = max(cut, key=lambda at: widths[at])
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    return widths


def figure_text(measure: Measure) -> str:
    """A figure with its unit, never as the SUT's where something else was the limit: `at least 312.3 kpps`."""
    least = "at least " if measure.unit == "pps" and Limit(measure.limit).sut_may_exceed else ""
    return f"{least}{format_measure(measure.value, measure.unit)}"


def _common(rows: Sequence[ResultRow]) -> dict[str, str]:
    """The leading measures that most runs have, key and heading."""
    leading = [each for row in rows for each in row.summary.measures[:FIGURES] if each.unit != "ns"]
    texts = {each.key: each.text for each in leading}
    return {key: texts[key] for key, _ in Counter(each.key for each in leading).most_common(FIGURES)}


def _cells(row: ResultRow, keys: Sequence[str]) -> list[str]:
    summary = row.summary
    found = {each.key: each for each in summary.measures}
    texts = [_short(found[key]) if key in found else "" for key in keys]
    notes = " ".join([*(f"+{tag}" for tag in row.tags), *_doubts(row)])
    return [summary.run_id, summary.label or "", summary.sut, summary.frame_size, *texts, notes]


def _doubts(row: ResultRow) -> Iterator[str]:
    if row.summary.source != "nodrop":
        yield row.summary.source
    if row.summary.status != "complete":
        yield row.summary.status
    if row.altered:
        yield "ALTERED"


def _short(measure: Measure) -> str:
    return figure_text(measure).replace("at least ", "≥ ")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def summary_lines(summary: Summary, tags: Sequence[str], state: str) -> Iterator[str]:
    """A run in some lines: what it was, and every figure of it."""
    yield f"{summary.run_id}: {summary.source} {summary.version}, {summary.status}, began {summary.started_at}"
    yield f"{summary.label or 'no label'}; tags: {' '.join(tags) or 'none'}; {state}"
    way = "both ways" if summary.bidirectional else "one way"
    yield f"{summary.sut}, {summary.path}, {summary.chain_count} chains, {summary.flow_count} flows"
    yield f"frame size {summary.frame_size} {way}, asked {summary.asked}; on {summary.host or 'an unnamed host'}"
    width = max((len(each.text) for each in summary.measures), default=0)
    for measure in summary.measures:
        yield f"  {measure.text.ljust(width)}  {figure_text(measure)}"
