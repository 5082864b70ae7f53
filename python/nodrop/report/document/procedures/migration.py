"""The report of a migration procedure: a row for each migration, the rates before and after, a time line."""

from collections.abc import Iterator, Sequence

from nodrop.charts import fixed_rate
from nodrop.model.procedure import MigrationPlan
from nodrop.model.result import RunResult
from nodrop.procedure.migration import (
    GoalChange,
    MigrationLeg,
    MigrationReport,
    build_migration_report,
    list_cautions,
    list_deviations,
)
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Card, Cell, Paragraph, Table, build_figure
from nodrop.report.document.labels import describe_sut
from nodrop.report.document.procedures.base import (
    ProcedureView,
    build_deviations,
    find_median,
    list_suspects,
    make_time_cell,
    title_chart,
)
from nodrop.units import format_count, format_ns, format_pps, format_ratio

LEG_COLUMNS = (
    cells.make_number_column("migration"),
    cells.make_text_column("way"),
    cells.make_number_column("duration", "ns"),
    cells.make_number_column("gap", "ns"),
    cells.make_number_column("gaps"),
    cells.make_number_column("lost", "frames"),
    cells.make_number_column("lost time", "ns"),
    cells.make_number_column("impaired", "ns"),
)
GUEST_PAUSE_COLUMN = cells.make_number_column("guest paused", "ns")
CHANGE_COLUMNS = (
    cells.make_text_column("goal"),
    cells.make_number_column("before", "pps"),
    cells.make_number_column("after", "pps"),
    cells.make_number_column("change", "ratio"),
)


def build_view(plan: MigrationPlan, results: Sequence[RunResult]) -> ProcedureView:
    """Return the parts of a report on a migration procedure."""
    report = build_migration_report(plan, results)
    cautions = (*list_cautions(report), *list_suspects(results))
    table = (_build_leg_table(report).brief(),) if report.legs else ()
    events = " and ".join(event.name for event in plan.migrate)
    load = f" at {format_pps(report.load_pps)}" if report.load_pps else ""
    return ProcedureView(
        title="Migration",
        sentence=f"nodrop sent traffic through {describe_sut(results[0])}{load} while it was migrated ({events}). "
        f"{report.text}",
        cards=tuple(_build_cards(report)),
        answer=(*table, _build_answer(report)),
        cautions=cautions,
        blocks=tuple(_build_blocks(report, results, cautions)),
    )


def _build_cards(report: MigrationReport) -> Iterator[Card]:
    if not report.legs:
        return
    gap_s = find_median(leg.gap_s for leg in report.there) or 0.0
    lost_count = round(find_median(leg.lost_count for leg in report.there) or 0)
    yield Card(
        label="Interruption",
        text=format_ns(gap_s * 1e9),
        about="longest gap of a stream, median of the migrations",
        details=(f"{format_count(lost_count)} frames lost",),
        tone="plain" if all(leg.is_recovered for leg in report.legs) else "bad",
    )
    impaired_s = find_median(leg.impaired_s for leg in report.there) or 0.0
    yield Card(
        label="Impaired", text=format_ns(impaired_s * 1e9), about="from the first to the last gap or slow window"
    )
    for change in report.changes[:1]:
        yield Card(label=f"{change.goal} after", text=_format_change(change), about="compared with that before")


def _build_blocks(report: MigrationReport, results: Sequence[RunResult], cautions: tuple[str, ...]) -> Iterator[Block]:
    yield _build_answer(report)
    if cautions:
        yield Bullets(items=cautions, tone="caution")
    if not report.legs:
        return
    yield _build_leg_table(report)
    if report.changes:
        rows = tuple(map(_build_change_row, report.changes))
        yield Table(caption="Rates before and after", columns=CHANGE_COLUMNS, rows=rows)
    run_id = report.legs[0].run_id
    result = next(result for result in results if result.run_id == run_id)
    yield from build_figure(lambda: title_chart(fixed_rate.build_chart(result), "First migration"))
    yield from build_deviations(list_deviations(report, results))


def _build_answer(report: MigrationReport) -> Paragraph:
    is_good = report.legs and all(leg.is_recovered for leg in report.legs)
    return Paragraph(text=report.text, tone="good" if is_good else "bad")


def _build_leg_table(report: MigrationReport) -> Table:
    knows_pause = any(leg.guest_pause_s is not None for leg in report.legs)
    rows = (_build_leg_row(number, leg) for number, leg in enumerate(report.legs, 1))
    pauses = (make_time_cell(leg.guest_pause_s) for leg in report.legs)
    about_pause = (
        "Guest paused: by the hypervisors, according to libvirt."
        if knows_pause
        else "For how long a hypervisor paused the guest is not known."
    )
    return Table(
        caption="",
        columns=(*LEG_COLUMNS, GUEST_PAUSE_COLUMN) if knows_pause else LEG_COLUMNS,
        rows=tuple((*row, pause) if knows_pause else row for row, pause in zip(rows, pauses, strict=True)),
        note="Duration: of the events. Gap: longest of a stream around lost frames, or without an arrival, in windows "
        "of 50 ms. Lost time: frames lost at the load. Impaired: from the first to the last gap or window with twice "
        f"the latency. {about_pause}",
    )


def _build_leg_row(number: int, leg: MigrationLeg) -> tuple[Cell, ...]:
    return (
        cells.make_number_cell(number),
        cells.make_text_cell("back" if leg.is_back else "there"),
        make_time_cell(leg.duration_s),
        make_time_cell(leg.gap_s) if leg.is_recovered else Cell(text="not all", tone="bad"),
        cells.make_number_cell(leg.gap_count),
        cells.make_loss_cell(leg.lost_count),
        make_time_cell(leg.loss_s),
        make_time_cell(leg.impaired_s),
    )


def _build_change_row(change: GoalChange) -> tuple[Cell, ...]:
    return (
        cells.make_text_cell(change.goal),
        cells.make_rate_cell(change.before_pps),
        cells.make_rate_cell(change.after_pps),
        Cell(text=_format_change(change), key=change.change_ratio),
    )


def _format_change(change: GoalChange) -> str:
    return f"{'+' if change.change_ratio > 0 else ''}{format_ratio(change.change_ratio)}"
