"""Latency by percentile at each load, on HdrHistogram's axis: each step to the right is a tenth of the frames."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from nodrop.charts import theme
from nodrop.charts.axis import (
    AxisUnit,
    build_percentile_axis,
    build_scale,
    compute_position,
    pick_time_unit,
    space_labels,
)
from nodrop.charts.base import Chart, Row, Spec
from nodrop.charts.tooltips import format_runs, format_suts, label_runs
from nodrop.errors import ConfigError
from nodrop.model.latency import CURVE_BEHIND_COUNT, compute_latency_curve
from nodrop.model.result import RunResult
from nodrop.model.trial import DirectionTimes, TrialResult
from nodrop.units import format_ns, format_pps

MARKED = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)
"""Percentiles with a mark on every curve."""
LABELED_MAX = 6
"""Curves up to which their names are at their ends instead of in a legend."""
LABEL_HEIGHT = 34


class LatencyCurve(NamedTuple):
    """The latency curve of one load."""

    name: str
    points: tuple[tuple[float, int], ...]
    """Pairs of percentile and nanoseconds."""


def build_chart(results: Sequence[RunResult], *, each_way: bool = False) -> Chart:
    """Build the curves of all latency trials, or of a trial at a fixed rate. Raises ConfigError without histograms.

    Args:
        results: one run, or several runs to compare.
        each_way: whether each direction has its own curve.
    """
    names = label_runs(results) if len(results) > 1 else [""]
    lines = [
        line for name, result in zip(names, results, strict=True) for line in _build_curves(result, name, each_way)
    ]
    if not lines:
        raise ConfigError(f"{format_runs(results)}: no latency histogram is stored; name a run that measured latency")
    unit = pick_time_unit(max(latency_ns for line in lines for _, latency_ns in line.points))
    least = min(line.points[-1][0] for line in lines)
    latencies = [latency_ns / unit.size for line in lines for _, latency_ns in line.points]
    has_labels = len(lines) <= LABELED_MAX
    definition = build_definition(
        [line.name for line in lines],
        unit,
        latencies,
        max(100.0 / (100.0 - line.points[-1][0]) for line in lines),
        has_labels=has_labels,
    )
    return Chart(
        name="latency",
        title=_format_title(results, lines),
        subtitle=format_runs(results),
        note=f"each curve ends where fewer than {CURVE_BEHIND_COUNT} measured frames were slower",
        summary=" ".join(_describe_curve(line) for line in lines)
        + f" Every curve reaches at least the {_format_percentile(least)} percentile.",
        definition=definition,
        data={"curves": tuple(row for line in lines for row in _build_rows(line, unit))}
        | ({"labels": tuple(_build_label_rows(lines, latencies, unit))} if has_labels else {}),
    )


def _build_label_rows(lines: Sequence[LatencyCurve], latencies: Sequence[float], unit: AxisUnit) -> list[Row]:
    """Return the names of the curves, at the heights of their ends and apart from each other."""
    scale, _ = build_scale(latencies)
    heights = {
        position: theme.HEIGHT * (1.0 - compute_position(line.points[-1][1] / unit.size, scale))
        for position, line in enumerate(lines)
    }
    spaced = space_labels(heights, LABEL_HEIGHT, theme.HEIGHT)
    return [
        {"line": lines[position].name, "y": y, "text": lines[position].name.replace(", ", "\n", 1)}
        for position, y in spaced.items()
    ]


def _format_title(results: Sequence[RunResult], lines: Sequence[LatencyCurve]) -> str:
    """Return a title from the curve at NDR, or from the only curve; without values for several runs."""
    telling = [line for line in lines if line.name.startswith("NDR,")] or lines
    latencies_ns = dict(telling[0].points)
    if len(telling) > 1 or 99.0 not in latencies_ns:
        return f"{format_suts(results)}: latency by percentile"
    most = ", ".join(f"{_format_percentile(each)} within {format_ns(latencies_ns[each])}" for each in (50.0, 99.0))
    return f"{format_suts(results)}: latency at {telling[0].name}: {most}"


def _build_curves(result: RunResult, run_name: str, each_way: bool) -> list[LatencyCurve]:
    """Return the curves of a run, lowest load first."""
    trials = sorted(_select_trials(result).items(), key=lambda item: item[1].trial.intended_load_pps)
    lines = []
    for name, trial in trials:
        for direction, series in (_group_by_direction(trial) if each_way else {"": trial.directions}).items():
            parts = [run_name, name, direction]
            if points := compute_latency_curve(series):
                lines.append(LatencyCurve(", ".join(part for part in parts if part), points))
    return lines


def _select_trials(result: RunResult) -> dict[str, TrialResult]:
    """Return trials with histograms by name: the loads found, or the fixed rate."""
    between = " requested, " if result.plan.fixed else ", "
    if result.latencies:
        trials = [result.trials[each.trial_index] for each in result.latencies]
        names = [f"{each.label}{between}{format_pps(each.load_pps)}" for each in result.latencies]
        return dict(zip(names, trials, strict=True))
    return {format_pps(trial.trial.intended_load_pps): trial for trial in result.trials if trial.phase != "search"}


def _group_by_direction(trial: TrialResult) -> dict[str, list[DirectionTimes]]:
    series_by_direction: dict[str, list[DirectionTimes]] = {}
    for times in trial.directions:
        series_by_direction.setdefault("forward" if times.tx_port < times.rx_port else "reverse", []).append(times)
    return series_by_direction


def _build_rows(line: LatencyCurve, unit: AxisUnit) -> list[Row]:
    return [
        {
            "line": line.name,
            "behind": 100.0 / (100.0 - percentile),
            "latency": latency_ns / unit.size,
            "mark": percentile in MARKED,
            "says": f"{line.name}: {_format_percentile(percentile)} of frames took at most {format_ns(latency_ns)}",
        }
        for percentile, latency_ns in line.points
    ]


def _describe_curve(line: LatencyCurve) -> str:
    latencies_ns = dict(line.points)
    percentiles = [percentile for percentile in (50.0, 99.0, 99.9, 99.99) if percentile in latencies_ns]
    figures = ", ".join(f"{_format_percentile(each)} {format_ns(latencies_ns[each])}" for each in percentiles)
    return f"At {line.name}: {figures}."


def _format_percentile(percentile: float) -> str:
    """Return a percentile, rounded towards 0 so that only the slowest frame is at 100 %."""
    if percentile in MARKED or percentile >= 100.0:
        return f"{percentile:.8g} %"
    digits = max(1, ceil(-log10(100.0 - percentile)) + 1)
    text = f"{floor(percentile * 10**digits) / 10**digits:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.')} %"


def build_definition(
    names: Sequence[str], unit: AxisUnit, latencies: Sequence[float], most: float, *, has_labels: bool = False
) -> Spec:
    """Build the definition without data.

    Args:
        names: names of the curves.
        unit: unit of the latencies.
        latencies: all latencies in that unit.
        most: end of the percentile axis, as 1 / (1 - p).
        has_labels: whether the data `labels` names the curves at their ends; otherwise there is a legend.
    """
    scale, axis = build_scale(latencies)
    domain = {"domain": list(names)}
    encoding: Spec = {
        "x": {
            "field": "behind",
            "type": "quantitative",
            "scale": {"type": "log", "domain": [1, most * 1.1], "nice": False},
            "axis": build_percentile_axis("share of frames at or below this latency (percentile)", most * 1.1),
        },
        "y": {
            "field": "latency",
            "type": "quantitative",
            "scale": scale,
            "axis": axis | {"title": f"latency ({unit.name})"},
        },
        "color": {
            "field": "line",
            "type": "nominal",
            "scale": domain | {"range": [theme.get_line_color(position) for position in range(len(names))]},
            "legend": None
            if has_labels
            else {"title": None, "orient": "bottom", "columns": 3, "symbolType": "stroke", "symbolSize": 400},
        },
    }
    dash: Spec = {
        "field": "line",
        "type": "nominal",
        "scale": domain | {"range": [theme.get_line_dash(position) for position in range(len(names))]},
    } | ({"legend": None} if has_labels else {})
    texts: Spec = {"description": {"field": "says"}, "tooltip": {"field": "says"}}
    return {
        "width": theme.LABELED_WIDTH if has_labels else theme.WIDTH,
        "height": theme.HEIGHT,
        "data": {"name": "curves"},
        "layer": [
            {
                "mark": {"type": "line", "aria": False},
                "encoding": encoding | {"strokeDash": dash},
            },
            {
                "transform": [{"filter": {"field": "mark", "equal": True}}],
                "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
                "encoding": encoding | texts,
            },
            *([_build_labels(encoding["color"])] if has_labels else []),
        ],
    }


def _build_labels(color: Spec) -> Spec:
    """Build the names of the curves, right of the panel."""
    return {
        "data": {"name": "labels"},
        "mark": {"type": "text", "align": "left", "baseline": "middle", "lineBreak": "\n", "dy": -LABEL_HEIGHT / 4},
        "encoding": {
            "x": {"value": theme.LABELED_WIDTH + 8},
            "y": {"field": "y", "type": "quantitative", "scale": None, "axis": None},
            "text": {"field": "text", "type": "nominal"},
            "color": color,
        },
    }
