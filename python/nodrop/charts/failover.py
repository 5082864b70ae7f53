"""Convergence time over the number of streams: each repeat as a dot, the median as a line, the SLA."""

from collections.abc import Iterator

from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.charts.verdict_points import Verdicts, build_limit, build_line, build_points, encode_steps
from nodrop.errors import ConfigError
from nodrop.procedure.failover import FailoverReport
from nodrop.units import format_ns, format_time_limit

VERDICTS = Verdicts("within the SLA", "too late")


def build_chart(report: FailoverReport) -> Chart:
    """Build the chart. Raises ConfigError if no repeat converged."""
    rows = tuple(_iter_rows(report))
    if not rows:
        raise ConfigError("no repeat of the failover converged; its report has the reasons")
    sla = format_time_limit(report.plan.sla_s)
    return Chart(
        name="failover",
        title="Convergence time by number of streams",
        note=f"dots: convergence time of each repeat; line: their median; dashed: SLA of {sla}",
        summary="; ".join(str(row["says"]) for row in rows) + ".",
        definition=_build_definition([each.stream_count for each in report.rounds]),
        data={
            "limits": ({"limit": report.plan.sla_s * 1e3},),
            "repeats": rows,
            "rounds": tuple(
                {"streams": each.stream_count, "median": each.median_s * 1e3}
                for each in report.rounds
                if each.median_s is not None
            ),
        },
    )


def _iter_rows(report: FailoverReport) -> Iterator[Row]:
    for each in report.rounds:
        for number, repeat in enumerate(each.repeats, 1):
            time_s = repeat.failover.last_s
            if time_s is not None:
                yield {
                    "streams": each.stream_count,
                    "time": time_s * 1e3,
                    "kind": VERDICTS.meets if repeat.failover.meets(report.plan.sla_s) else VERDICTS.fails,
                    "says": f"{each.stream_count} streams, repeat {number}: {format_ns(time_s * 1e9)}",
                }


def _build_definition(stream_counts: list[float]) -> Spec:
    x = encode_steps("streams", "streams of each direction", stream_counts)
    y: Spec = {"field": "time", "type": "quantitative", "axis": {"title": "convergence time (ms)"}}
    return {
        "width": theme.WIDTH,
        "height": theme.HEIGHT,
        "layer": [
            build_limit(y),
            build_line("rounds", x, y | {"field": "median"}),
            build_points("repeats", x, y, VERDICTS),
        ],
    }
