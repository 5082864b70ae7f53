"""Latency over time within a trial: mean and largest of each window."""

from collections.abc import Sequence
from itertools import pairwise

from nodrop.charts import theme
from nodrop.charts.axis import build_scale, pick_time_unit
from nodrop.charts.base import Row, Spec
from nodrop.charts.time_series import WINDOW_COUNT_MAX, encode_time
from nodrop.model.trial import TrialResult, WindowLatency

FIGURES = {"mean": [1, 0], "max": [2, 2]}
"""Dashes of the lines, by display name."""


def build_latency_rows(trial: TrialResult) -> list[Row]:
    """Build rows of mean and largest latency over time, in nanoseconds; none without latency by window.

    Neighboring windows are merged where there are many; windows without a frame are left out.
    """
    windows = trial.windows
    if not windows.latency:
        return []
    size = -(-len(windows.end_s) // WINDOW_COUNT_MAX)
    edges = [*range(0, len(windows.end_s), size), len(windows.end_s)]
    rows: list[Row] = []
    for first, end in pairwise(edges):
        count, sum_ns, max_ns = _merge(windows.latency, slice(first, end))
        time_s = windows.end_s[first - 1] if first else 0.0
        if count:
            rows += [
                {"time": time_s, "what": "mean", "ns": sum_ns / count},
                {"time": time_s, "what": "max", "ns": max_ns},
            ]
    return rows


def _merge(series: Sequence[WindowLatency], part: slice) -> tuple[int, int, int]:
    """Return number, sum and largest of the latencies of some windows, over all series."""
    return (
        sum(sum(each.count[part]) for each in series),
        sum(sum(each.sum_ns[part]) for each in series),
        max(max(each.max_ns[part]) for each in series),
    )


def build_latency_panel(rows: Sequence[Row], until_s: float, size: tuple[int, int]) -> Spec:
    """Build the panel of mean and largest latency over time.

    Args:
        rows: the rows of `build_latency_rows`; at least one.
        until_s: the end of the time axis.
        size: width and height in pixels.
    """
    unit = pick_time_unit(max(float(row["ns"]) for row in rows))
    scale, axis = build_scale([float(row["ns"]) / unit.size for row in rows])
    names = list(FIGURES)
    return {
        "width": size[0],
        "height": size[1],
        "data": {"name": "latencies"},
        "transform": [{"calculate": f"datum.ns / {unit.size:g}", "as": "latency"}],
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5, "color": theme.MEETS, "aria": False},
        "encoding": {
            "x": encode_time(until_s, "time", None),
            "y": {
                "field": "latency",
                "type": "quantitative",
                "scale": scale,
                "axis": axis | {"title": f"latency ({unit.name})"},
            },
            "strokeDash": {
                "field": "what",
                "type": "nominal",
                "scale": {"domain": names, "range": [FIGURES[name] for name in names]},
                "legend": {"title": None, "orient": "top", "symbolType": "stroke", "symbolSize": 400},
            },
        },
    }
