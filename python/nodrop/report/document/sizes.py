"""The highest rates by frame size, compared with the link rate (RFC 2544 section 26.1)."""

from collections.abc import Iterator, Sequence

from nodrop.charts import rate_by_frame_size
from nodrop.formatting import format_goal, format_goal_load, format_load_per_direction, format_width
from nodrop.model.goal import GoalResult
from nodrop.model.result import RunResult
from nodrop.rates import WIRE_OVERHEAD_BYTES, compute_line_rate_pps
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Cell, Table, Tone, build_figure
from nodrop.report.document.fixed_rate import build_direction_table
from nodrop.report.document.headline import needs_care
from nodrop.report.document.labels import format_frame_size, name_runs
from nodrop.units import format_bps

COLUMNS = (
    cells.make_number_column("frame size", "bytes", is_detail=True),
    cells.make_text_column("goal", is_lead=True),
    cells.make_number_column("rate, total", "pps"),
    cells.make_number_column("per direction"),
    cells.make_number_column("on the wire (L1)", "bps"),
    cells.make_number_column("frames only (L2)", "bps", is_detail=True),
    cells.make_number_column("theoretical maximum", "pps", is_detail=True),
    cells.make_number_column("of it", "ratio", is_detail=True),
    cells.make_number_column("upper bound", "pps"),
    cells.make_number_column("width", "ratio"),
)


def build_size_blocks(results: Sequence[RunResult]) -> tuple[Block, ...]:
    """Return graph and table, and directions of fixed rates; nothing without any rate."""
    table = build_size_table(results)
    if not table.rows:
        return ()
    several = has_several_sizes(results)
    figure = (
        build_figure(lambda: rate_by_frame_size.build_chart(results)) if several or not _are_virtual(results) else ()
    )
    trial = results[0].fixed_trial if len(results) == 1 else None
    return (*figure, table, *((build_direction_table(results[0], trial),) if trial else ()))


def has_several_sizes(results: Sequence[RunResult]) -> bool:
    """Return whether runs of different frame sizes have rates."""
    return len({result.plan.traffic.frame_bytes for result in results if any(True for _ in _build_rows(result))}) > 1


def build_size_table(results: Sequence[RunResult]) -> Table:
    """Return a row for every size and goal, led by the run where several have the same size."""
    rows = tuple(row for result in results for row in _build_rows(result))
    table = Table(caption="Rate by frame size", columns=COLUMNS, rows=rows, note=_build_note(results))
    return table if len(set(map(format_frame_size, results))) == len(results) else _lead_by_run(table, results)


def _lead_by_run(table: Table, results: Sequence[RunResult]) -> Table:
    names = [
        cells.make_text_cell(name)
        for name, result in zip(name_runs(results), results, strict=True)
        for _ in _build_rows(result)
    ]
    rows = tuple((name, *row) for name, row in zip(names, table.rows, strict=True))
    columns = (cells.make_text_column("run", is_lead=True), *table.columns)
    return table.replace(caption="Rate by run", columns=columns, rows=rows)


def compute_line_rate(result: RunResult) -> float:
    """Return the packet rate of the links at full load, over all directions with traffic."""
    traffic = result.plan.traffic
    return compute_line_rate_pps(traffic.largest_frame_bytes, result.plan.link_speed_bps) / max(
        traffic.direction_ratios.values()
    )


def _build_rows(result: RunResult) -> Iterator[tuple[Cell, ...]]:
    if trial := result.fixed_trial:
        rate = cells.make_rate_cell(trial.offered_load_pps)
        yield _build_row(result, "sent", trial.offered_load_pps, rate, (cells.NOTHING,) * 2)
    for goal_result in result.goals:
        load_pps = goal_result.lower.load_pps if goal_result.lower else None
        tone: Tone = "caution" if needs_care(goal_result, result) else "good"
        rate = Cell(text=format_goal_load(goal_result), key=load_pps, tone=tone)
        yield _build_row(result, format_goal(goal_result.goal), load_pps, rate, _build_bounds(goal_result))


def _build_bounds(goal_result: GoalResult) -> tuple[Cell, Cell]:
    lower, upper = goal_result.lower, goal_result.upper
    if not lower or not upper:
        return cells.make_rate_cell(upper.load_pps if upper else None), cells.NOTHING
    width = (upper.load_pps - lower.load_pps) / upper.load_pps
    return cells.make_rate_cell(upper.load_pps), Cell(text=format_width(goal_result), key=width)


def _build_row(
    result: RunResult, goal: str, load_pps: float | None, rate: Cell, bounds: tuple[Cell, Cell]
) -> tuple[Cell, ...]:
    traffic, line_pps = result.plan.traffic, compute_line_rate(result)
    mean_bytes = traffic.mean_frame_bytes()
    return (
        Cell(text=format_frame_size(result), key=traffic.frame_bytes),
        cells.make_text_cell(goal),
        rate,
        cells.make_text_cell(format_load_per_direction(load_pps, traffic) if load_pps else ""),
        cells.make_bit_rate_cell(load_pps * (mean_bytes + WIRE_OVERHEAD_BYTES) * 8 if load_pps else None),
        cells.make_bit_rate_cell(load_pps * mean_bytes * 8 if load_pps else None),
        cells.make_rate_cell(line_pps),
        cells.make_ratio_cell(load_pps / line_pps if load_pps else None),
        *bounds,
    )


def _build_note(results: Sequence[RunResult]) -> str:
    speeds = " and ".join(dict.fromkeys(format_bps(result.plan.link_speed_bps) for result in results))
    virtual = " These links are virtual: they only report that speed." if _are_virtual(results) else ""
    return (
        f"Frame size in bytes with FCS; rates over all directions. The theoretical maximum is that of links of "
        f"{speeds}, preamble and gap between frames included (RFC 2544 section 20).{virtual}"
    )


def _are_virtual(results: Sequence[RunResult]) -> bool:
    """Return whether the links belong to the lab rather than being wires with a speed."""
    return all(result.plan.sends_into_lab and result.plan.lab.sut not in ("ext", "openstack") for result in results)
