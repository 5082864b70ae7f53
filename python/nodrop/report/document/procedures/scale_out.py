"""The report of a scale-out procedure: a row for each growth, existing and new users apart."""

from collections.abc import Iterator, Sequence

from nodrop.charts import fixed_rate
from nodrop.charts import scale_out as scale_out_chart
from nodrop.model.procedure import ScaleOutPlan
from nodrop.model.result import RunResult
from nodrop.procedure.scale_out import (
    DEGRADATION_MAX,
    ScaleOutReport,
    ScaleOutStep,
    build_scale_out_report,
    list_cautions,
    list_deviations,
)
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Card, Cell, Paragraph, Table, build_figure
from nodrop.report.document.labels import describe_sut
from nodrop.report.document.procedures.base import (
    ProcedureView,
    build_deviations,
    list_suspects,
    make_seconds_cell,
    title_chart,
)
from nodrop.units import format_count, format_pps, format_ratio, format_seconds

GROWTH_COLUMNS = (
    cells.make_text_column("growth"),
    cells.make_text_column("SLA restored"),
    cells.make_number_column("after", "s"),
    cells.make_number_column("lost", "frames"),
    cells.make_number_column("existing arrived", "ratio"),
    cells.make_number_column("new arrived", "ratio"),
    cells.make_number_column("response", "ratio"),
    cells.make_number_column("instances"),
)
DETAIL_COLUMNS = (
    cells.make_text_column("growth"),
    cells.make_number_column("users"),
    cells.make_number_column("detected", "s"),
    cells.make_number_column("response before", "ns"),
    cells.make_number_column("during", "ns"),
    cells.make_number_column("of new", "ns"),
    cells.make_number_column("efficacy"),
    cells.make_number_column("scale-in", "s"),
    cells.make_number_column("lost after", "frames"),
)


def build_view(plan: ScaleOutPlan, results: Sequence[RunResult]) -> ProcedureView:
    """Return the parts of a report on a scale-out procedure."""
    report = build_scale_out_report(plan, results)
    cautions = (*list_cautions(report), *list_suspects(results))
    table = (_build_growth_table(report).brief(),) if report.steps else ()
    return ProcedureView(
        title="Scale-out",
        sentence=f"nodrop sent the traffic of {_describe_users(report)} through {describe_sut(results[0])}, and let "
        f"more users join. {report.text}",
        cards=tuple(_build_cards(report)),
        answer=(*table, _build_answer(report)),
        cautions=cautions,
        blocks=tuple(_build_blocks(report, results, cautions)),
    )


def _describe_users(report: ScaleOutReport) -> str:
    users = format_count(report.plan.user_count, "user")
    rates_pps = sorted({step.user_rate_pps for step in report.steps})
    if not rates_pps:
        return users
    lowest = f"{format_pps(rates_pps[0])} to " if len(rates_pps) > 1 else ""
    return f"{users} with {lowest}{format_pps(rates_pps[-1])} each"


def _build_cards(report: ScaleOutReport) -> Iterator[Card]:
    if not report.steps:
        return
    last = report.steps[-1]
    growth = f"with {format_ratio(last.growth_ratio)} more users"
    yield Card(
        label="SLA restored",
        text=_describe_restoration(last),
        about=growth,
        details=(f"at most {format_ratio(report.plan.loss_ratio_max)} of a second's frames lost",),
        tone="bad" if last.restored_s is None else "good",
    )
    yield Card(label="Frames lost", text=format_count(last.lost_count), about=f"{growth}, until these left")
    if last.instance_count is not None:
        yield Card(label="Instances", text=str(last.instance_count), about=f"at the end, {growth}")


def _describe_restoration(step: ScaleOutStep) -> str:
    if step.restored_s is None:
        return "not restored"
    return f"after {format_seconds(step.restored_s)}" if step.restored_s else "never missed"


def _build_blocks(report: ScaleOutReport, results: Sequence[RunResult], cautions: tuple[str, ...]) -> Iterator[Block]:
    yield _build_answer(report)
    if cautions:
        yield Bullets(items=cautions, tone="caution")
    if not report.steps:
        return
    yield _build_growth_table(report)
    if len(report.steps) > 1:
        yield from build_figure(lambda: scale_out_chart.build_chart(report))
    yield Table(
        caption="Details",
        columns=DETAIL_COLUMNS,
        rows=tuple(map(_build_detail_row, report.steps)),
        note="Response: mean latency, of both directions together. Efficacy: users that each added instance serves, in "
        "units of the existing ones.",
    )
    yield from _build_timeline(report, results)
    yield from build_deviations(list_deviations(report, results))


def _build_timeline(report: ScaleOutReport, results: Sequence[RunResult]) -> Iterator[Block]:
    step = report.steps[-1]
    result = next(result for result in results if result.run_id == step.run_id)
    title = f"With {format_ratio(step.growth_ratio)} more users"
    yield from build_figure(lambda: title_chart(fixed_rate.build_chart(result), title))


def _build_answer(report: ScaleOutReport) -> Paragraph:
    is_good = report.steps and all(step.restored_s is not None for step in report.steps)
    return Paragraph(text=report.text, tone="good" if is_good else "bad")


def _build_growth_table(report: ScaleOutReport) -> Table:
    return Table(
        caption="",
        columns=GROWTH_COLUMNS,
        rows=tuple(map(_build_growth_row, report.steps)),
        note="After: until the end of the last second that missed the SLA. Arrived: share of the frames of existing "
        "and of new users. Response: change of the mean of existing users.",
    )


def _build_growth_row(step: ScaleOutStep) -> tuple[Cell, ...]:
    restored = (
        ("no", "bad") if step.restored_s is None else ("yes", "good") if step.restored_s else ("not missed", "good")
    )
    change = step.degradation_ratio
    return (
        cells.make_text_cell(f"+{format_ratio(step.growth_ratio)}"),
        Cell(text=restored[0], tone=restored[1]),
        make_seconds_cell(step.restored_s or None),
        cells.make_loss_cell(step.lost_count),
        _make_success_cell(step.existing.success_ratio),
        _make_success_cell(step.new.success_ratio),
        cells.NOTHING if change is None else _make_change_cell(change),
        cells.NOTHING if step.instance_count is None else cells.make_number_cell(step.instance_count),
    )


def _build_detail_row(step: ScaleOutStep) -> tuple[Cell, ...]:
    efficacy = step.efficacy
    return (
        cells.make_text_cell(f"+{format_ratio(step.growth_ratio)}"),
        cells.make_number_cell(step.existing.user_count + step.new.user_count),
        make_seconds_cell(step.detected_s),
        cells.make_latency_cell(step.before.response_ns),
        cells.make_latency_cell(step.existing.response_ns),
        cells.make_latency_cell(step.new.response_ns),
        cells.NOTHING if efficacy is None else Cell(text=f"{efficacy:.3g}", key=efficacy),
        make_seconds_cell(step.scale_in_s),
        cells.make_loss_cell(step.return_lost_count),
    )


def _make_change_cell(change: float) -> Cell:
    tone = "caution" if change > DEGRADATION_MAX else "plain"
    return Cell(text=f"{'+' if change > 0 else ''}{format_ratio(change)}", key=change, tone=tone)


def _make_success_cell(ratio: float) -> Cell:
    """Return a share rounded down, so that a lost frame never shows as 100 %."""
    return Cell(text="100 %" if ratio == 1 else f"{min(ratio * 100, 99.99):.2f} %", key=ratio)
