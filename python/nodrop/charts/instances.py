"""Latency and loss of the worst instance over the number of instances."""

from collections.abc import Iterator

from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.charts.verdict_points import Verdicts, build_limit, build_points, encode_steps
from nodrop.errors import ConfigError
from nodrop.procedure.instances import InstancesReport
from nodrop.units import format_count, format_ns, format_ratio

VERDICTS = Verdicts("meet the SLA", "miss the SLA")


def build_chart(report: InstancesReport) -> Chart:
    """Build the chart. Raises ConfigError if no run counts."""
    rows = tuple(_iter_rows(report))
    if not rows:
        raise ConfigError("no run with a number of instances counts; its report has the reasons")
    counts: list[float] = [*sorted({step.instance_count for step in report.steps})]
    return Chart(
        name="instances",
        title="Worst instance by number of instances",
        note="p99 latency and loss ratio of the worst instance in each run; dashed: SLA; orange: an instance misses it",
        summary="; ".join(str(row["says"]) for row in rows) + ".",
        definition={
            "vconcat": [
                _build_panel("latency", "p99 latency (ms)", "latency_limit", counts),
                _build_panel("loss", "loss ratio (%)", "loss_limit", counts),
            ]
        },
        data={
            "limits": (
                {"latency_limit": report.plan.latency_max_s * 1e3, "loss_limit": report.plan.loss_ratio_max * 100},
            ),
            "steps": rows,
        },
    )


def _iter_rows(report: InstancesReport) -> Iterator[Row]:
    for step in report.steps:
        latency = "no latency" if step.latency_ns is None else format_ns(step.latency_ns)
        yield {
            "instances": step.instance_count,
            "latency": None if step.latency_ns is None else step.latency_ns / 1e6,
            "loss": step.loss_ratio * 100,
            "kind": VERDICTS.meets if step.meets_sla else VERDICTS.fails,
            "says": f"{format_count(step.instance_count, 'instance')}: {latency}, {format_ratio(step.loss_ratio)} lost",
        }


def _build_panel(field: str, title: str, limit: str, counts: list[float]) -> Spec:
    x = encode_steps("instances", "instances", counts)
    y: Spec = {"field": field, "type": "quantitative", "axis": {"title": title}}
    layers = [build_limit(y, limit), build_points("steps", x, y, VERDICTS)]
    return {"width": theme.WIDTH, "height": theme.HEIGHT / 2, "layer": layers}
