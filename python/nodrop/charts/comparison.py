"""The comparison of two setups: every run as a dot, the difference with its interval, and the margin."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nodrop.analysis.text import (
    describe_effect,
    describe_method,
    format_interval,
    format_margin,
    format_outcome,
    format_short_outcome,
    format_value,
)
from nodrop.analysis.types import Comparison, ComparisonOutcome, MetricComparison, MetricSeries
from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.model.summary import MeasureUnit

AXIS_TITLES: dict[MeasureUnit, str] = {
    "pps": "rate relative to A's mean (%)",
    "ratio": "loss relative to A's (percentage points)",
    "ns": "latency relative to A's mean (%)",
}
ROW_HEIGHT = 92
SECONDARY_METRICS_MAX = 6
"""Most secondary measures that are shown; measures with a decided outcome first."""
COLOR_A, COLOR_B = theme.MEETS, theme.GOALS[1]
SIDES = ("A", "B")
OUTCOME_COLORS = {
    ComparisonOutcome.WORSE: theme.FAILS,
    ComparisonOutcome.BETTER: theme.RECEIVED,
    ComparisonOutcome.EQUIVALENT: theme.MEETS,
    ComparisonOutcome.UNDECIDED: theme.MUTED,
}
SIDE_OFFSETS = {"A": 0.22, "B": 0.54}
DIFFERENCE_OFFSET = 0.84
"""Vertical positions within a row, from the top."""
LANE = 0.06
"""Distance between lanes of overlapping dots, as a share of a row."""
LANES = (0, 1, -1, 2, -2)
DOT_SHARE = 0.013
"""Width of a dot, as a share of the axis."""
MARGIN_RATIO = 0.06
"""Margin at each end of an axis, as a share of its length."""
TEXT_SHARE = 0.35
"""Space for texts to the right, as a share of the axis."""


def build_chart(comparison: Comparison) -> Chart:
    """Build the chart of a comparison, with one panel per unit."""
    selected = _select_metrics(comparison.metrics)
    names = {"A": f"A: {comparison.a.name}", "B": f"B: {comparison.b.name}"}
    metrics_by_unit = {unit: [each for each in selected if each.unit == unit] for unit in AXIS_TITLES}
    scales = {unit: PanelScale.of(metrics) for unit, metrics in metrics_by_unit.items() if metrics}
    panels = [_build_panel(unit, scale, names) for unit, scale in scales.items()]
    panels[0] = _add_legend(panels[0])
    omitted_count = len(comparison.metrics) - len(selected)
    more = f"; {omitted_count} more measures not shown" if omitted_count else ""
    margins = ", ".join(dict.fromkeys(f"±{format_margin(each.margin, each.unit)}" for each in selected))
    return Chart(
        name="comparison",
        title=format_short_outcome(comparison),
        note=f"Dots are runs, bars the difference at {comparison.confidence * 100:g} % confidence; "
        f"the grey area ({margins}) is the equivalence margin{more}",
        summary=f"{comparison.sentence}. {describe_method(comparison)}",
        definition={"vconcat": panels, "spacing": 24},
        data={
            "runs": tuple(
                run
                for scale in scales.values()
                for row, metric in enumerate(scale.metrics)
                for run in _iter_run_rows(metric, row, scale, names)
            ),
            "effects": tuple(
                _build_effect_row(metric, row) for scale in scales.values() for row, metric in enumerate(scale.metrics)
            ),
        },
    )


class PanelScale(NamedTuple):
    """The horizontal scale of a panel."""

    metrics: Sequence[MetricComparison]
    least: float
    most: float

    @classmethod
    def of(cls, metrics: Sequence[MetricComparison]) -> "PanelScale":
        """Compute the scale from all values of the metrics."""
        points = [
            _compute_relative_value(point.value, metric.a, metric.unit)
            for metric in metrics
            for series in (metric.a, metric.b)
            for point in series.points
        ]
        least = min(points + [-metric.margin * 100 for metric in metrics])
        most = max(points + [metric.margin * 100 for metric in metrics])
        reach = most - least
        # Clip intervals that are far wider than the range of the runs.
        low = max(min(metric.low * 100 for metric in metrics), least - reach)
        high = min(max(metric.high * 100 for metric in metrics), most + reach)
        least, most = min(least, low), max(most, high)
        margin = (most - least) * MARGIN_RATIO
        return cls(metrics, least - margin, most + margin)

    @property
    def end(self) -> float:
        """The end of the axis, including the space for texts."""
        return self.most + (self.most - self.least) * TEXT_SHARE

    def ticks(self) -> list[float]:
        """Return about six round values."""
        step = next(step for step in STEPS if (self.most - self.least) / step <= TICKS_MAX)
        first = math.ceil(self.least / step)
        return [round(number * step, 6) for number in range(first, math.floor(self.most / step) + 1)]


STEPS = [digit * 10.0**power for power in range(-3, 9) for digit in (1, 2, 5)]
TICKS_MAX = 8


def _select_metrics(metrics: Sequence[MetricComparison]) -> list[MetricComparison]:
    secondary = sorted(
        (each for each in metrics if not each.headline), key=lambda each: each.verdict is ComparisonOutcome.UNDECIDED
    )[:SECONDARY_METRICS_MAX]
    return [each for each in metrics if each.headline or each in secondary]


def _iter_run_rows(metric: MetricComparison, row: int, scale: PanelScale, names: Mapping[str, str]) -> Iterator[Row]:
    for side, series in zip(SIDES, (metric.a, metric.b), strict=True):
        positions = [_compute_relative_value(point.value, metric.a, metric.unit) for point in series.points]
        lanes = _assign_lanes(positions, (scale.end - scale.least) * DOT_SHARE)
        for point, position, lane in zip(series.points, positions, lanes, strict=True):
            least = "at least " if point.at_least else ""
            yield {
                "unit": metric.unit,
                "metric": metric.text,
                "side": names[side],
                "at": row + SIDE_OFFSETS[side] + lane * LANE,
                "beside": position,
                "text": f"{side}, run {point.run_id}: {least}{format_value(point.value, metric.unit)}",
            }


def _assign_lanes(positions: Sequence[float], width: float) -> list[int]:
    """Assign dots to lanes so that few overlap."""
    ends = dict.fromkeys(LANES, -math.inf)
    lanes = [0] * len(positions)
    for index in sorted(range(len(positions)), key=positions.__getitem__):
        free = next((lane for lane in LANES if positions[index] >= ends[lane]), min(LANES, key=ends.__getitem__))
        lanes[index], ends[free] = free, positions[index] + width
    return lanes


def _build_effect_row(metric: MetricComparison, row: int) -> Row:
    outcome = format_outcome(metric)
    has_interval = not metric.needs_repeats
    interval = f" ({format_interval(metric.low, metric.high, metric.unit)})" if has_interval else ""
    return {
        "unit": metric.unit,
        "metric": metric.text,
        "top": row + 0.04,
        "middle": row + 0.5,
        "at": row + DIFFERENCE_OFFSET,
        "bottom": row + 0.96,
        "effect": metric.effect * 100,
        "low": (metric.low if has_interval else metric.effect) * 100,
        "high": (metric.high if has_interval else metric.effect) * 100,
        "margin_low": -metric.margin * 100,
        "margin_high": metric.margin * 100,
        "verdict": metric.verdict.value,
        "said": f"{outcome}:  {describe_effect(metric)}",
        "text": f"{metric.text}: B {describe_effect(metric)}{interval}: {outcome}",
    }


def _compute_relative_value(value: float, a: MetricSeries, unit: MeasureUnit) -> float:
    return (value - a.mean) * 100 if unit == "ratio" else (value / a.mean - 1) * 100


def _build_panel(unit: MeasureUnit, scale: PanelScale, names: Mapping[str, str]) -> Spec:
    """Build a panel with one row per measure: the runs of A, the runs of B, and the difference."""
    x: Spec = {
        "type": "quantitative",
        "title": AXIS_TITLES[unit],
        "scale": {"domain": [scale.least, scale.end], "nice": False, "zero": False},
        "axis": {"values": scale.ticks(), "labelExpr": "datum.value ? format(datum.value, '+~r') : '0'"},
    }
    texts = json.dumps([metric.text for metric in scale.metrics], ensure_ascii=False)
    y: Spec = {
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [len(scale.metrics), 0], "nice": False, "zero": False},
        "axis": {
            "values": [row + 0.5 for row in range(len(scale.metrics))],
            "labelExpr": f"{texts}[floor(datum.value)]",
            "labelLimit": 260,
            "labelFontWeight": "bold",
            "labelPadding": 10,
            "domain": False,
            "ticks": False,
            "grid": False,
        },
    }
    zero: Spec = {"mark": {"type": "rule", "color": theme.MUTED, "strokeDash": [4, 3], "aria": False}}
    return {
        "width": theme.WIDTH,
        "height": ROW_HEIGHT * len(scale.metrics),
        "layer": [
            _build_layer(
                "effects",
                unit,
                {"type": "rect", "color": theme.PALE, "aria": False},
                {
                    "x": x | {"field": "margin_low"},
                    "x2": {"field": "margin_high"},
                    "y": y | {"field": "top"},
                    "y2": {"field": "bottom"},
                },
            ),
            zero | {"data": {"name": "effects"}, "encoding": {"x": x | {"datum": 0}}},
            _build_layer(
                "runs",
                unit,
                {"type": "point", "filled": True, "size": 60, "opacity": 0.8},
                {
                    "x": x | {"field": "beside"},
                    "y": y | {"field": "at"},
                    "color": _encode_side(names, [COLOR_A, COLOR_B]),
                    "shape": _encode_side(names, ["circle", "triangle-up"]),
                    "description": {"field": "text"},
                    "tooltip": {"field": "text"},
                },
            ),
            _build_layer(
                "effects",
                unit,
                {"type": "rule", "strokeWidth": 3, "clip": True},
                {
                    "y": y | {"field": "at"},
                    "x": x | {"field": "low"},
                    "x2": {"field": "high"},
                    "description": {"field": "text"},
                },
            ),
            _build_layer(
                "effects",
                unit,
                {"type": "tick", "thickness": 3, "size": 16, "color": theme.INK, "opacity": 1},
                {"y": y | {"field": "at"}, "x": x | {"field": "effect"}, "tooltip": {"field": "text"}},
            ),
            _build_layer(
                "effects",
                unit,
                {"type": "text", "align": "right", "dx": -8, "fontWeight": "bold", "fontSize": theme.LABEL_SIZE},
                {
                    "x": x | {"datum": scale.end},
                    "y": y | {"field": "middle"},
                    "text": {"field": "said"},
                    "color": {
                        "field": "verdict",
                        "type": "nominal",
                        "scale": {
                            "domain": [each.value for each in OUTCOME_COLORS],
                            "range": list(OUTCOME_COLORS.values()),
                        },
                        "legend": None,
                    },
                },
            ),
        ],
        "resolve": {"scale": {"color": "independent", "shape": "independent"}},
    }


def _build_layer(data: str, unit: MeasureUnit, mark: Spec, encoding: Spec) -> Spec:
    return {
        "data": {"name": data},
        "transform": [{"filter": {"field": "unit", "equal": unit}}],
        "mark": mark,
        "encoding": encoding,
    }


def _encode_side(names: Mapping[str, str], values: Sequence[str]) -> Spec:
    """Encode the side as a color or a shape."""
    return {
        "field": "side",
        "type": "nominal",
        "scale": {"domain": list(names.values()), "range": list(values)},
        "legend": None,
    }


def _add_legend(panel: Spec) -> Spec:
    """Add the legend of the sides to a panel."""
    legend = {"title": None, "orient": "top", "symbolOpacity": 1, "symbolSize": 90}
    layers = [
        layer
        if "shape" not in layer["encoding"]
        else layer
        | {
            "encoding": layer["encoding"]
            | {channel: layer["encoding"][channel] | {"legend": legend} for channel in ("color", "shape")}
        }
        for layer in panel["layer"]
    ]
    return panel | {"layer": layers}
