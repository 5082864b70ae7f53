"""The rate under each load pattern as a share of that under flat load, as bars."""

from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.errors import ConfigError
from nodrop.procedure.patterns import PatternRate, PatternsReport
from nodrop.units import format_pps, format_ratio

BAR_HEIGHT = 22
SPACE_RATIO = 1.25
"""Length of the axis, with space for a label beside the longest bar."""


def build_chart(report: PatternsReport) -> Chart:
    """Build the chart. Raises ConfigError if no pattern was compared with flat load."""
    rows = tuple(_build_row(rate) for rate in report.rates if rate.flat_ratio is not None)
    if not rows:
        raise ConfigError("no pattern was compared with flat load; the report has the reasons")
    repeats = " (median of repeats)" if report.plan.repeat_count > 1 else ""
    return Chart(
        name="patterns",
        title="Rate by load pattern",
        note=f"bars: share of the rate under flat load of the same mean{repeats}",
        summary="; ".join(str(row["says"]) for row in rows) + ".",
        definition=_build_definition(rows, report.goals),
        data={"rates": rows},
    )


def _build_row(rate: PatternRate) -> Row:
    share = format_ratio(rate.flat_ratio or 0.0)
    return {
        "pattern": rate.kind,
        "goal": rate.goal,
        "share": (rate.flat_ratio or 0.0) * 100,
        "label": f"{share}, {format_pps(rate.load_pps)}",
        "says": f"{rate.kind}, {rate.goal}: {format_pps(rate.load_pps)}, {share} of flat",
    }


def _build_definition(rows: tuple[Row, ...], goals: tuple[str, ...]) -> Spec:
    y: Spec = {"field": "pattern", "type": "nominal", "sort": None, "axis": {"title": None, "ticks": False}}
    offset: Spec = {"field": "goal", "sort": list(goals)}
    share_max = max(float(str(row["share"])) for row in rows)
    x: Spec = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, share_max * SPACE_RATIO], "nice": False},
        "axis": {"title": "share of the rate under flat load (%)"},
    }
    color: Spec = {
        "field": "goal",
        "type": "nominal",
        "scale": {"domain": list(goals), "range": [theme.get_goal_color(position) for position in range(len(goals))]},
        "legend": {"title": None},
    }
    bars = {
        "mark": {"type": "bar"},
        "encoding": {
            "y": y,
            "yOffset": offset,
            "x": x,
            "color": color,
            "description": {"field": "says"},
            "tooltip": {"field": "says"},
        },
    }
    labels = {
        "mark": {"type": "text", "align": "left", "dx": 6, "color": theme.INK},
        "encoding": {"y": y, "yOffset": offset, "x": x, "text": {"field": "label"}},
    }
    return {
        "data": {"name": "rates"},
        "width": theme.LABELED_WIDTH,
        "height": BAR_HEIGHT * len(rows),
        "layer": [bars, labels],
    }
