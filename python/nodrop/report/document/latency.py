"""Latency at every load it was measured at (RFC 2544 section 26.2)."""

from collections.abc import Iterator, Sequence

from nodrop.charts import latency, load_latency
from nodrop.model.latency import LatencyFigures, compute_latency_by_direction, compute_trial_latency
from nodrop.model.plan import Plan
from nodrop.model.result import LatencyResult, RunResult
from nodrop.model.trial import FIXED
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Cell, Column, Table, build_figure
from nodrop.report.document.labels import name_runs
from nodrop.units import format_pps

ALWAYS_SHOWN_MAX = 99.9
"""Percentiles up to this one have a column in any case."""
SLOWER_FRAMES_MIN = 10
"""Frames that must be slower than a percentile; fewer make it a matter of chance."""
PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
BRIEF_PERCENTILES = (50.0, 90.0, 99.0, 99.9)


def build_latency_blocks(results: Sequence[RunResult]) -> tuple[Block, ...]:
    """Return curves and table; nothing if no latency was measured."""
    table = build_latency_table(results)
    if not table.rows:
        return ()
    by_load = build_figure(lambda: load_latency.build_chart(results[0])) if len(results) == 1 else ()
    return (*build_figure(lambda: latency.build_chart(results)), *by_load, table)


def build_latency_table(results: Sequence[RunResult]) -> Table:
    """Return the latency at every load and direction of the runs."""
    percentiles = tuple(
        sorted({*PERCENTILES, *(each for result in results for each in _list_custom_percentiles(result))})
    )
    percentiles = tuple(each for each in percentiles if each in _select_meaningful_percentiles(results))
    names = name_runs(results) if len(results) > 1 else ("",)
    rows = tuple(
        row for result, name in zip(results, names, strict=True) for row in _iter_rows(result, name, percentiles)
    )
    first = (cells.make_text_column("run"),) if len(results) > 1 else ()
    return Table(
        caption="Latency at each load",
        columns=(
            *first,
            *(cells.make_text_column("at"), cells.make_number_column("load", "pps"), cells.make_text_column("way")),
            *(cells.make_number_column("frames timed", "frames"), *_make_figure_columns(percentiles)),
            cells.make_number_column("PDV", "ns"),
        ),
        rows=tuple(row if first else row[1:] for row in rows),
        note="Time from sending to receiving a frame, for frames that arrived; 99 % of them arrived within p99. "
        "Percentiles with fewer than ten slower frames are omitted. PDV is p99.9 minus the minimum (RFC 5481). "
        "RFC 2544 section 26.2 times one frame in each of twenty trials of 120 s; nodrop times every counted frame.",
    )


def build_brief_latency_table(result: RunResult) -> Table:
    """Return the latency in few columns: a load is below its label, in the row of the second direction."""
    percentiles = select_percentiles(result.plan)
    return Table(
        caption="",
        columns=(
            cells.make_text_column("latency at"),
            cells.make_text_column("way"),
            *_make_figure_columns(percentiles),
        ),
        rows=tuple(row for measured in result.latencies for row in _iter_brief_rows(measured, result, percentiles)),
    )


def select_percentiles(plan: Plan) -> tuple[float, ...]:
    """Return the requested percentiles; by default the most telling ones."""
    is_default = plan.percentiles == Plan.model_fields["percentiles"].default
    return BRIEF_PERCENTILES if is_default and not plan.fixed else plan.percentiles


def _make_figure_columns(percentiles: Sequence[float]) -> tuple[Column, ...]:
    titles = ("min", "mean", *(f"p{each:g}" for each in percentiles), "max")
    return tuple(cells.make_number_column(title, "ns") for title in titles)


def _iter_brief_rows(
    measured: LatencyResult, result: RunResult, percentiles: tuple[float, ...]
) -> Iterator[tuple[Cell, ...]]:
    trial = result.trials[measured.trial_index]
    labels = [measured.label] if trial.phase == FIXED else [measured.label, format_pps(measured.load_pps)]
    figures = {f"{way[0]}→{way[1]}": each for way, each in compute_latency_by_direction(trial, percentiles).items()}
    if trial.phase == FIXED and len(figures) > 1:
        figures["all"] = compute_trial_latency(trial, percentiles)
    rows = [(cells.make_text_cell(way), *_build_brief_figures(each, percentiles)) for way, each in figures.items()]
    blank = (Cell(text=""),) * (4 + len(percentiles))
    for position in range(max(len(labels), len(rows))):
        label = labels[position] if position < len(labels) else ""
        yield Cell(text=label), *(rows[position] if position < len(rows) else blank)


def _build_brief_figures(figures: LatencyFigures | None, percentiles: Sequence[float]) -> tuple[Cell, ...]:
    if figures is None:
        return (cells.NOTHING,) * (3 + len(percentiles))
    values = (figures.min_ns, figures.mean_ns, *map(figures.percentiles_ns.get, percentiles), figures.max_ns)
    return tuple(map(cells.make_latency_cell, values))


def _select_meaningful_percentiles(results: Sequence[RunResult]) -> frozenset[float]:
    """Return the percentiles with enough slower frames in any trial."""
    most = max(
        (
            times.latency.count
            for result in results
            for measured in result.latencies
            for times in result.trials[measured.trial_index].directions
            if times.latency
        ),
        default=0,
    )
    return frozenset(
        each for each in PERCENTILES if most * (1 - each / 100) >= SLOWER_FRAMES_MIN or each <= ALWAYS_SHOWN_MAX
    )


def _list_custom_percentiles(result: RunResult) -> tuple[float, ...]:
    default = type(result.plan).model_fields["percentiles"].default
    return () if result.plan.percentiles == default else result.plan.percentiles


def _iter_rows(result: RunResult, name: str, percentiles: tuple[float, ...]) -> Iterator[tuple[Cell, ...]]:
    for measured in result.latencies:
        trial = result.trials[measured.trial_index]
        for way, figures in compute_latency_by_direction(trial, (0.0, *percentiles)).items():
            yield (
                cells.make_text_cell(name),
                cells.make_text_cell(measured.label),
                cells.make_rate_cell(measured.load_pps),
                cells.make_text_cell(f"{way[0]} → {way[1]}"),
                *_build_figures(figures, percentiles),
            )


def _build_figures(figures: LatencyFigures | None, percentiles: tuple[float, ...]) -> tuple[Cell, ...]:
    if figures is None:
        return (cells.NOTHING,) * (5 + len(percentiles))
    percentiles_ns = {
        each: latency_ns
        for each, latency_ns in figures.percentiles_ns.items()
        if figures.count * (1 - each / 100) >= SLOWER_FRAMES_MIN or each <= 50
    }
    p999_ns = percentiles_ns.get(99.9)
    return (
        cells.count_cell(figures.count),
        cells.make_latency_cell(figures.min_ns),
        cells.make_latency_cell(figures.mean_ns),
        *(cells.make_latency_cell(percentiles_ns.get(each)) for each in percentiles),
        cells.make_latency_cell(figures.max_ns),
        cells.make_latency_cell(None if p999_ns is None else p999_ns - figures.min_ns),
    )
