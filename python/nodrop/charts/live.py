"""Live charts of a run: trials and converging bounds, and rate and loss of the current trial.

Definitions depend on the goals only, never on data, so that a page only has to replace the rows.
Loads are in frames per second and times in seconds throughout.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.charts.search_chart_data import BoundsAt, SearchChartData, build_search_chart_data
from nodrop.formatting import format_goal
from nodrop.model.event import TrialProgress, TrialStarted
from nodrop.model.goal import Goal
from nodrop.model.result import RunResult, SearchDecision

HEIGHT, SMALL_HEIGHT = 210, 110
MEETS_ALL, MEETS_SOME, MEETS_NONE = "meets every goal", "meets some goals", "meets none"
IS_RUNNING, DID_NOT_COUNT = "running", "invalid"
OUTCOMES = {
    MEETS_ALL: theme.MEETS,
    MEETS_SOME: theme.MEETS_SOME[0],
    MEETS_NONE: theme.FAILS,
    IS_RUNNING: theme.INK,
    DID_NOT_COUNT: theme.INVALID,
}
"""Outcomes of trials and their colors."""
STEP_MIN_S = 0.1
"""Shortest interval of a rate, because frames arrive in bursts."""
ROUND_PPS = tuple(digit * 10.0**power for power in range(11) for digit in (1, 2, 5))
"""Candidate ticks of a logarithmic load axis."""
PPS_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~r') + ' Gpps' : "
    "datum.value >= 1e6 ? format(datum.value / 1e6, '~r') + ' Mpps' : "
    "datum.value >= 1e3 ? format(datum.value / 1e3, '~r') + ' kpps' : format(datum.value, '~r') + ' pps'"
)
"""Labels of rates, with the units of the texts beside the chart."""
COLUMNS = 2
"""Columns of a legend, so that it fits on a narrow screen."""
LOSS_AXIS_MIN = 0.001
"""Shortest axis of loss, so that the absence of loss is visible."""
IN_TRIAL = "time in this trial (s)"
UPPER_BOUND_MARGIN = 1.5
"""Upper end of the load axis, relative to the upper bound, while no lower bound exists."""
POINTS_MAX = 600
"""Most points of a trial; every second point is dropped when a trial has more."""


def build_search_chart() -> Chart:
    """Build an empty chart of all loads on a logarithmic axis."""
    load = _load({"type": "log", "nice": False}, ROUND_PPS)
    return _make_chart(
        "search",
        "Every load tried",
        "Each bar is a trial: its length is the duration, its height the offered load.",
        {
            "height": SMALL_HEIGHT,
            "layer": [_build_axis_range("span", load), _build_trial_layer("trials", load, legend=True)],
        },
        ("span", "trials"),
    )


def build_bounds_chart(goals: Sequence[Goal]) -> Chart:
    """Build an empty chart of the loads around the converging bounds."""
    load = _load({"zero": False, "nice": False})
    layers = [
        _build_axis_range("around", load),
        {"layer": list(_build_bounds_layers(goals, load))},
        _build_trial_layer("near", load, legend=False),
    ]
    definition = {"height": HEIGHT, "layer": layers, "resolve": {"scale": {"color": "independent"}}}
    summary = (
        "The area between the bounds of each goal narrows to the result: loads below meet the goal, loads above do not."
    )
    return _make_chart("bounds", "Converging bounds", summary, definition, ("around", "between", "bounds", "near"))


def build_rate_chart() -> Chart:
    """Build an empty chart of the rates sent and received in the current trial."""
    colors = {"sent": theme.SENT, "received": theme.RECEIVED}
    encoding = {
        "x": _encode_time("time", IN_TRIAL),
        "y": _encode_rate("rate", {"zero": True, "nice": True}),
        "color": _encode_color("way", colors, "top"),
        "strokeDash": {"field": "way", "scale": {"domain": list(colors), "range": [[5, 3], [1, 0]]}, "legend": None},
    }
    mark = {"type": "line", "interpolate": "step-before", "clip": True}
    definition = {"height": SMALL_HEIGHT, "data": {"name": "rates"}, "mark": mark, "encoding": encoding}
    summary = "Frames sent and received per second; where the lines diverge, frames are lost or in flight."
    return _make_chart("rate", "Sent and received", summary, definition, ("rates",))


def build_loss_chart() -> Chart:
    """Build an empty chart of the loss ratio over the current trial."""
    share = _encode_quantity("loss", "lost", "~%", {"zero": True, "domainMin": 0})
    bars = {
        "data": {"name": "losses"},
        "mark": {"type": "rect", "color": theme.LOST, "clip": True},
        "encoding": {
            "x": _encode_time("start", IN_TRIAL),
            "x2": {"field": "time"},
            "y": share,
            "y2": {"datum": 0},
        },
    }
    least = {"mark": {"type": "rule", "opacity": 0}, "encoding": {"y": {"datum": LOSS_AXIS_MIN}}}
    definition = {"height": SMALL_HEIGHT, "layer": [bars, {"data": {"name": "losses"}} | least]}
    return _make_chart("loss", "Loss", "Share of frames lost over time.", definition, ("losses",))


def build_search_rows(
    result: RunResult, steps: Sequence[SearchDecision], running: TrialStarted | None = None
) -> dict[str, list[Row]]:
    """Build the rows for the charts of the search.

    Args:
        result: the run so far, with at least one search trial.
        steps: the decisions after its trials.
        running: the current trial, if it is a search trial.
    """
    data = build_search_chart_data(result, steps)
    trials = list(_iter_trial_rows(data, len(result.plan.search.goals)))
    low, high = _find_load_range(data, steps)
    if running:
        start_s = data.end * data.time_unit.size
        load_pps = running.trial.intended_load_pps
        trials.append(
            _build_trial_row(running.index, start_s, start_s + running.trial.duration_s, load_pps, IS_RUNNING)
        )
    near = [row for row in trials if low <= row["load"] <= high]
    edges = [_convert_to_pps(edge, data) for edge in data.edges]
    names = [format_goal(goal) for goal in result.plan.search.goals]
    loads = [row["load"] for row in trials]
    return {
        "trials": trials,
        "near": near,
        "span": [{"time": 0, "load": load_pps} for load_pps in (min(loads) / 2, max(loads) * 2)],
        "around": [{"time": trials[-1]["end"], "load": load_pps} for load_pps in (low, high)],
        "between": list(_iter_area_rows(edges, names, low, high)),
        "bounds": list(_iter_bound_rows(edges, names, low, high)),
    }


def build_trial_rows(progress: Sequence[TrialProgress]) -> dict[str, list[Row]]:
    """Build the rows for the charts of the current trial."""
    rates: list[Row] = []
    losses: list[Row] = []
    previous = TrialProgress(index=0, elapsed_s=0.0, offered_count=0, received_count=0)
    for current in progress:
        if (took_s := current.elapsed_s - previous.elapsed_s) < STEP_MIN_S:
            continue
        offered_count, lost_count = (
            current.offered_count - previous.offered_count,
            current.lost_count - previous.lost_count,
        )
        received_count = current.received_count - previous.received_count
        start_s = () if rates else (previous.elapsed_s,)  # each step starts at the end of the one before
        for way, count in (("sent", offered_count), ("received", received_count)):
            rates += [{"time": end_s, "rate": count / took_s, "way": way} for end_s in (*start_s, current.elapsed_s)]
        share = min(1.0, lost_count / offered_count) if offered_count else 0.0
        losses.append({"start": previous.elapsed_s, "time": current.elapsed_s, "loss": share})
        previous = current
    return {"rates": rates, "losses": losses}


def thin_progress(progress: list[TrialProgress]) -> list[TrialProgress]:
    """Reduce the progress reports to the number of points that a chart can show."""
    return progress if len(progress) <= POINTS_MAX else progress[::2]


def _make_chart(name: str, title: str, summary: str, definition: Spec, data: Sequence[str]) -> Chart:
    style = {"width": theme.WIDTH, "autosize": {"type": "fit-x", "contains": "padding"}, "padding": 4}
    return Chart(name=name, title=title, summary=summary, definition=style | definition, data=dict.fromkeys(data, ()))


def _build_axis_range(data: str, load: Spec) -> Spec:
    """Build invisible points that define the minimum range of the axis."""
    encoding = {"x": _encode_time("time"), "y": load | {"field": "load"}}
    return {"data": {"name": data}, "mark": {"type": "point", "opacity": 0}, "encoding": encoding}


def _build_trial_layer(data: str, load: Spec, *, legend: bool) -> Spec:
    """Build a bar for every trial."""
    return {
        "data": {"name": data},
        "mark": {"type": "rule", "strokeWidth": 5, "strokeCap": "square", "clip": True},
        "encoding": {
            "x": _encode_time("start"),
            "x2": {"field": "end"},
            "y": load | {"field": "load"},
            "color": _encode_color("outcome", OUTCOMES, "bottom" if legend else None),
        },
    }


def _build_bounds_layers(goals: Sequence[Goal], load: Spec) -> Iterator[Spec]:
    """Build an area between the bounds of each goal, with lines at the bounds."""
    names = [format_goal(goal) for goal in goals]
    colors = {name: theme.get_goal_color(position) for position, name in enumerate(names)}
    shape = {"interpolate": "step-after", "clip": True}
    shared = {"x": _encode_time("time"), "color": _encode_color("goal", colors, "top")}
    yield {
        "data": {"name": "between"},
        "mark": {"type": "area", "opacity": 0.16} | shape,
        "encoding": shared | {"y": load | {"field": "lower"}, "y2": {"field": "upper"}},
    }
    dashes = [theme.get_line_dash(position) for position in range(len(names))]
    dash = {"field": "goal", "type": "nominal", "scale": {"domain": names, "range": dashes}, "legend": None}
    side = {"field": "side", "type": "nominal"}
    yield {
        "data": {"name": "bounds"},
        "mark": {"type": "line", "strokeWidth": 1.6} | shape,
        "encoding": shared | {"y": load | {"field": "load"}, "strokeDash": dash, "detail": side},
    }


def _iter_trial_rows(data: SearchChartData, goal_count: int) -> Iterator[Row]:
    time_s, load_pps = data.time_unit.size, data.load_unit.size
    for bar in data.bars:
        met_count = -1 if bar.met is None else len(bar.met)
        outcome = {-1: DID_NOT_COUNT, 0: MEETS_NONE, goal_count: MEETS_ALL}.get(met_count, MEETS_SOME)
        yield _build_trial_row(bar.trial, bar.start * time_s, bar.end * time_s, bar.load * load_pps, outcome)


def _build_trial_row(trial: int, start_s: float, end_s: float, load_pps: float, outcome: str) -> Row:
    return {"trial": trial, "start": start_s, "end": end_s, "load": load_pps, "outcome": outcome}


def _find_load_range(data: SearchChartData, steps: Sequence[SearchDecision]) -> tuple[float, float]:
    """Return the load range around the bounds; from 0 while no lower bound exists."""
    states = steps[-1].after if steps else ()
    uppers_pps = [state.upper_pps for state in states if state.upper_pps]
    if uppers_pps and not any(state.lower_pps for state in states):
        return 0.0, max(uppers_pps) * UPPER_BOUND_MARGIN
    low, high = data.around
    return low * data.load_unit.size, high * data.load_unit.size


class _Bounds(NamedTuple):
    """The bounds of a goal from a time on, in seconds and frames per second."""

    goal: int
    time_s: float
    lower_pps: float | None
    upper_pps: float | None


def _convert_to_pps(edge: BoundsAt, data: SearchChartData) -> _Bounds:
    lower, upper = (None if load is None else load * data.load_unit.size for load in (edge.lower, edge.upper))
    return _Bounds(edge.goal, edge.time * data.time_unit.size, lower, upper)


def _iter_area_rows(edges: Sequence[_Bounds], names: Sequence[str], low_pps: float, high_pps: float) -> Iterator[Row]:
    """Yield areas between bounds, clipped to the load range."""
    for edge in edges:
        if edge.lower_pps is None or edge.upper_pps is None:
            continue
        if edge.lower_pps < high_pps and edge.upper_pps > low_pps:
            row = {"lower": max(edge.lower_pps, low_pps), "upper": min(edge.upper_pps, high_pps)}
            yield {"goal": names[edge.goal], "time": edge.time_s} | row


def _iter_bound_rows(edges: Sequence[_Bounds], names: Sequence[str], low_pps: float, high_pps: float) -> Iterator[Row]:
    """Yield the bounds over time that lie in the load range."""
    for edge in edges:
        for side, load_pps in (("lower", edge.lower_pps), ("upper", edge.upper_pps)):
            if load_pps is not None and low_pps <= load_pps <= high_pps:
                yield {"goal": names[edge.goal], "time": edge.time_s, "side": side, "load": load_pps}


def _encode_time(field: str, title: str = "time since the search began (s)") -> Spec:
    axis = {"title": title, "grid": False, "tickCount": 8, "labelFlush": False}
    return {"field": field, "type": "quantitative", "scale": {"nice": False, "zero": True}, "axis": axis}


def _load(scale: Spec, values: Sequence[float] = ()) -> Spec:
    axis = {"title": "load", "labelExpr": PPS_LABEL, "tickCount": 5} | ({"values": list(values)} if values else {})
    return {"type": "quantitative", "scale": scale, "axis": axis | {"labelOverlap": True}}


def _encode_rate(field: str, scale: Spec) -> Spec:
    axis = {"title": "rate", "labelExpr": PPS_LABEL, "tickCount": 4}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def _encode_quantity(field: str, title: str, form: str, scale: Spec) -> Spec:
    axis = {"title": title, "format": form, "tickCount": 4}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def _encode_color(field: str, colors: dict[str, str], orient: str | None) -> Spec:
    """Encode values as colors; without a legend where a neighboring chart has one."""
    scale = {"domain": list(colors), "range": list(colors.values())}
    symbol = {"symbolType": "stroke", "symbolStrokeWidth": 4, "symbolOpacity": 1}
    legend = {"title": None, "orient": orient, "columns": COLUMNS} | symbol if orient else None
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend}
