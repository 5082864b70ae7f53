"""The chart of a trend: every run with its bounds, the medians of segments, and the changes between them."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from nodrop.analysis.text import format_effect
from nodrop.analysis.trend import Trend, TrendPoint, TrendSegment, TrendSeries
from nodrop.analysis.trend_text import (
    describe_trend,
    format_change,
    format_point,
    format_segment_spread,
    format_series_title,
)
from nodrop.analysis.types import ComparisonOutcome
from nodrop.charts import theme
from nodrop.charts.axis import AxisUnit, pick_rate_unit, pick_time_unit
from nodrop.charts.base import Chart, Row, Spec
from nodrop.formatting import format_measure

RUN, AT_LEAST, OUTLIER = "run", "lower limit", "outlier"
KINDS = {
    RUN: ("circle", theme.MEETS, 1.0),
    AT_LEAST: ("triangle-up", theme.INVALID, 0.0),
    OUTLIER: ("diamond", theme.OUTLIER, 0.0),
}
"""Shape, color and fill opacity of points."""
COLORS = {ComparisonOutcome.WORSE: theme.FAILS, ComparisonOutcome.BETTER: theme.RECEIVED}
PERCENT = AxisUnit("%", 0.01)
LABEL_OFFSET = 6
"""Distance between the line of a change and its label, in pixels."""
GAP_RATIO = 0.4
"""Longest pause, as a share of the entire time, with which runs are placed by time instead of by number."""
MARGIN_RATIO = 0.08
REACH = 0.6
"""Distance, in ranges of the analyzed points, beyond which a point is drawn at the edge."""
LEFT_FROM = 0.7
"""Share of the runs after which labels of changes are on the left."""
LABEL_ROWS = 3
LABEL_HEIGHT = 38
"""Height of a label; labels of changes cycle through rows so that neighbors do not overlap."""


def build_chart(trend: Trend) -> Chart:
    """Build the chart of a trend."""
    series = trend.series
    unit = _pick_unit(series)
    positions = {point.run_id: position for point, position in zip(series.points, _list_positions(series), strict=True)}
    return Chart(
        name="trend",
        title=_format_title(trend),
        subtitle=format_series_title(series),
        summary=" ".join(describe_trend(trend)),
        definition=_build_definition(trend, unit),
        data={
            "points": tuple(_build_point_row(trend, point, unit) | positions[point.run_id] for point in series.points),
            "groups": tuple(_build_group_row(trend, group, unit, positions) for group in trend.groups),
            "changes": tuple(_build_change_row(trend, number, positions) for number in range(len(trend.changes))),
        },
    )


def _format_title(trend: Trend) -> str:
    """Format the title: `NDR: 5.2 % lower since 2026-11-21`."""
    if not trend.groups:
        return f"{trend.series.text}: no usable runs"
    if not trend.changes:
        return f"{trend.series.text}: no change, {format_measure(trend.groups[0].median, trend.series.unit)}"
    last = trend.changes[-1]
    return f"{trend.series.text}: {format_effect(last.effect, trend.series.unit)} since {last.when[:10]}"


def _pick_unit(series: TrendSeries) -> AxisUnit:
    most = max((point.value for point in series.points), default=1.0)
    match series.unit:
        case "pps":
            return pick_rate_unit(most)
        case "ns":
            return pick_time_unit(most)
    return PERCENT


def has_even_times(series: TrendSeries) -> bool:
    """Return whether runs are spread evenly enough to be placed by time."""
    starts_s = [datetime.fromisoformat(point.started_at).timestamp() for point in series.points]
    span_s = starts_s[-1] - starts_s[0] if starts_s else 0.0
    return span_s > 0 and all(later - earlier <= GAP_RATIO * span_s for earlier, later in pairwise(starts_s))


def _list_positions(series: TrendSeries) -> list[Row]:
    """Return the horizontal position of each run."""
    if has_even_times(series):
        return [{"x": point.started_at} for point in series.points]
    return [{"x": number} for number in range(1, len(series.points) + 1)]


def _build_point_row(trend: Trend, point: TrendPoint, unit: AxisUnit) -> Row:
    outlier = any(point.run_id in group.outlier_run_ids for group in trend.groups)
    kind = AT_LEAST if point.at_least else OUTLIER if outlier else RUN
    start = point.started_at[:16].replace("T", " ")
    return {
        "kind": kind,
        "value": point.value / unit.size,
        "low": None if point.low is None or point.at_least else point.low / unit.size,
        "high": None if point.high is None or point.at_least else point.high / unit.size,
        "label": format_measure(point.value, trend.series.unit) if outlier else "",
        "text": f"run {point.run_id}, {start}: {format_point(point, trend.series.unit)}",
    }


def _build_group_row(trend: Trend, group: TrendSegment, unit: AxisUnit, positions: dict[str, Row]) -> Row:
    spread = group.spread or 0.0
    value = format_measure(group.median, trend.series.unit)
    return {
        "start": positions[group.run_ids[0]]["x"],
        "end": positions[group.run_ids[-1]]["x"],
        "median": group.median / unit.size,
        "low": (group.median - spread) / unit.size,
        "high": (group.median + spread) / unit.size,
        "text": f"{value}, median of {group.count}, spread {format_segment_spread(group)}",
    }


def _build_change_row(trend: Trend, number: int, positions: dict[str, Row]) -> Row:
    series, change = trend.series, trend.changes[number]
    before, after = (format_measure(group.median, series.unit) for group in trend.groups[number : number + 2])
    value, _, name = before.partition(" ")
    from_text = value if after.endswith(f" {name}") else before
    index = next(at for at, point in enumerate(series.points) if point.run_id == change.run_id)
    return {
        "x": _compute_middle(series.points[index - 1], series.points[index], positions),
        "height": LABEL_HEIGHT * (number % LABEL_ROWS) + LABEL_HEIGHT / 2 + 4,
        "side": "left" if index > LEFT_FROM * len(series.points) else "right",
        "verdict": str(change.verdict),
        "label": f"{format_effect(change.effect, series.unit)}: {change.verdict}\n{from_text} → {after}",
        "text": f"from run {change.run_id} on {format_change(change, series.unit)}: {change.verdict}",
    }


def _compute_middle(earlier: TrendPoint, later: TrendPoint, positions: dict[str, Row]) -> Any:
    """Return the position in the middle between two runs."""
    first, last = (positions[point.run_id]["x"] for point in (earlier, later))
    if isinstance(first, int):
        return (first + last) / 2
    start = datetime.fromisoformat(first)
    return (start + (datetime.fromisoformat(last) - start) / 2).isoformat()


def _build_definition(trend: Trend, unit: AxisUnit) -> Spec:
    x = _build_horizontal_axis(trend.series)
    value: Spec = {
        "type": "quantitative",
        "scale": {"domain": _compute_domain(trend, unit), "nice": False, "clamp": True},
    }
    y = value | {"axis": {"title": f"{trend.series.text}, {unit.name}"}}
    return {
        "width": theme.WIDTH,
        "height": theme.HEIGHT,
        "layer": [
            _build_spread_layer(x, y),
            _build_median_layer(x, y),
            _build_bound_layer(x, y),
            _build_point_layer(trend, x, y),
            *_build_change_layers(x),
            _build_outlier_layer(x, y),
        ],
    }


def _build_horizontal_axis(series: TrendSeries) -> Spec:
    """Build the horizontal axis: time, or the number of the run."""
    scale: Spec = {"padding": 24, "nice": False}
    if has_even_times(series):
        axis: Spec = {"title": "UTC", "grid": False, "labelOverlap": True, "format": _pick_time_format(series)}
        return {"type": "temporal", "scale": scale | {"type": "utc"}, "axis": axis}
    axis = {"title": "runs, oldest first", "grid": False, "tickMinStep": 1, "format": "d"}
    return {"type": "quantitative", "scale": scale | {"zero": False}, "axis": axis}


def _pick_time_format(series: TrendSeries) -> str:
    first, last = (datetime.fromisoformat(series.points[end].started_at) for end in (0, -1))
    span_s = (last - first).total_seconds()
    if span_s < 600:
        return "%H:%M:%S"
    return "%H:%M" if span_s < 86400 else "%-d %b %H:%M" if span_s < 3 * 86400 else "%-d %b %Y"


def _compute_domain(trend: Trend, unit: AxisUnit) -> list[float]:
    """Return the range of the values without distant points, with space for the labels of changes above."""
    outlier = {run_id for group in trend.groups for run_id in group.outlier_run_ids}
    points = trend.series.points
    judged = [each for each in points if not each.at_least and each.run_id not in outlier] or list(points)
    low, high = _find_ends(judged)
    reach = REACH * ((high - low) or abs(high) or 1.0)
    all_low, all_high = _find_ends(points)
    low, high = max(all_low, low - reach) / unit.size, min(all_high, high + reach) / unit.size
    margin = MARGIN_RATIO * (high - low) or 0.05 * abs(high) or 1.0
    rows = min(len(trend.changes), LABEL_ROWS)
    above = (high - low + 2 * margin) * rows * LABEL_HEIGHT / (theme.HEIGHT - rows * LABEL_HEIGHT)
    return [low - margin, high + margin + above]


def _find_ends(points: Sequence[TrendPoint]) -> tuple[float, float]:
    """Return the lowest and the highest value or bound."""
    ends = [end for each in points for end in (each.low, each.high, each.value) if end is not None] or [0.0, 1.0]
    return min(ends), max(ends)


def _build_spread_layer(x: Spec, y: Spec) -> Spec:
    return {
        "data": {"name": "groups"},
        "mark": {"type": "rect", "color": theme.PALE, "opacity": 0.9},
        "encoding": {
            "x": x | {"field": "start"},
            "x2": {"field": "end"},
            "y": y | {"field": "low"},
            "y2": {"field": "high"},
        },
    }


def _build_median_layer(x: Spec, y: Spec) -> Spec:
    return {
        "data": {"name": "groups"},
        "mark": {"type": "rule", "color": theme.INK, "strokeWidth": 2.5, "strokeCap": "round"},
        "encoding": {
            "x": x | {"field": "start"},
            "x2": {"field": "end"},
            "y": y | {"field": "median"},
            "tooltip": {"field": "text"},
        },
    }


def _build_bound_layer(x: Spec, y: Spec) -> Spec:
    """Build a line from the lower to the upper bound of each run."""
    return {
        "data": {"name": "points"},
        "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
        "mark": {"type": "rule", "color": theme.MUTED, "opacity": 0.55},
        "encoding": {"x": x | {"field": "x"}, "y": y | {"field": "low"}, "y2": {"field": "high"}},
    }


def _build_point_layer(trend: Trend, x: Spec, y: Spec) -> Spec:
    outlier = any(group.outlier_run_ids for group in trend.groups)
    at_least = any(point.at_least for point in trend.series.points)
    kinds = [kind for kind, present in ((RUN, trend.groups), (AT_LEAST, at_least), (OUTLIER, outlier)) if present] or [
        RUN
    ]
    legend: Spec | None = {"title": None, "orient": "bottom"} if kinds != [RUN] else None
    shapes, colors, fills = zip(*(KINDS[kind] for kind in kinds), strict=True)
    return {
        "data": {"name": "points"},
        "mark": {"type": "point", "size": 70, "strokeWidth": 1.8},
        "encoding": {
            "x": x | {"field": "x"},
            "y": y | {"field": "value"},
            "shape": {"field": "kind", "scale": {"domain": kinds, "range": list(shapes)}, "legend": legend},
            "stroke": {"field": "kind", "scale": {"domain": kinds, "range": list(colors)}, "legend": legend},
            "fill": {"field": "kind", "scale": {"domain": kinds, "range": list(colors)}, "legend": legend},
            "fillOpacity": {"field": "kind", "scale": {"domain": kinds, "range": list(fills)}, "legend": legend},
            "tooltip": {"field": "text"},
        },
    }


def _build_outlier_layer(x: Spec, y: Spec) -> Spec:
    """Build labels with the values of outliers, which may be drawn at the edge."""
    return {
        "data": {"name": "points"},
        "transform": [{"filter": f"datum.kind == '{OUTLIER}'"}],
        "mark": {"type": "text", "align": "left", "baseline": "bottom", "dx": 8, "dy": -3, "color": theme.MUTED},
        "encoding": {"x": x | {"field": "x"}, "y": y | {"field": "value"}, "text": {"field": "label"}},
    }


def _build_change_layers(x: Spec) -> list[Spec]:
    color: Spec = {
        "field": "verdict",
        "scale": {"domain": [str(each) for each in COLORS], "range": list(COLORS.values())},
        "legend": None,
    }
    at = x | {"field": "x"}
    line: Spec = {
        "data": {"name": "changes"},
        "mark": {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5},
        "encoding": {"x": at, "color": color, "tooltip": {"field": "text"}},
    }
    return [line, *(_label_layer(side, at, color) for side in ("right", "left"))]


def _label_layer(side: str, at: Spec, color: Spec) -> Spec:
    """Build the labels of changes on one side of their lines."""
    return {
        "data": {"name": "changes"},
        "transform": [{"filter": f"datum.side == '{side}'"}],
        "mark": {
            "type": "text",
            "align": "left" if side == "right" else "right",
            "baseline": "middle",
            "dx": LABEL_OFFSET if side == "right" else -LABEL_OFFSET,
            "fontSize": theme.LABEL_SIZE,
            "fontWeight": "bold",
            "lineBreak": "\n",
        },
        "encoding": {
            "x": at,
            "y": {"field": "height", "type": "quantitative", "scale": None, "axis": None},
            "text": {"field": "label"},
            "color": color,
        },
    }
