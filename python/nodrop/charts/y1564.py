"""Information rate by sub-test of a service activation test, with the bounds of what may pass."""

from collections.abc import Iterator

from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.charts.verdict_points import Verdicts, build_limit, build_points
from nodrop.errors import ConfigError
from nodrop.procedure.y1564_figures import Step, Verdict, Y1564Report
from nodrop.units import format_bps

VERDICTS = Verdicts("passes", "does not pass")
MEGA = 1e6


def build_chart(report: Y1564Report) -> Chart:
    """Build the chart. Raises ConfigError without a step that was measured."""
    measured = [step for step in report.steps if step.directions and not step.burst]
    if not measured:
        raise ConfigError("no step of the service activation test was measured; its report has the reasons")
    x: Spec = {
        "field": "step",
        "type": "ordinal",
        "sort": [step.name for step in measured],
        "axis": {"title": "sub-test", "labelAngle": 0},
    }
    y: Spec = {"field": "rate", "type": "quantitative", "axis": {"title": "information rate (Mb/s)"}}
    bounds: Spec = {
        "data": {"name": "bounds"},
        "mark": {"type": "bar", "color": theme.PALE, "size": 40, "aria": False},
        "encoding": {"x": x, "y": y | {"field": "lower"}, "y2": {"field": "upper"}},
    }
    rows = tuple(row for step in measured for row in _iter_rows(step))
    plan = report.plan
    limits = {plan.cir_bps, plan.cir_bps + plan.eir_bps} - {0.0}
    return Chart(
        name="y1564",
        title="Information rate by sub-test",
        note="of each direction, frames from destination MAC address to FCS; bars: what may pass; dashed: CIR, and CIR "
        "+ EIR; orange: does not pass",
        summary=" ".join(str(row["says"]) for row in rows),
        definition={
            "width": theme.WIDTH,
            "height": theme.HEIGHT,
            "layer": [bounds, build_limit(y), build_points("steps", x, y, VERDICTS)],
        },
        data={
            "steps": rows,
            "bounds": tuple(map(_build_bounds, measured)),
            "limits": tuple({"limit": rate_bps / MEGA} for rate_bps in sorted(limits)),
        },
    )


def _iter_rows(step: Step) -> Iterator[Row]:
    for each in step.directions:
        yield {
            "step": step.name,
            "rate": each.ir_bps / MEGA,
            "kind": VERDICTS.meets if step.verdict is Verdict.PASS else VERDICTS.fails,
            "says": f"{step.name}, {each.name}: {format_bps(each.ir_bps)} of {format_bps(step.rate_bps)}, "
            f"{step.verdict}.",
        }


def _build_bounds(step: Step) -> Row:
    upper_bps = step.rate_bps if step.upper_bps is None else step.upper_bps
    return {"step": step.name, "lower": step.lower_bps / MEGA, "upper": upper_bps / MEGA}
