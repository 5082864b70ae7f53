"""Lists of results: one line each, newest first, 100 columns wide by default."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from nodrop.formatting import format_measure
from nodrop.model.goal import Limit
from nodrop.model.summary import Measure, ResultRow, Summary
from nodrop.units import format_count

WIDTH = 100
FIGURES = 2
"""Measures with a column."""
CUT = ("label", "SUT", "notes")
"""Columns cut to fit the width, the widest first."""
NARROWEST = 8


def format_listing(rows: Sequence[ResultRow], width: int = WIDTH) -> Iterator[str]:
    """Yield a header and a line for each run, with the most common measures; runs without them name another."""
    measures = _find_common_measures(rows)
    heads = ["run", "label", "SUT", "size", *measures.values(), "notes"]
    lines = [_build_cells(row, list(measures)) for row in rows]
    positions = [at for at in range(len(heads)) if any(line[at] for line in lines)]
    widths = _fit_widths([heads, *lines], positions, width)
    figures = [at for at in range(4, len(heads) - 1) if at in positions]
    yield _join_cells(heads, widths, figures)
    for row, line in zip(rows, lines, strict=True):
        if row.summary.measures and not any(line[at] for at in figures):
            first = row.summary.measures[0]
            yield _join_cells(line, widths, figures, f"{_format_short(first)} {first.text}")
        else:
            yield _join_cells(line, widths, figures)


def _join_cells(cells: Sequence[str], widths: Mapping[int, int], figures: Sequence[int], instead: str = "") -> str:
    """Return cells side by side; `instead` replaces the figures if given."""
    texts = {at: _cut_text(cells[at], widths[at]) for at in widths}
    padded = {at: text.rjust(widths[at]) if at in figures else text.ljust(widths[at]) for at, text in texts.items()}
    if instead:
        room = sum(widths[at] for at in figures) + 2 * (len(figures) - 1)
        padded[figures[0]] = _cut_text(instead, room).ljust(room)
        padded = {at: text for at, text in padded.items() if at not in figures[1:]}
    return "  ".join(padded.values()).rstrip()


def _fit_widths(lines: Sequence[Sequence[str]], positions: Sequence[int], width: int) -> dict[int, int]:
    """Return the width of each column within the width available."""
    widths = {at: max(len(line[at]) for line in lines) for at in positions}
    cut = [at for at in positions if lines[0][at] in CUT]
    while cut and sum(widths.values()) + 2 * (len(positions) - 1) > width:
        widest = max(cut, key=lambda at: widths[at])
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    return widths


def format_listed_measure(measure: Measure) -> str:
    """Return a measure with its unit: `at least 312.3 kpps` if the SUT was not the limit."""
    least = "at least " if measure.unit == "pps" and Limit(measure.limit).sut_may_exceed else ""
    return f"{least}{format_measure(measure.value, measure.unit)}"


def _find_common_measures(rows: Sequence[ResultRow]) -> dict[str, str]:
    """Return key and heading of the most common leading measures."""
    leading = [each for row in rows for each in row.summary.measures[:FIGURES] if each.unit != "ns"]
    texts = {each.key: each.text for each in leading}
    return {key: texts[key] for key, _ in Counter(each.key for each in leading).most_common(FIGURES)}


def _build_cells(row: ResultRow, keys: Sequence[str]) -> list[str]:
    summary = row.summary
    measures = {each.key: each for each in summary.measures}
    texts = [_format_short(measures[key]) if key in measures else "" for key in keys]
    notes = " ".join([*(f"+{tag}" for tag in row.tags), *_list_notes(row)])
    return [summary.run_id, summary.label or "", summary.sut, summary.frame_size, *texts, notes]


def _list_notes(row: ResultRow) -> Iterator[str]:
    if row.summary.source != "nodrop":
        yield row.summary.source
    if row.summary.status != "complete":
        yield row.summary.status
    if row.altered:
        yield "ALTERED"


def _format_short(measure: Measure) -> str:
    return format_listed_measure(measure).replace("at least ", "≥ ")


def _cut_text(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def format_summary(summary: Summary, tags: Sequence[str], state: str) -> Iterator[str]:
    """Yield a run in a few lines, with every measure."""
    yield f"{summary.run_id}: {summary.source} {summary.version}, {summary.status}, began {summary.started_at}"
    yield f"{summary.label or 'no label'}; tags: {' '.join(tags) or 'none'}; {state}"
    way = "both ways" if summary.bidirectional else "one way"
    chains, flows = format_count(summary.chain_count, "chain"), format_count(summary.flow_count, "flow")
    yield f"{summary.sut}, {summary.path}, {chains}, {flows}"
    yield f"frame size {summary.frame_size} {way}, requested {summary.asked}; on {summary.host or 'an unnamed host'}"
    width = max((len(each.text) for each in summary.measures), default=0)
    for measure in summary.measures:
        yield f"  {measure.text.ljust(width)}  {format_listed_measure(measure)}"
    yield from (f"  {line}" for line in (*filter(None, [summary.error]), *summary.doubts))
