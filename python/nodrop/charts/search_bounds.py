"""The chart of a search: every trial by time and load, and the converging bounds.

The panel shows the loads around the final bounds. A few trials at other loads are named at its edge; many have a panel
of their own above it, with all loads on a logarithmic axis and the same time axis.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.charts import theme
from nodrop.charts.axis import LOG_SCALE_RATIO, build_log_axis, build_log_scale, compute_position, space_labels
from nodrop.charts.base import Chart, Row, Spec
from nodrop.charts.search_chart_data import SearchChartData, TrialBar, build_search_chart_data
from nodrop.charts.tooltips import DID_NOT_COUNT, format_goals, format_outcome, format_sut, format_trial
from nodrop.errors import ConfigError
from nodrop.formatting import describe_run, describe_traffic, format_goal, format_goal_load
from nodrop.model.result import RunResult, SearchDecision
from nodrop.units import format_count, format_pps, format_seconds

WIDTH, HEIGHT, OVERVIEW_HEIGHT, ALONE_HEIGHT = theme.LABELED_WIDTH, 300, 110, 380
"""Sizes of the panels in pixels."""
EDGE_LABELS_MAX = 3
"""Trials outside the panel up to which labels at its edge replace the overview."""
EDGE_LABEL_HEIGHT = 15
BOUND_WIDTHS = (4.0, 1.8)
"""Line widths of goals in turn: a line that covers another leaves its edges visible."""
LABEL_HEIGHT = 34
"""Height of a goal's label, in pixels."""
STOPPED = "stopped early"


def build_chart(result: RunResult, steps: Sequence[SearchDecision]) -> Chart:
    """Build the chart of a run's search. Raises ConfigError without a search.

    Args:
        result: the run.
        steps: the decisions of the search: those of the run, or of re-deciding where the run has none.
    """
    if result.plan.fixed or result.plan.no_traffic:
        raise ConfigError(f"run {result.run_id}: no search ({describe_run(result.plan)}); name a run with a search")
    if not any(trial.phase == "search" for trial in result.trials):
        raise ConfigError(f"run {result.run_id}: no search trial; name another result")
    chart_data = build_search_chart_data(result, steps)
    if len(_list_outside(chart_data)) <= EDGE_LABELS_MAX:
        panels = [_build_panel(chart_data, result, ALONE_HEIGHT)]
    else:
        panels = [_build_overview(chart_data, result), _build_panel(chart_data, result, HEIGHT)]
    count = format_count(len(chart_data.bars), "trial")
    progress = f"{count} in {format_seconds(chart_data.end * chart_data.time_unit.size)}"
    return Chart(
        name="funnel",
        title=f"{format_sut(result)}: {format_goals(result)}",
        subtitle=f"{describe_traffic(result.plan.traffic)}; search {result.plan.search.algorithm}, {progress}; "
        f"run {result.run_id}",
        note="bars: trials and their durations; shaded: between the bounds of a goal",
        summary=_format_summary(result, chart_data, progress),
        definition={"vconcat": panels, "spacing": 14},
        data=_build_data(result, chart_data, panels),
    )


def _build_data(result: RunResult, chart_data: SearchChartData, panels: Sequence[Spec]) -> dict[str, tuple[Row, ...]]:
    """Return the data of the panels only: renderers reject data that no mark uses."""
    is_alone, outside = len(panels) == 1, _list_outside(chart_data)
    data = {"trials": tuple(_build_row(bar, result) for bar in chart_data.bars)}
    if not is_alone:
        data["around"] = ({"low": chart_data.around[0] or chart_data.loads[0], "high": chart_data.around[1]},)
    elif outside:
        data["outside"] = tuple(_build_edge_rows(outside, chart_data, result, panels[-1]["height"]))
    if chart_data.edges:
        data["bounds"] = tuple(
            {"goal": edge.goal, "time": edge.time, "lower": edge.lower, "upper": edge.upper}
            for edge in chart_data.edges
        )
    if result.goals:
        data["labels"] = tuple(_build_label_rows(chart_data, result, _build_axes(chart_data, panels[-1]["height"])))
    return data


def _list_outside(chart_data: SearchChartData) -> list[TrialBar]:
    """Return the trials at loads outside the panel."""
    low, high = chart_data.around
    return [bar for bar in chart_data.bars if not low <= bar.load <= high]


def _build_edge_rows(
    outside: Sequence[TrialBar], chart_data: SearchChartData, result: RunResult, height: int
) -> Iterator[Row]:
    """Yield a label for each trial outside the panel, at its time, with an arrow towards its load."""
    above_count = 0
    for bar in outside:
        is_above = bar.load > chart_data.around[1]
        load = format_pps(bar.load * chart_data.load_unit.size)
        yield {
            "time": bar.start,
            "y": EDGE_LABEL_HEIGHT * (above_count + 0.7) if is_above else height - EDGE_LABEL_HEIGHT * 0.7,
            "text": f"{'↑' if is_above else '↓'} trial {bar.trial}: {load}",
            "says": format_trial(result, result.trials[bar.trial]),
        }
        above_count += is_above


def _format_summary(result: RunResult, chart_data: SearchChartData, progress: str) -> str:
    counts: dict[str, int] = {}
    for bar in chart_data.bars:
        outcome = format_outcome(result, bar.met)
        counts[outcome] = counts.get(outcome, 0) + 1
    outcomes = ", ".join(f"{count} x {outcome.removeprefix('trial ')}" for outcome, count in counts.items())
    return f"The search made {progress} ({outcomes}). Result: {format_goals(result)}."


class PanelAxes(NamedTuple):
    """The axis encodings of a panel, shared by its layers."""

    chart_data: SearchChartData
    scale: Spec
    time_axis: Spec | None
    height: int
    """Height of the panel, in pixels."""

    def time(self, field: str) -> Spec:
        """Encode a field on the time axis."""
        scale = {"domain": [0, self.chart_data.until], "nice": False}
        return {"field": field, "type": "quantitative", "scale": scale, "axis": self.time_axis}

    def load(self, field: str) -> Spec:
        """Encode a field on the load axis."""
        is_log = self.scale["type"] == "log"
        axis: Spec = {"title": f"load ({self.chart_data.load_unit.name})"}
        if is_log:
            axis |= build_log_axis(self.scale)
        return {"field": field, "type": "quantitative", "scale": self.scale, "axis": axis}

    def below_top(self, load: float) -> float:
        """Return the distance of a load from the top of the panel, in pixels."""
        return self.height * (1.0 - compute_position(load, self.scale))


def _build_edge_labels(axes: PanelAxes) -> Spec:
    """Build the labels of trials outside the panel."""
    return {
        "data": {"name": "outside"},
        "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 3, "color": theme.MUTED},
        "encoding": {
            "x": axes.time("time"),
            "y": {"field": "y", "type": "quantitative", "scale": None, "axis": None},
            "text": {"field": "text", "type": "nominal"},
            "description": {"field": "says"},
            "tooltip": {"field": "says"},
        },
    }


def _build_overview(chart_data: SearchChartData, result: RunResult) -> Spec:
    """Build the panel of all loads, with the range of the other panel marked."""
    low, high = chart_data.around
    axes = PanelAxes(
        chart_data,
        build_log_scale(min(low, chart_data.loads[0]) or chart_data.loads[0], max(high, chart_data.loads[1])),
        None,
        OVERVIEW_HEIGHT,
    )
    window = {
        "data": {"name": "around"},
        "mark": {"type": "rect", "color": theme.PALE, "clip": True, "aria": False},
        "encoding": {"y": axes.load("low"), "y2": {"field": "high"}},
    }
    return {
        "width": WIDTH,
        "height": OVERVIEW_HEIGHT,
        "layer": [window, *_build_trial_layers(chart_data, result, axes)],
    }


def _build_axes(chart_data: SearchChartData, height: int) -> PanelAxes:
    """Build the axes for the loads around the bounds."""
    low, high = chart_data.around
    scale = {"type": "linear", "domain": [low, high], "zero": False, "nice": False}
    if low <= chart_data.loads[0] < high / LOG_SCALE_RATIO:
        scale = build_log_scale(chart_data.loads[0], high)
    title = f"time since the search began ({chart_data.time_unit.name})"
    return PanelAxes(chart_data, scale, {"title": title, "grid": False, "labelFlush": False, "tickCount": 10}, height)


def _build_panel(chart_data: SearchChartData, result: RunResult, height: int) -> Spec:
    """Build the panel of the loads around the bounds, with a label for every goal."""
    axes = _build_axes(chart_data, height)
    goals = sorted({edge.goal for edge in chart_data.edges})
    layers = [layer for goal in goals for layer in _build_bound_layers(goal, axes)]
    labels = [_build_goal_label(goal) for goal in range(len(result.goals))]
    if 0 < len(_list_outside(chart_data)) <= EDGE_LABELS_MAX:
        labels.append(_build_edge_labels(axes))
    return {
        "width": WIDTH,
        "height": height,
        "layer": [*layers, *_build_trial_layers(chart_data, result, axes), *labels],
    }


def _build_trial_layers(chart_data: SearchChartData, result: RunResult, axes: PanelAxes) -> list[Spec]:
    """Build a bar for the duration of every trial, and a mark at the end of stopped trials."""
    outcomes = _list_outcomes(chart_data, result)
    color = {
        "field": "outcome",
        "type": "nominal",
        "scale": {"domain": list(outcomes), "range": list(outcomes.values())},
        "legend": {"title": None, "orient": "bottom", "symbolType": "stroke", "symbolStrokeWidth": 5, "symbolSize": 81},
    }
    texts: Spec = {"description": {"field": "says"}, "tooltip": {"field": "says"}}
    low, high = axes.scale["domain"]
    within: Spec = {"filter": {"field": "load", "range": [low, high]}}
    bars = {
        "data": {"name": "trials"},
        "transform": [within],
        "mark": {"type": "rule", "strokeWidth": 5, "strokeCap": "square", "clip": True},
        "encoding": {
            "x": axes.time("start"),
            "x2": {"field": "end"},
            "y": axes.load("load"),
            "color": color,
        }
        | texts,
    }
    if not any(bar.stopped for bar in chart_data.bars):
        return [bars]
    legend = {"title": None, "orient": "bottom", "symbolFillColor": theme.PAPER, "symbolStrokeColor": theme.INK}
    stops = {
        "data": {"name": "trials"},
        "transform": [{"filter": {"field": "stopped", "equal": STOPPED}}, within],
        "mark": {"type": "point", "filled": True, "stroke": theme.INK, "strokeWidth": 1.2, "size": 55, "opacity": 1}
        | {"clip": True},
        "encoding": {
            "x": axes.time("end"),
            "y": axes.load("load"),
            "color": color,
            "shape": {
                "field": "stopped",
                "type": "nominal",
                "scale": {"domain": [STOPPED], "range": ["diamond"]},
                "legend": legend | {"symbolStrokeWidth": 1.5, "symbolOpacity": 1, "symbolSize": 156},
            },
        }
        | texts,
    }
    return [bars, stops]


def _build_row(bar: TrialBar, result: RunResult) -> Row:
    return {
        "trial": bar.trial,
        "start": bar.start,
        "end": bar.end,
        "load": bar.load,
        "outcome": format_outcome(result, bar.met),
        "stopped": STOPPED if bar.stopped else None,
        "says": format_trial(result, result.trials[bar.trial]),
    }


def _list_outcomes(chart_data: SearchChartData, result: RunResult) -> dict[str, str]:
    """Return the outcomes of trials, best first, with their colors."""
    goal_count = len(result.plan.search.goals)
    outcomes = sorted({bar.met for bar in chart_data.bars if bar.met is not None}, key=len, reverse=True)
    some = iter(theme.MEETS_SOME * goal_count)
    colors = {
        format_outcome(result, labels): theme.MEETS
        if len(labels) == goal_count
        else next(some)
        if labels
        else theme.FAILS
        for labels in outcomes
    }
    if any(bar.met is None for bar in chart_data.bars):
        colors[DID_NOT_COUNT] = theme.INVALID
    return colors


def _build_bound_layers(goal: int, axes: PanelAxes) -> list[Spec]:
    """Build an area between the bounds of a goal, and the bounds as lines.

    Bounds far outside the panel are drawn just outside it, because renderers fail on very long dashed lines.
    """
    low, high = axes.scale["domain"]
    extent = high - low
    near: list[Spec] = [
        {
            "calculate": f"min(max(datum.{side}, {max(low - extent, low / 2)!r}), {high + extent!r})",
            "as": f"{side}Drawn",
        }
        for side in ("lower", "upper")
    ]
    shape = {"interpolate": "step-after", "color": theme.get_goal_color(goal), "clip": True, "aria": False}
    of_goal: Spec = {"filter": {"field": "goal", "equal": goal}}
    is_valid = {side: {"filter": {"field": side, "gt": 0}} for side in ("lower", "upper")}
    area = {
        "data": {"name": "bounds"},
        "transform": [of_goal, *is_valid.values(), *near],
        "mark": {"type": "area", "opacity": 0.1} | shape,
        "encoding": {"x": axes.time("time"), "y": axes.load("lowerDrawn"), "y2": {"field": "upperDrawn"}},
    }
    lines = [
        {
            "data": {"name": "bounds"},
            "transform": [of_goal, is_valid[side], *near],
            "mark": {
                "type": "line",
                "strokeWidth": BOUND_WIDTHS[goal % len(BOUND_WIDTHS)],
                "strokeDash": theme.get_line_dash(goal),
            }
            | shape,
            "encoding": {"x": axes.time("time"), "y": axes.load(f"{side}Drawn")},
        }
        for side in is_valid
    ]
    return [area, *lines]


def _build_goal_label(goal: int) -> Spec:
    """Build the label of a goal with its result, to the right of the final bounds."""
    style = {"align": "left", "baseline": "middle", "lineBreak": "\n", "fontSize": theme.LABEL_SIZE}
    style |= {"fontWeight": "bold", "color": theme.get_goal_color(goal)}
    return {
        "data": {"name": "labels"},
        "transform": [{"filter": {"field": "goal", "equal": goal}}],
        "mark": {"type": "text", "dy": -LABEL_HEIGHT / 4, "lineBreak": "\n", "color": theme.get_goal_color(goal)}
        | style,
        "encoding": {
            "x": {"value": WIDTH + 8},
            "y": {"field": "y", "type": "quantitative", "scale": None, "axis": None},
            "text": {"field": "text", "type": "nominal"},
        },
    }


def _build_label_rows(chart_data: SearchChartData, result: RunResult, axes: PanelAxes) -> list[Row]:
    """Return the positions of the goal labels, moved apart where they overlap."""
    heights: dict[int, float] = {}
    for goal, goal_result in enumerate(result.goals):
        bounds = [
            axes.below_top(bound.load_pps / chart_data.load_unit.size)
            for bound in (goal_result.lower, goal_result.upper)
            if bound
        ]
        if bounds:
            heights[goal] = sum(bounds) / len(bounds)
    return [
        {
            "goal": goal,
            "y": height,
            "text": f"{format_goal(result.goals[goal].goal)}\n{format_goal_load(result.goals[goal])}",
        }
        for goal, height in space_labels(heights, LABEL_HEIGHT, axes.height).items()
    ]
