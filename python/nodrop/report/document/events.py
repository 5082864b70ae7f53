"""Events of a trial: what each cost, how soon the streams recovered, and the loads between them."""

from collections.abc import Iterator

from nodrop.analysis.event_effects import EventEffect, compute_event_effects, count_earlier_losses
from nodrop.analysis.phase_counts import LatencySpan, PhaseCounts, compute_phase_counts, iter_first_latencies
from nodrop.model.trial import TrialResult
from nodrop.report.document import cells
from nodrop.report.document.blocks import Cell, Table
from nodrop.units import format_count, format_ratio, format_seconds

COLUMNS = (
    cells.make_text_column("event", is_lead=True),
    cells.make_number_column("at"),
    cells.make_number_column("lost", "frames"),
    cells.make_text_column("streams"),
    cells.make_number_column("first back after"),
    cells.make_number_column("last back after"),
    cells.make_number_column("longest gap"),
)


LOAD_COLUMNS = (
    cells.make_text_column("from", is_lead=True),
    cells.make_text_column("streams"),
    cells.make_number_column("load"),
    cells.make_number_column("sent", "frames"),
    cells.make_number_column("lost", "frames"),
    cells.make_number_column("loss"),
    cells.make_number_column("mean latency"),
    cells.make_number_column("change"),
    cells.make_number_column("max latency"),
)


def build_event_tables(trial: TrialResult) -> Iterator[Table]:
    """Yield the table of the events and that of the loads between them, if there are any."""
    if effects := compute_event_effects(trial):
        rows = [_build_row(effect, len(trial.streams)) for effect in effects]
        if lost_count := count_earlier_losses(trial):
            rows.insert(0, _build_earlier_row(lost_count))
        yield Table(caption="Events", columns=COLUMNS, rows=tuple(rows))
    if counts := compute_phase_counts(trial):
        pairs = zip(counts, iter_first_latencies(counts), strict=True)
        yield Table(caption="Load", columns=LOAD_COLUMNS, rows=tuple(_build_load_row(*pair) for pair in pairs))


def _build_load_row(counts: PhaseCounts, first: LatencySpan | None) -> tuple[Cell, ...]:
    joined = f" since {format_seconds(counts.joined_s)}" if counts.joined_s else ""
    latency = counts.latency
    is_later = latency is not None and first is not None and latency != first
    change = latency.mean_ns / first.mean_ns - 1.0 if is_later and latency and first else None
    return (
        cells.make_text_cell(format_seconds(counts.begin_s)),
        cells.make_text_cell(f"{counts.stream_count}{joined}"),
        cells.make_rate_cell(counts.load_pps),
        cells.count_cell(counts.offered_count),
        cells.make_loss_cell(counts.lost_count)
        if counts.is_lost_known
        else cells.make_text_cell(f"≥ {format_count(counts.lost_count)}", "bad"),
        cells.make_loss_ratio_cell(counts.loss_ratio),
        cells.make_latency_cell(latency.mean_ns if latency else None),
        cells.make_text_cell("" if change is None else f"{'+' if change > 0 else ''}{format_ratio(round(change, 3))}"),
        cells.make_latency_cell(latency.max_ns if latency else None),
    )


def _build_earlier_row(lost_count: int) -> tuple[Cell, ...]:
    """Losses that no event caused stand apart, so that the column adds up to the losses of the trial."""
    none = cells.make_text_cell("")
    name = cells.make_text_cell("before any event", "bad")
    return name, none, cells.make_loss_cell(lost_count), none, none, none, none


def _build_row(effect: EventEffect, stream_count: int) -> tuple[Cell, ...]:
    event = effect.event
    lost_streams = len(effect.streams)
    streams = f"{lost_streams} of {stream_count}" if lost_streams else "none"
    unrecovered = "" if effect.is_recovered else "not all"
    return (
        cells.make_text_cell(event.name, "bad" if event.problem else "plain"),
        cells.make_text_cell(format_seconds(event.begin_s)),
        cells.make_loss_cell(effect.lost_count),
        cells.make_text_cell(streams),
        _make_time_cell(effect.first_s),
        cells.make_text_cell(unrecovered, "bad") if unrecovered else _make_time_cell(effect.convergence_s),
        _make_time_cell(effect.gap_s),
    )


def _make_time_cell(time_s: float | None) -> Cell:
    return cells.make_latency_cell(None if time_s is None else time_s * 1e9)
