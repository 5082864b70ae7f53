"""The report of a service activation test: a row for each sub-test, the performance test by the minute."""

from collections.abc import Iterator, Sequence

from nodrop.charts import y1564 as chart
from nodrop.model.procedure import Y1564Plan
from nodrop.model.result import RunResult
from nodrop.procedure.y1564 import build_y1564_report, describe_compliance, describe_limits, list_cautions
from nodrop.procedure.y1564_figures import (
    DirectionFigures,
    Minute,
    Step,
    Verdict,
    Y1564Report,
    describe_profile,
)
from nodrop.report.document import cells
from nodrop.report.document.blocks import (
    Block,
    Bullets,
    Card,
    Cell,
    FactList,
    Fold,
    Paragraph,
    Table,
    Tone,
    build_figure,
)
from nodrop.report.document.labels import describe_sut
from nodrop.report.document.procedures.base import ProcedureView, build_deviations
from nodrop.units import format_bps, format_ratio, format_seconds

MINUTE_ROW_MAX = 30
"""Longest performance test whose minutes are shown at once."""
TONES: dict[Verdict | None, Tone] = {
    Verdict.PASS: "good",
    Verdict.FAIL: "bad",
    Verdict.NOT_POSSIBLE: "caution",
    Verdict.ABORTED: "caution",
    Verdict.SKIPPED: "quiet",
    None: "quiet",
}


def build_view(plan: Y1564Plan, results: Sequence[RunResult]) -> ProcedureView:
    """Return the parts of a report on a service activation test."""
    report = build_y1564_report(plan, results)
    cautions = tuple(list_cautions(report))
    answer = Paragraph(text=report.text, tone=TONES[report.verdict])
    return ProcedureView(
        title="Y.1564",
        sentence=f"nodrop tested a service through {describe_sut(results[0])} after ITU-T Y.1564. {report.text}",
        cards=tuple(_build_cards(report)),
        answer=(_build_overview(report).brief(), answer),
        cautions=cautions,
        blocks=tuple(_build_blocks(report, answer, cautions)),
    )


def _build_cards(report: Y1564Report) -> Iterator[Card]:
    yield Card(
        label="Service",
        text=report.verdict,
        about=describe_profile(report.plan),
        details=(describe_limits(report.plan),),
        tone=TONES[report.verdict],
    )
    performance = report.performance
    if performance is None or not performance.directions:
        return
    worst = max(performance.directions, key=lambda each: each.flr)
    yield Card(
        label="Frame loss ratio",
        text=format_ratio(worst.flr),
        about=f"at CIR for {format_seconds(performance.duration_s)}",
    )
    if worst.availability:
        ratio = min(each.availability.ratio for each in performance.directions if each.availability)
        yield Card(label="Availability", text=format_ratio(ratio), about="share of available seconds")


def _build_blocks(report: Y1564Report, answer: Paragraph, cautions: tuple[str, ...]) -> Iterator[Block]:
    yield answer
    if cautions:
        yield Bullets(items=cautions, tone="caution")
    yield _build_overview(report)
    yield from build_figure(lambda: chart.build_chart(report))
    yield _build_profile(report.plan)
    if any(step.directions for step in report.steps):
        yield _build_details(report)
    if any(step.burst and step.directions for step in report.steps):
        yield _build_bursts(report)
    performance = report.performance
    if performance and performance.directions:
        yield _build_performance(performance)
        yield from _build_minutes(performance)
    yield Paragraph(text=describe_compliance(report))
    yield from build_deviations(report.deviations)


def _build_overview(report: Y1564Report) -> Table:
    """Return a row for each sub-test and direction."""
    has_ways = report.plan.direction_count == 2
    columns = [cells.make_text_column("sub-test", is_lead=True), cells.make_text_column("verdict")]
    if has_ways:
        columns.append(cells.make_text_column("way"))
    columns += [
        cells.make_number_column("rate", "b/s"),
        cells.make_number_column("IR", "b/s"),
        cells.make_number_column("FLR", "ratio"),
        cells.make_number_column("FTD", "ns"),
        cells.make_number_column("FDV", "ns"),
    ]
    if any(step.reason for step in report.steps):
        columns.append(cells.make_prose_column("reason").replace(is_detail=True))
    rows = [row[: len(columns)] for step in report.steps for row in _iter_overview_rows(step, has_ways=has_ways)]
    return Table(
        caption="",
        columns=tuple(columns),
        rows=tuple(rows),
        note=f"Rates of each direction. FTD: mean; FDV: 99.9th percentile of the delay minus the smallest. Limits: "
        f"{describe_limits(report.plan)}; above CIR, frames may be lost, and IR is at least CIR without that ratio and "
        f"at most CIR + EIR + {format_bps(report.plan.margin_bps)}.",
    )


def _iter_overview_rows(step: Step, *, has_ways: bool) -> Iterator[tuple[Cell, ...]]:
    name, rate = cells.make_text_cell(step.name), cells.make_bit_rate_cell(step.rate_bps)
    if not step.directions:
        way = (cells.NOTHING,) if has_ways else ()
        reason = cells.make_text_cell(step.reason)
        yield name, _make_verdict_cell(step.verdict), *way, rate, *(cells.NOTHING,) * 4, reason
    for each in step.directions:
        way = (cells.make_text_cell(each.name),) if has_ways else ()
        figures = _build_figures(each)
        if step.burst:
            figures = (cells.NOTHING, *figures[1:])
        is_other = step.verdict is Verdict.FAIL and not each.misses
        verdict = Verdict.PASS if is_other else step.verdict
        reason = cells.make_text_cell("" if is_other else step.reason)
        yield name, _make_verdict_cell(verdict), *way, rate, *figures, reason


def _build_figures(each: DirectionFigures) -> tuple[Cell, ...]:
    return (
        Cell(text=format_bps(each.ir_bps), key=each.ir_bps),
        _make_flr_cell(each.flr),
        cells.make_latency_cell(each.ftd_mean_ns),
        cells.make_latency_cell(each.fdv_ns),
    )


def _make_flr_cell(flr: float) -> Cell:
    return Cell(text=format_ratio(flr), key=flr, tone="caution" if flr else "quiet")


def _make_verdict_cell(verdict: Verdict | None) -> Cell:
    return Cell(text=verdict or "-", tone=TONES[verdict])


def _build_profile(plan: Y1564Plan) -> FactList:
    def size(size_bytes: int) -> str:
        return f"{size_bytes:,} bytes" if size_bytes else "unknown"

    pairs = [("CIR, CBS", f"{format_bps(plan.cir_bps)}, {size(plan.cbs_bytes)}")]
    pairs.append(("EIR, EBS", f"{format_bps(plan.eir_bps)}, {size(plan.ebs_bytes)}" if plan.eir_bps else "none"))
    pairs += [
        ("color mode", "blind"),
        ("frame size", f"{plan.frame_bytes} bytes, with FCS"),
        ("directions", "both, each with this profile" if plan.direction_count == 2 else "one"),
        ("service acceptance criteria", describe_limits(plan)),
        ("margin M", format_bps(plan.margin_bps)),
    ]
    return FactList(caption="Service", pairs=tuple(pairs))


def _build_details(report: Y1564Report) -> Table:
    return Table(
        caption="Sub-tests",
        columns=(
            cells.make_text_column("sub-test", is_lead=True),
            cells.make_text_column("direction"),
            cells.make_number_column("load", "pps"),
            cells.make_number_column("line rate", "b/s"),
            cells.make_number_column("sent", "frames"),
            cells.make_number_column("lost", "frames"),
            cells.make_number_column("IR min", "b/s"),
            cells.make_number_column("IR max", "b/s"),
            cells.make_number_column("FTD min", "ns"),
            cells.make_number_column("FTD max", "ns"),
        ),
        rows=tuple(_build_detail_row(step, each) for step in report.steps for each in step.directions),
        note="Line rate: the rate with preamble and gap. IR min and max: in the seconds with the fewest and the most "
        "arrivals.",
    )


def _build_detail_row(step: Step, each: DirectionFigures) -> tuple[Cell, ...]:
    return (
        cells.make_text_cell(step.name),
        cells.make_text_cell(each.name),
        cells.make_rate_cell(step.load_pps),
        cells.make_bit_rate_cell(step.line_rate_bps),
        cells.count_cell(each.offered_count),
        cells.make_loss_cell(each.lost_count),
        cells.make_bit_rate_cell(each.ir_min_bps),
        cells.make_bit_rate_cell(each.ir_max_bps),
        cells.make_latency_cell(each.ftd_min_ns),
        cells.make_latency_cell(each.ftd_max_ns),
    )


def _build_bursts(report: Y1564Report) -> Table:
    rows = [(step.name, step.burst, each) for step in report.steps if step.burst for each in step.directions]
    return Table(
        caption="Bursts",
        columns=(
            cells.make_text_column("sub-test", is_lead=True),
            cells.make_text_column("direction"),
            cells.make_number_column("sent", "frames"),
            cells.make_number_column("passed", "frames"),
            cells.make_number_column("least", "frames"),
            cells.make_number_column("most", "frames"),
        ),
        rows=tuple(
            (
                cells.make_text_cell(name),
                cells.make_text_cell(each.name),
                cells.count_cell(each.offered_count),
                cells.count_cell(each.offered_count - each.lost_count),
                cells.count_cell(limits.passed_min),
                cells.count_cell(limits.passed_max),
            )
            for name, limits, each in rows
        ),
        note="At the line rate, from full buckets. Least and most: what a policer with this profile lets pass; more "
        "pass only if they are delayed as the profile requires.",
    )


def _build_performance(step: Step) -> Table:
    return Table(
        caption="Performance test",
        columns=(
            cells.make_text_column("direction"),
            cells.make_number_column("IR", "b/s"),
            cells.make_number_column("FLR", "ratio"),
            cells.make_number_column("FLR of all time", "ratio"),
            cells.make_number_column("FTD", "ns"),
            cells.make_number_column("FDV", "ns"),
            cells.make_number_column("availability", "ratio"),
            cells.make_number_column("errored", "s"),
            cells.make_number_column("unavailable", "s"),
        ),
        rows=tuple(_build_performance_row(each) for each in step.directions),
        note=f"{format_seconds(step.duration_s)} at CIR. FLR: of available time. Errored: seconds that lose more than "
        "half of their frames; 10 in a row begin unavailable time, 10 others end it.",
    )


def _build_performance_row(each: DirectionFigures) -> tuple[Cell, ...]:
    ir, flr, ftd, fdv = _build_figures(each)
    known = each.availability
    ratio = cells.NOTHING if known is None else Cell(text=format_ratio(known.ratio), key=known.ratio)
    return (
        cells.make_text_cell(each.name),
        ir,
        flr,
        _make_flr_cell(each.total_flr),
        ftd,
        fdv,
        ratio,
        cells.make_number_cell(known.errored_s if known else None),
        cells.make_number_cell(known.unavailable_s if known else None),
    )


def _build_minutes(step: Step) -> Iterator[Block]:
    rows = [(each.name, minute) for each in step.directions for minute in each.minutes]
    if not rows:
        return
    table = Table(
        caption="By minute",
        columns=(
            cells.make_number_column("minute"),
            cells.make_text_column("direction"),
            cells.make_number_column("IR", "b/s"),
            cells.make_number_column("lost", "frames"),
            cells.make_number_column("FLR", "ratio"),
            cells.make_number_column("FTD mean", "ns"),
            cells.make_number_column("FTD max", "ns"),
            cells.make_number_column("errored", "s"),
            cells.make_number_column("unavailable", "s"),
        ),
        rows=tuple(_build_minute_row(name, minute) for name, minute in rows),
        note="Lost frames count in the minute in which a later one overtook them.",
    )
    is_long = len(rows) > MINUTE_ROW_MAX
    yield Fold(title=f"{len(rows)} minutes", blocks=(table,)) if is_long else table


def _build_minute_row(name: str, minute: Minute) -> tuple[Cell, ...]:
    return (
        cells.make_number_cell(minute.number),
        cells.make_text_cell(name),
        Cell(text=format_bps(minute.ir_bps), key=minute.ir_bps),
        cells.make_loss_cell(minute.lost_count),
        _make_flr_cell(minute.flr),
        cells.make_latency_cell(minute.ftd_mean_ns),
        cells.make_latency_cell(minute.ftd_max_ns),
        cells.make_number_cell(minute.errored_s),
        cells.make_number_cell(minute.unavailable_s),
    )
