"""The report of a failover procedure: a table of its rounds and of every repeat."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from nodrop.charts import failover, fixed_rate
from nodrop.model.procedure import FailoverPlan
from nodrop.model.result import RunResult
from nodrop.procedure.failover import (
    Convergence,
    FailoverReport,
    FailoverRound,
    build_failover_report,
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
from nodrop.units import format_count, format_time_limit

ROUND_COLUMNS = (
    cells.make_number_column("streams"),
    cells.make_text_column("within SLA"),
    cells.make_number_column("first back", "ns"),
    cells.make_number_column("last back", "ns"),
    cells.make_number_column("slowest repeat", "ns"),
    cells.make_number_column("lost", "frames"),
    cells.make_number_column("way back", "ns"),
    cells.make_number_column("lost on it", "frames"),
)
REPEAT_COLUMNS = (
    cells.make_number_column("streams"),
    cells.make_number_column("repeat"),
    cells.make_text_column("affected"),
    cells.make_number_column("t2 - t1", "ns"),
    cells.make_number_column("t3 - t1", "ns"),
    cells.make_number_column("t4 - t1", "ns"),
    cells.make_number_column("t4 - t2", "ns"),
    cells.make_number_column("lost", "frames"),
    cells.make_number_column("way back", "ns"),
    cells.make_number_column("lost on it", "frames"),
)


def build_view(plan: FailoverPlan, results: Sequence[RunResult]) -> ProcedureView:
    """Return the parts of a report on a failover procedure."""
    report = build_failover_report(plan, results)
    events = " and ".join(event.name for event in plan.trigger)
    cautions = (*list_cautions(report), *list_suspects(results))
    table = (_build_round_table(report).brief(),) if report.rounds else ()
    return ProcedureView(
        title="Failover convergence",
        sentence=f"nodrop sent streams through {describe_sut(results[0])} and caused a failure ({events}). "
        f"{report.text}",
        cards=_build_cards(report),
        answer=(*table, _build_answer(report)),
        cautions=cautions,
        blocks=tuple(_build_blocks(report, results, cautions)),
    )


def _build_cards(report: FailoverReport) -> tuple[Card, ...]:
    """Return convergence, frames lost, way back."""
    each = report.lower or report.upper
    if each is None:
        return ()
    back = [repeat.way_back for repeat in each.repeats if repeat.way_back]
    failovers = [repeat.failover for repeat in each.repeats]
    repeats = format_count(len(failovers), "repeat")
    streams = f"{format_count(each.stream_count, 'stream')}, {'median of ' if len(failovers) > 1 else ''}{repeats}"
    cards = [
        Card(
            label="Convergence",
            text=_describe_last(failovers),
            about="from the failure until the last stream arrives again",
            details=(streams, f"SLA {format_time_limit(report.plan.sla_s)}"),
            tone="good" if each.meets_sla else "bad",
        ),
        Card(
            label="Frames lost",
            text=format_count(round(fmean(one.lost_count for one in failovers))),
            about="by the failure, mean of the repeats",
        ),
    ]
    if back:
        cards.append(
            Card(
                label="Way back",
                text=_describe_last(back),
                about="from the repair until the last stream arrives again",
                details=(f"{format_count(round(fmean(one.lost_count for one in back)))} frames lost",),
            )
        )
    return tuple(cards)


def _build_blocks(report: FailoverReport, results: Sequence[RunResult], cautions: tuple[str, ...]) -> Iterator[Block]:
    yield _build_answer(report)
    if cautions:
        yield Bullets(items=cautions, tone="caution")
    if not report.rounds:
        return
    yield _build_round_table(report)
    if len(report.rounds) > 1:
        yield from build_figure(lambda: failover.build_chart(report))
    yield Table(
        caption="Repeats",
        columns=REPEAT_COLUMNS,
        rows=tuple(_iter_repeat_rows(report)),
        note="t1 and t3: first and last event; t2 and t4: first and last stream back (ETSI GS NFV-PER 001, C.1.2.2).",
    )
    yield from _build_timeline(report, results)
    yield from build_deviations(list_deviations(report, results))


def _build_timeline(report: FailoverReport, results: Sequence[RunResult]) -> Iterator[Block]:
    """Yield the rates, losses and latency of one repeat of the round that the answer states."""
    each = report.lower or report.upper
    if each:
        run_id = each.repeats[0].run_id
        result = next(result for result in results if result.run_id == run_id)
        title = f"First repeat with {format_count(each.stream_count, 'stream')}"
        yield from build_figure(lambda: title_chart(fixed_rate.build_chart(result), title))


def _build_answer(report: FailoverReport) -> Paragraph:
    tone = "good" if report.lower else "bad" if report.upper or not report.rounds else "caution"
    return Paragraph(text=report.text, tone=tone)


def _build_round_table(report: FailoverReport) -> Table:
    return Table(
        caption="",
        columns=ROUND_COLUMNS,
        rows=tuple(_build_round_row(each) for each in report.rounds),
        note="Times from the first event of the trigger, or of the way back: medians over the repeats. Frames: means.",
    )


def _build_round_row(each: FailoverRound) -> tuple[Cell, ...]:
    times_s = each.list_convergences_s()
    back = [repeat.way_back for repeat in each.repeats if repeat.way_back]
    unknown = ("no loss" if each.is_lossless else "repeats missing", "caution")
    verdict = {True: ("yes", "good"), False: ("no", "bad"), None: unknown}[each.meets_sla]
    failovers = [repeat.failover for repeat in each.repeats]
    return (
        cells.make_number_cell(each.stream_count),
        Cell(text=verdict[0], tone=verdict[1]),
        make_time_cell(_median_s(failovers, "first_s")),
        _make_last_cell(failovers),
        _make_last_cell(failovers) if each.stuck_count else make_time_cell(max(times_s, default=None)),
        cells.make_loss_cell(round(fmean(each.lost_count for each in failovers))),
        _make_last_cell(back),
        cells.make_loss_cell(round(fmean(each.lost_count for each in back))) if back else cells.NOTHING,
    )


def _iter_repeat_rows(report: FailoverReport) -> Iterator[tuple[Cell, ...]]:
    for each in report.rounds:
        total = each.stream_count * report.plan.direction_count
        for number, repeat in enumerate(each.repeats, 1):
            failover, back = repeat.failover, repeat.way_back
            yield (
                cells.make_number_cell(each.stream_count),
                cells.make_number_cell(number),
                cells.make_text_cell(f"{failover.affected_count} of {total}"),
                make_time_cell(failover.first_s),
                make_time_cell(failover.trigger_s),
                _make_last_cell([failover]),
                make_time_cell(failover.switchover_s),
                cells.make_loss_cell(failover.lost_count),
                _make_last_cell([back] if back else []),
                cells.make_loss_cell(back.lost_count) if back else cells.NOTHING,
            )


def _median_s(each: Sequence[Convergence], name: str) -> float | None:
    return find_median(getattr(one, name) for one in each)


def _describe_last(each: Sequence[Convergence]) -> str:
    return _make_last_cell(each).text if any(one.affected_count for one in each) else "no loss"


def _make_last_cell(each: Sequence[Convergence]) -> Cell:
    """Return the median time until the last stream is back; `not all` if one was not, in any repeat."""
    if any(one.unrecovered_count for one in each):
        return Cell(text="not all", tone="bad")
    return make_time_cell(_median_s(each, "last_s"))
