"""The report of a procedure of instances: a row for each run."""

from collections.abc import Iterator, Sequence

from nodrop.charts import instances as instances_chart
from nodrop.model.procedure import InstancesPlan
from nodrop.model.result import RunResult
from nodrop.procedure.instances import (
    InstancesReport,
    InstancesStep,
    build_instances_report,
    describe_load,
    describe_sla,
    list_cautions,
    list_deviations,
)
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Card, Cell, Paragraph, Table, build_figure
from nodrop.report.document.labels import describe_sut
from nodrop.report.document.procedures.base import ProcedureView, build_deviations, list_suspects, make_seconds_cell
from nodrop.units import format_pps

COLUMNS = (
    cells.make_number_column("instances"),
    cells.make_number_column("duration", "s"),
    cells.make_text_column("SLA"),
    cells.make_number_column("misses", "instances"),
    cells.make_number_column("sent", "frames"),
    cells.make_number_column("lost", "frames"),
    cells.make_number_column("worst loss", "ratio"),
    cells.make_number_column("worst p99", "ns"),
)


def build_view(plan: InstancesPlan, results: Sequence[RunResult]) -> ProcedureView:
    """Return the parts of a report on a procedure of instances."""
    report = build_instances_report(plan, results)
    cautions = (*list_cautions(report), *list_suspects(results))
    table = (_build_table(report).brief(),) if report.steps or report.undecided else ()
    return ProcedureView(
        title="Instances within an SLA",
        sentence=f"nodrop sent traffic through a growing number of instances of {describe_sut(results[0])} at once, "
        f"{describe_load(plan)} through each. {report.text}",
        cards=tuple(_build_cards(report)),
        answer=(*table, _build_answer(report)),
        cautions=cautions,
        blocks=tuple(_build_blocks(report, results, cautions)),
    )


def _build_cards(report: InstancesReport) -> Iterator[Card]:
    count = report.instances_within_sla
    if count is None:
        return
    yield Card(
        label="Instances",
        text=str(count),
        about=f"with {describe_load(report.plan)} through each",
        details=(describe_sla(report.plan),),
        tone="good" if count else "bad",
    )
    total_pps = count * report.plan.load_pps * report.plan.direction_count
    yield Card(label="Load", text=format_pps(total_pps), about="of all instances, over all directions")


def _build_blocks(report: InstancesReport, results: Sequence[RunResult], cautions: tuple[str, ...]) -> Iterator[Block]:
    yield _build_answer(report)
    if cautions:
        yield Bullets(items=cautions, tone="caution")
    if report.steps or report.undecided:
        yield _build_table(report)
        yield from build_figure(lambda: instances_chart.build_chart(report))
        yield from build_deviations(list_deviations(report, results))


def _build_answer(report: InstancesReport) -> Paragraph:
    count = report.instances_within_sla
    return Paragraph(text=report.text, tone="caution" if count is None else "good" if count else "bad")


def _build_table(report: InstancesReport) -> Table:
    steps = sorted((*report.steps, *report.undecided), key=lambda step: (step.instance_count, step.is_confirmation))
    return Table(
        caption="",
        columns=COLUMNS,
        rows=tuple(map(_build_row, steps)),
        note=f"SLA of each instance: {describe_sla(report.plan)}. Worst: of one instance.",
    )


def _build_row(step: InstancesStep) -> tuple[Cell, ...]:
    return (
        cells.make_number_cell(step.instance_count),
        make_seconds_cell(step.duration_s),
        _make_verdict_cell(step),
        cells.make_number_cell(step.miss_count),
        cells.count_cell(step.offered_count),
        cells.make_loss_cell(step.lost_count),
        cells.make_loss_ratio_cell(step.loss_ratio),
        cells.make_latency_cell(step.latency_ns),
    )


def _make_verdict_cell(step: InstancesStep) -> Cell:
    if step.is_undecided:
        return Cell(text="undecided", tone="caution")
    return Cell(text="met", tone="good") if step.meets_sla else Cell(text="missed", tone="bad")
