"""The highest rates by frame size, beside what the link carries (RFC 2544 section 26.1)."""

from collections.abc import Iterator, Sequence

from nodrop.charts import rate_by_frame_size
from nodrop.formatting import format_goal_load, format_goal, format_width
from nodrop.model.goal import GoalResult
from nodrop.model.result import RunResult
from nodrop.rates import WIRE_OVERHEAD_BYTES, line_rate_pps
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Cell, Table
from nodrop.report.document.figures import figure
from nodrop.report.document.labels import size_text
from nodrop.report.fixed import fixed_trial
from nodrop.units import format_bps

COLUMNS = (
    cells.number("frame size", "bytes"),
    cells.word("goal"),
    cells.number("rate, total", "pps"),
    cells.number("on the wire (L1)", "bps"),
    cells.number("frames only (L2)", "bps"),
    cells.number("theoretical maximum", "pps"),
    cells.number("of it", "ratio"),
    cells.number("upper bound", "pps"),
    cells.number("width", "ratio"),
)


def size_blocks(results: Sequence[RunResult]) -> tuple[Block, ...]:
    """Graph and table; nothing where nothing was found."""
    table = sizes_table(results)
    if not table.rows:
        return ()
    several = len({row[0].key for row in table.rows if row[2].key}) > 1
    drawn = figure(lambda: rate_by_frame_size.chart(results)) if several or not _are_virtual(results) else ()
    return (*drawn, table)


def sizes_table(results: Sequence[RunResult]) -> Table:
    """A row for every size and goal."""
    rows = tuple(row for result in results for row in _rows(result))
    return Table(caption="Rate by frame size", columns=COLUMNS, rows=rows, note=_note(results))


def theoretical_pps(result: RunResult) -> float:
    """The most frames a second that the links carry, all directions with traffic together."""
    traffic = result.plan.traffic
    return line_rate_pps(traffic.frame_bytes, result.plan.link_speed_bps) / max(traffic.direction_ratios.values())


def _rows(result: RunResult) -> Iterator[tuple[Cell, ...]]:
    if trial := fixed_trial(result):
        yield _row(result, "sent", trial.offered_load_pps, cells.rate(trial.offered_load_pps), (cells.NOTHING,) * 2)
    for found in result.goals:
        load_pps = found.lower.load_pps if found.lower else None
        yield _row(result, format_goal(found.goal), load_pps, Cell(text=format_goal_load(found), key=load_pps), _bounds(found))


def _bounds(found: GoalResult) -> tuple[Cell, Cell]:
    if not found.lower or not found.upper:
        return cells.rate(found.upper.load_pps if found.upper else None), cells.NOTHING
    width = (found.upper.load_pps - found.lower.load_pps) / found.upper.load_pps
    return cells.rate(found.upper.load_pps), Cell(text=format_width(found), key=width)


def _row(
    result: RunResult, goal: str, load_pps: float | None, shown: Cell, bounds: tuple[Cell, Cell]
) -> tuple[Cell, ...]:
    traffic, most_pps = result.plan.traffic, theoretical_pps(result)
    return (
        Cell(text=size_text(result), key=traffic.frame_bytes),
        cells.text(goal),
        shown,
        _bits(load_pps, traffic.frame_bytes + WIRE_OVERHEAD_BYTES),
        _bits(load_pps, traffic.frame_bytes),
        cells.rate(most_pps),
        cells.ratio(load_pps / most_pps if load_pps else None),
        *bounds,
    )


def _bits(load_pps: float | None, frame_bytes: float) -> Cell:
    """A packet rate in bits per second."""
    if not load_pps:
        return cells.NOTHING
    rate_bps = load_pps * frame_bytes * 8
    return Cell(text=format_bps(rate_bps), key=rate_bps)


def _note(results: Sequence[RunResult]) -> str:
    speeds = " and ".join(dict.fromkeys(format_bps(result.plan.link_speed_bps) for result in results))
    virtual = " These links are virtual: that speed is only what they say of themselves."
    return (
        f"Frame size in bytes with FCS; rates over all directions. The theoretical maximum is that of links of "
        f"{speeds}, preamble and gap between frames included (RFC 2544 section 20)."
        f"{virtual if _are_virtual(results) else ''}"
    )


def _are_virtual(results: Sequence[RunResult]) -> bool:
    """Whether the links are the lab's own, and no wires that have a speed."""
    return all(result.plan.sends_into_lab and result.plan.lab.sut not in ("ext", "openstack") for result in results)
