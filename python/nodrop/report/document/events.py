"""Events of a trial: what each cost, and how soon the streams recovered."""

from collections.abc import Iterator

from nodrop.analysis.event_effects import EventEffect, compute_event_effects
from nodrop.model.trial import TrialResult
from nodrop.report.document import cells
from nodrop.report.document.blocks import Cell, Table
from nodrop.units import format_seconds

COLUMNS = (
    cells.make_text_column("event", is_lead=True),
    cells.make_number_column("at"),
    cells.make_number_column("lost", "frames"),
    cells.make_text_column("streams"),
    cells.make_number_column("first back after"),
    cells.make_number_column("last back after"),
    cells.make_number_column("longest gap"),
)


def build_event_tables(trial: TrialResult) -> Iterator[Table]:
    """Yield the table of the events, if there are any."""
    if effects := compute_event_effects(trial):
        rows = tuple(_build_row(effect, len(trial.streams)) for effect in effects)
        yield Table(caption="Events", columns=COLUMNS, rows=rows)


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
