"""The report of the tests of RFC 2544: a row for each frame size, then a table and a chart for each test."""

from collections.abc import Iterator, Sequence

from nodrop.charts import rfc2544 as charts
from nodrop.model.procedure import Rfc2544Plan
from nodrop.model.result import RunResult
from nodrop.procedure.rfc2544 import build_rfc2544_report, describe_compliance, list_cautions
from nodrop.procedure.rfc2544_figures import BackToBack, FrameLoss, Latency, LossPoint, Rfc2544Report, Throughput
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Card, Cell, Paragraph, Table, build_figure
from nodrop.report.document.labels import describe_sut
from nodrop.report.document.procedures.base import ProcedureView, build_deviations, make_time_cell
from nodrop.units import format_bps, format_count, format_ns, format_pps, format_ratio, format_seconds

NOT_APPLICABLE = Cell(text="n/a", tone="quiet")
SIZE_COLUMN = cells.make_text_column("frame size", is_lead=True)


def build_view(plan: Rfc2544Plan, results: Sequence[RunResult]) -> ProcedureView:
    """Return the parts of a report on the tests of RFC 2544."""
    report = build_rfc2544_report(plan, results)
    cautions = tuple(list_cautions(report))
    return ProcedureView(
        title="RFC 2544",
        sentence=f"nodrop tested {describe_sut(results[0])} by RFC 2544: {', '.join(plan.tests)}. {report.text}",
        cards=tuple(_build_cards(report)),
        answer=(_build_overview(report).brief(), Paragraph(text=report.text)),
        cautions=cautions,
        blocks=tuple(_build_blocks(report, results, cautions)),
    )


def _build_cards(report: Rfc2544Report) -> Iterator[Card]:
    if report.throughputs:
        first = report.throughputs[0]
        yield Card(
            label="Throughput",
            text=format_pps(first.load_pps),
            about=f"at {first.frame_bytes} bytes, over all directions",
            details=(f"{format_ratio(first.line_ratio)} of the line rate",),
        )
    if report.latencies:
        latency = report.latencies[0]
        yield Card(
            label="Latency",
            text=format_ns(latency.mean_ns),
            about=f"mean at throughput, {latency.frame_bytes} bytes",
        )
    if report.bursts and (seconds := report.bursts[0].corrected_buffer_s) is not None:
        burst = report.bursts[0]
        yield Card(
            label="Buffer time",
            text=format_ns(seconds * 1e9),
            about=f"at {burst.frame_bytes} bytes, corrected by RFC 9004",
            details=(f"longest burst {burst.mean_count:,.1f} frames",),
        )


def _build_blocks(report: Rfc2544Report, results: Sequence[RunResult], cautions: tuple[str, ...]) -> Iterator[Block]:
    yield Paragraph(text=report.text)
    if cautions:
        yield Bullets(items=cautions, tone="caution")
    yield _build_overview(report)
    if report.throughputs:
        yield _build_throughput_table(report, results)
        yield from build_figure(lambda: charts.build_throughput_chart(report))
    if report.latencies:
        yield _build_latency_table(report)
    if report.losses:
        yield _build_loss_table(report)
        yield from build_figure(lambda: charts.build_loss_chart(report))
    if report.bursts:
        yield _build_burst_table(report)
        yield from build_figure(lambda: charts.build_burst_chart(report))
    yield Paragraph(text=describe_compliance(report))
    yield from build_deviations(report.deviations)


def _build_overview(report: Rfc2544Report) -> Table:
    """Return one row for each size, with a figure of each test."""
    tests = report.plan.tests
    columns = [SIZE_COLUMN]
    if "throughput" in tests or report.throughputs:
        columns += [cells.make_number_column("throughput", "pps"), cells.make_number_column("of line rate", "ratio")]
    if "latency" in tests:
        columns += [cells.make_number_column("latency mean", "ns"), cells.make_number_column("p99.9", "ns")]
    if "frame-loss-rate" in tests:
        columns.append(cells.make_number_column("loss at 100 %", "ratio"))
    if "back-to-back" in tests:
        columns += [cells.make_number_column("burst", "frames"), cells.make_number_column("buffer", "s")]
    return Table(
        caption="",
        columns=tuple(columns),
        rows=tuple(_build_overview_row(report, size) for size in report.plan.frame_bytes),
        note="Rates over all directions, bursts of each direction; n/a: does not apply, as throughput equals the line "
        "rate.",
    )


def _build_overview_row(report: Rfc2544Report, size: int) -> tuple[Cell, ...]:
    tests, row = report.plan.tests, [cells.make_text_cell(str(size))]
    throughput = report.find_throughput(size)
    if "throughput" in tests or report.throughputs:
        row += [cells.make_rate_cell(throughput.load_pps if throughput else None), _make_line_cell(throughput)]
    if "latency" in tests:
        latency = report.find_latency(size)
        row += [
            cells.make_latency_cell(latency.mean_ns if latency else None),
            cells.make_latency_cell(latency.worst_ns if latency else None),
        ]
    if "frame-loss-rate" in tests:
        loss = report.find_loss(size)
        row.append(_make_point_cell(loss.points[0]) if loss else cells.NOTHING)
    if "back-to-back" in tests:
        row += _make_burst_cells(report, size)
    return tuple(row)


def _make_line_cell(throughput: Throughput | None) -> Cell:
    if throughput is None:
        return cells.NOTHING
    if throughput.limit.is_tester:
        return Cell(text=f"≥ {format_ratio(throughput.line_ratio)}", key=throughput.line_ratio, tone="caution")
    return Cell(text=format_ratio(throughput.line_ratio), key=throughput.line_ratio)


def _make_point_cell(point: LossPoint) -> Cell:
    """Return a loss rate; `≥` where the tester sent less than the load, so that the SUT would have lost more."""
    prefix = "≥ " if point.unsent_count else ""
    tone = "caution" if point.loss_ratio else "quiet"
    return Cell(text=f"{prefix}{format_ratio(point.loss_ratio)}", key=point.loss_ratio, tone=tone)


def _make_burst_cells(report: Rfc2544Report, size: int) -> tuple[Cell, Cell]:
    burst = report.find_burst(size)
    if burst is None:
        omission = report.find_omission(size, "back-to-back")
        return (NOT_APPLICABLE,) * 2 if omission and not omission.is_failure else (cells.NOTHING,) * 2
    if burst.is_limit:
        return Cell(text=f"≥ {burst.mean_count:,.0f}", key=burst.mean_count, tone="caution"), cells.NOTHING
    return Cell(text=f"{burst.mean_count:,.1f}", key=burst.mean_count), make_time_cell(burst.corrected_buffer_s)


def _build_throughput_table(report: Rfc2544Report, results: Sequence[RunResult]) -> Table:
    return Table(
        caption="Throughput (section 26.1)",
        columns=(
            SIZE_COLUMN,
            cells.make_number_column("throughput", "pps"),
            cells.make_number_column("upper bound", "pps"),
            cells.make_number_column("of line rate", "ratio"),
            cells.make_number_column("data rate", "b/s"),
            cells.make_number_column("line rate", "pps"),
            cells.make_number_column("trials"),
            cells.make_number_column("proven by", "s"),
        ),
        rows=tuple(map(_build_throughput_row, report.throughputs)),
        note=f"Over all directions, of links of {format_bps(results[0].plan.link_speed_bps)} each; data rate without "
        f"preamble and gap. Search: {results[0].plan.search.algorithm}, width "
        f"{format_ratio(results[0].plan.search.width_ratio)}.",
    )


def _build_throughput_row(each: Throughput) -> tuple[Cell, ...]:
    return (
        cells.make_text_cell(str(each.frame_bytes)),
        cells.make_rate_cell(each.load_pps),
        cells.make_rate_cell(each.upper_pps),
        _make_line_cell(each),
        cells.make_bit_rate_cell(each.load_pps * each.frame_bytes * 8),
        cells.make_rate_cell(each.line_rate_pps),
        cells.make_number_cell(each.trial_count),
        Cell(text=format_seconds(each.duration_s), key=each.duration_s),
    )


def _build_latency_table(report: Rfc2544Report) -> Table:
    plan = report.plan
    return Table(
        caption="Latency (section 26.2)",
        columns=(
            SIZE_COLUMN,
            cells.make_number_column("load", "pps"),
            cells.make_number_column("min", "ns"),
            cells.make_number_column("mean", "ns"),
            cells.make_number_column("p50", "ns"),
            cells.make_number_column("p99.9", "ns"),
            cells.make_number_column("max", "ns"),
            cells.make_number_column("trials"),
        ),
        rows=tuple(map(_build_latency_row, report.latencies)),
        note=f"At throughput, of all frames; trials of {format_seconds(plan.latency_trial_s)}; p50 and p99.9: medians "
        "of the trials.",
    )


def _build_latency_row(each: Latency) -> tuple[Cell, ...]:
    return (
        cells.make_text_cell(str(each.frame_bytes)),
        cells.make_rate_cell(each.load_pps),
        cells.make_latency_cell(min(trial.min_ns for trial in each.trials)),
        cells.make_latency_cell(each.mean_ns),
        cells.make_latency_cell(each.typical_ns),
        cells.make_latency_cell(each.worst_ns),
        cells.make_latency_cell(max(trial.max_ns for trial in each.trials)),
        cells.make_number_cell(len(each.trials)),
    )


def _build_loss_table(report: Rfc2544Report) -> Table:
    """Return a row for each trial."""
    return Table(
        caption="Frame loss rate (section 26.3)",
        columns=(
            SIZE_COLUMN,
            cells.make_number_column("load", "ratio"),
            cells.make_number_column("load", "pps"),
            cells.make_number_column("sent", "frames"),
            cells.make_number_column("lost", "frames"),
            cells.make_number_column("loss", "ratio"),
            cells.make_number_column("forwarded", "pps"),
            cells.make_number_column("not sent", "frames"),
        ),
        rows=tuple(_build_loss_row(each, point) for each in report.losses for point in each.points),
        note=f"Trials of {format_seconds(report.plan.trial_s)}, from the line rate down until two in a row lose "
        "nothing; ≥: the tester sent less than the load.",
    )


def _build_loss_row(loss: FrameLoss, point: LossPoint) -> tuple[Cell, ...]:
    return (
        cells.make_text_cell(str(loss.frame_bytes)),
        Cell(text=format_ratio(point.share_ratio), key=point.share_ratio),
        cells.make_rate_cell(point.load_pps),
        cells.count_cell(point.offered_count),
        cells.make_loss_cell(point.offered_count - point.received_count),
        _make_point_cell(point),
        cells.make_rate_cell(point.forwarding_rate_pps),
        cells.make_loss_cell(point.unsent_count),
    )


def _build_burst_table(report: Rfc2544Report) -> Table:
    return Table(
        caption="Back-to-back frames (section 26.4, RFC 9004)",
        columns=(
            SIZE_COLUMN,
            cells.make_number_column("burst", "frames"),
            cells.make_number_column("min", "frames"),
            cells.make_number_column("max", "frames"),
            cells.make_number_column("deviation", "frames"),
            cells.make_number_column("corrected", "s"),
            cells.make_number_column("implied", "s"),
            cells.make_number_column("buffered", "frames"),
            cells.make_number_column("repeats"),
        ),
        rows=tuple(map(_build_burst_row, report.bursts)),
        note=f"Bursts of each direction at the line rate, {format_seconds(report.plan.burst_rest_s)} or more apart, to "
        "one frame or 0.1 %; corrected: buffer time without the frames forwarded meanwhile; deviation: sample standard "
        f"deviation. {_list_repeats(report.bursts)}",
    )


def _list_repeats(bursts: Sequence[BackToBack]) -> str:
    """Return the raw lengths of all repeats."""
    return " ".join(f"{each.frame_bytes} bytes: {', '.join(map(format_count, each.frame_counts))}." for each in bursts)


def _build_burst_row(each: BackToBack) -> tuple[Cell, ...]:
    corrected_s, buffered = each.corrected_buffer_s, each.buffered_count
    deviation = each.deviation_count
    return (
        cells.make_text_cell(str(each.frame_bytes)),
        Cell(text=f"{'≥ ' if each.is_limit else ''}{each.mean_count:,.1f}", key=each.mean_count),
        cells.count_cell(min(each.frame_counts)),
        cells.count_cell(max(each.frame_counts)),
        cells.NOTHING if deviation is None else Cell(text=f"{deviation:.1f}", key=deviation),
        make_time_cell(corrected_s),
        make_time_cell(each.implied_buffer_s),
        cells.NOTHING if buffered is None else Cell(text=f"{buffered:,.1f}", key=buffered),
        cells.make_number_cell(len(each.frame_counts)),
    )
