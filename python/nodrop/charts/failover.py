"""Convergence time over the number of streams: each repeat as a dot, the median as a line, the SLA."""

from collections.abc import Iterator, Sequence

from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.errors import ConfigError
from nodrop.procedure.failover import FailoverReport
from nodrop.units import format_ns, format_time_limit


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
                    "kind": "within the SLA" if repeat.failover.meets(report.plan.sla_s) else "too late",
                    "says": f"{each.stream_count} streams, repeat {number}: {format_ns(time_s * 1e9)}",
                }


def _build_definition(stream_counts: Sequence[int]) -> Spec:
    x: Spec = {
        "field": "streams",
        "type": "quantitative",
        "scale": {"zero": False, "padding": 24},
        "axis": {"title": "streams of each direction", "values": stream_counts, "format": ",d"},
    }
    y: Spec = {"field": "time", "type": "quantitative", "axis": {"title": "convergence time (ms)"}}
    color: Spec = {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": ["within the SLA", "too late"], "range": [theme.MEETS, theme.FAILS]},
        "legend": None,
    }
    return {
        "width": theme.WIDTH,
        "height": theme.HEIGHT,
        "layer": [
            {
                "data": {"name": "limits"},
                "mark": {"type": "rule", "color": theme.INK, "strokeDash": theme.DASHES[1], "aria": False},
                "encoding": {"y": y | {"field": "limit"}},
            },
            {
                "data": {"name": "rounds"},
                "mark": {"type": "line", "color": theme.MUTED, "aria": False},
                "encoding": {"x": x, "y": y | {"field": "median"}},
            },
            {
                "data": {"name": "repeats"},
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.8},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": color,
                    "description": {"field": "says"},
                    "tooltip": {"field": "says"},
                },
            },
        ],
    }
