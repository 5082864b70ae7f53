"""Instances and response of a scale-out procedure over the number of users."""

from collections.abc import Sequence

from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.charts.verdict_points import Verdicts, build_line, build_points, encode_steps
from nodrop.errors import ConfigError
from nodrop.procedure.scale_out import ScaleOutReport, ScaleOutStep
from nodrop.units import format_count, format_ns, format_ratio

VERDICTS = Verdicts("restored", "not restored")


def build_chart(report: ScaleOutReport) -> Chart:
    """Build the chart. Raises ConfigError without a growth that was measured."""
    rows = tuple(map(_build_row, report.steps))
    if not rows:
        raise ConfigError("no growth of the scale-out procedure was measured; its report has the reasons")
    panels = [_build_panel("response", {"title": "response (ms)"}, report.steps)]
    counts = [step.instance_count for step in report.steps if step.instance_count is not None]
    if len(counts) == len(rows):
        panels.append(
            _build_panel("instances", {"title": "instances", "values": list(range(max(counts) + 1))}, report.steps)
        )
    return Chart(
        name="scale-out",
        title="Response and instances by users",
        note="response: mean of existing users while the new ones are there; orange: the SLA was not restored",
        summary="; ".join(str(row["says"]) for row in rows) + ".",
        definition={"vconcat": panels},
        data={"steps": rows},
    )


def _build_row(step: ScaleOutStep) -> Row:
    response_ns = step.existing.response_ns
    response = "none" if response_ns is None else format_ns(response_ns)
    instances = "" if step.instance_count is None else f", {format_count(step.instance_count, 'instance')}"
    return {
        "growth": round(step.growth_ratio * 100, 1),
        "response": None if response_ns is None else response_ns / 1e6,
        "instances": step.instance_count,
        "kind": VERDICTS.fails if step.restored_s is None else VERDICTS.meets,
        "says": f"+{format_ratio(step.growth_ratio)}: {response}{instances}",
    }


def _build_panel(field: str, axis: Spec, steps: Sequence[ScaleOutStep]) -> Spec:
    x = encode_steps("growth", "users that join (%)", [round(step.growth_ratio * 100, 1) for step in steps])
    y: Spec = {"field": field, "type": "quantitative", "axis": axis}
    layers = [build_line("steps", x, y), build_points("steps", x, y, VERDICTS)]
    return {"width": theme.WIDTH, "height": theme.HEIGHT / 2, "layer": layers}
