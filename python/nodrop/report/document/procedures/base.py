"""What a report shows of any test procedure."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from nodrop.charts.base import Chart
from nodrop.formatting.flags import DISTURBANCES
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import ValidityStatus
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Card, Cell, Paragraph
from nodrop.units import format_count, format_seconds


class ProcedureView(NamedTuple):
    """The parts of a report on a procedure."""

    title: str
    sentence: str
    """The answer for readers new to the field."""
    cards: tuple[Card, ...]
    """Figures of the first screen."""
    answer: tuple[Block, ...]
    """The table and the answer, for a screen."""
    cautions: tuple[str, ...]
    blocks: tuple[Block, ...]
    """The section."""


def list_suspects(results: Sequence[RunResult]) -> tuple[str, ...]:
    """Return the number of suspect trials and their doubts in a sentence; nothing without any."""
    complete = (result for result in results if result.status is Status.COMPLETE)
    trials = [result.fixed_trial for result in complete if result.fixed_trial]
    suspect = [trial for trial in trials if trial.validity.verdict is not ValidityStatus.VALID]
    if not suspect:
        return ()
    codes = dict.fromkeys(doubt.code for trial in suspect for doubt in trial.validity.doubts)
    reasons = "; ".join(DISTURBANCES.get(code, code.replace("_", " ")) for code in codes)
    return (f"{len(suspect)} of {format_count(len(trials), 'trial')} suspect: {reasons}",)


def build_deviations(deviations: Iterable[str]) -> tuple[Block, ...]:
    """Return the deviations from the standard as a list; nothing without any."""
    items = tuple(deviations)
    return (Paragraph(text="Deviations:"), Bullets(items=items)) if items else ()


def title_chart(chart: Chart, title: str) -> Chart:
    """Return a chart with another title before its own."""
    return chart.replace(title=f"{title}: {chart.title}")


def find_median(values: Iterable[float | None]) -> float | None:
    """Return the median of the known values; None without any."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def make_time_cell(time_s: float | None) -> Cell:
    """Return a time as a cell."""
    return Cell(text="0", key=0) if time_s == 0 else cells.make_latency_cell(None if time_s is None else time_s * 1e9)


def make_seconds_cell(time_s: float | None) -> Cell:
    """Return a duration in whole or tenths of a second as a cell."""
    return cells.NOTHING if time_s is None else Cell(text=format_seconds(time_s), key=time_s)
