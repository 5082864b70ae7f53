"""Latency at every load it was measured at (RFC 2544 section 26.2)."""

from collections.abc import Iterator, Sequence

from nodrop.charts import latency, load_latency
from nodrop.model.latency import LatencyFigures, latency_by_way
from nodrop.model.result import RunResult
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Cell, Table
from nodrop.report.document.figures import figure
from nodrop.report.document.labels import names

USUAL = 99.9
"""Up to this percentile there is a column in any case."""
BEHIND = 10
"""Frames that have to be slower than a percentile for it to be more than the chance of a few."""
PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)


def latency_blocks(results: Sequence[RunResult]) -> tuple[Block, ...]:
    """Curves and table; nothing where none was measured."""
    table = latency_table(results)
    if not table.rows:
        return ()
    by_load = figure(lambda: load_latency.chart(results[0])) if len(results) == 1 else ()
    return (*figure(lambda: latency.chart(results)), *by_load, table)


def latency_table(results: Sequence[RunResult]) -> Table:
    """Every load and direction of the runs."""
    shown = tuple(sorted({*PERCENTILES, *(each for result in results for each in _asked(result))}))
    shown = tuple(each for each in shown if each in _told(results))
    several = names(results) if len(results) > 1 else ("",)
    rows = tuple(row for result, name in zip(results, several, strict=True) for row in _rows(result, name, shown))
    first = (cells.word("run"),) if len(results) > 1 else ()
    return Table(
        caption="Latency at each load",
        columns=(
            *first,
            *(cells.word("at"), cells.number("load", "pps"), cells.word("way"), cells.number("frames timed", "frames")),
            *(cells.number("min", "ns"), cells.number("mean", "ns")),
            *(cells.number(f"p{each:g}", "ns") for each in shown),
            *(cells.number("max", "ns"), cells.number("PDV", "ns")),
        ),
        rows=tuple(row if first else row[1:] for row in rows),
        note="From sending to receiving a frame, of those that arrived; p99 is the time within which 99 % of them did. "
        "A percentile that fewer than ten frames stand behind is left out. PDV is p99.9 less the smallest (RFC 5481). "
        "RFC 2544 section 26.2 times one frame in each of twenty trials of 120 s; here every frame counted is timed.",
    )


def _told(results: Sequence[RunResult]) -> frozenset[float]:
    """Percentiles that enough frames stand behind, somewhere."""
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
    return frozenset(each for each in PERCENTILES if most * (1 - each / 100) >= BEHIND or each <= USUAL)


def _asked(result: RunResult) -> tuple[float, ...]:
    default = type(result.plan).model_fields["percentiles"].default
    return () if result.plan.percentiles == default else result.plan.percentiles


def _rows(result: RunResult, name: str, shown: tuple[float, ...]) -> Iterator[tuple[Cell, ...]]:
    for measured in result.latencies:
        trial = result.trials[measured.trial_index]
        for way, figures in latency_by_way(trial, (0.0, *shown)).items():
            yield (
                cells.text(name),
                cells.text(measured.label),
                cells.rate(measured.load_pps),
                cells.text(f"{way[0]} → {way[1]}"),
                *_figures(figures, shown),
            )


def _figures(figures: LatencyFigures | None, shown: tuple[float, ...]) -> tuple[Cell, ...]:
    if figures is None:
        return (cells.NOTHING,) * (5 + len(shown))
    known = {
        each: found
        for each, found in figures.percentiles_ns.items()
        if figures.count * (1 - each / 100) >= BEHIND or each <= 50
    }
    p999_ns = known.get(99.9)
    return (
        cells.count(figures.count),
        cells.duration(figures.min_ns),
        cells.duration(figures.mean_ns),
        *(cells.duration(known.get(each)) for each in shown),
        cells.duration(figures.max_ns),
        cells.duration(None if p999_ns is None else p999_ns - figures.min_ns),
    )
