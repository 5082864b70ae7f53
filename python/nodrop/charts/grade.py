"""The share of the baseline's throughput that each configuration leaves, as bars with the limits of the grades.

Source: ETSI GS NFV-PER 001 figure C.9.
"""

from nodrop.analysis.grade import GRADES, GradedResult, GradedResults, find_grade, format_grade, format_share
from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.units import format_bps, format_pps

BAR_HEIGHT = 34
LABEL_LIMIT = 300
LABEL_SPACE_RATIO = 1.2
"""Length of the axis, with space for a label beside the longest bar."""


def build_chart(graded: GradedResults) -> Chart:
    """Build the chart."""
    results = (graded.baseline, *graded.others)
    return Chart(
        name="grade",
        title=format_grade(graded),
        subtitle="runs " + ", ".join(each.summary.run_id for each in results),
        note="bars: share of the baseline; lines: least share of each grade",
        summary="; ".join(_describe(each) for each in results) + ".",
        definition=_build_definition(len(results), max(each.share for each in results) * 100),
        data={
            "results": tuple(_build_row(each, is_baseline=each is graded.baseline) for each in results),
            "grades": tuple({"share": least * 100, "letter": letter} for letter, least in GRADES),
        },
    )


def _describe(result: GradedResult) -> str:
    rate = f"{format_pps(result.measure.value)}, {format_bps(result.rate_bps)}"
    return f"{result.name}: {rate}, {format_share(result.share)} of the baseline"


def _build_row(result: GradedResult, *, is_baseline: bool) -> Row:
    return {
        "name": result.name,
        "share": result.share * 100,
        "kind": "baseline" if is_baseline else find_grade(result.share),
        "label": f"{format_share(result.share)}, {format_bps(result.rate_bps)}",
        "says": _describe(result),
    }


def _build_definition(count: int, share_max: float) -> Spec:
    name = {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, "labelLimit": LABEL_LIMIT, "ticks": False},
    }
    share = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, share_max * LABEL_SPACE_RATIO], "nice": False},
        "axis": {"tickCount": 10, "title": "share of the baseline's throughput (%)"},
    }
    colors = {
        "domain": ["baseline", "A", "B", "C", "D", "F"],
        "range": [theme.MUTED, theme.MEETS, theme.MEETS, theme.MEETS_SOME[0], theme.MEETS_SOME[0], theme.FAILS],
    }
    bars = {
        "data": {"name": "results"},
        "mark": {"type": "bar", "height": {"band": 0.6}},
        "encoding": {
            "y": name,
            "x": share,
            "color": {"field": "kind", "type": "nominal", "scale": colors, "legend": None},
            "description": {"field": "says"},
            "tooltip": {"field": "says"},
        },
    }
    labels = {
        "data": {"name": "results"},
        "mark": {"type": "text", "align": "left", "dx": 6, "color": theme.INK},
        "encoding": {"y": name, "x": share, "text": {"field": "label"}},
    }
    limits = {
        "data": {"name": "grades"},
        "layer": [
            {
                "mark": {"type": "rule", "color": theme.INK, "strokeDash": [2, 2], "aria": False},
                "encoding": {"x": share},
            },
            {
                "mark": {"type": "text", "align": "center", "baseline": "bottom", "y": -3, "color": theme.INK},
                "encoding": {"x": share, "text": {"field": "letter"}},
            },
        ],
    }
    return {"width": theme.LABELED_WIDTH, "height": BAR_HEIGHT * count, "layer": [bars, labels, limits]}
