"""Latency by the load that the tester sent: its growth towards the load at which frames are lost.

Overloads are left out: the latency there is that of full queues, and their loads would compress all others.
"""

from collections.abc import Sequence
from math import inf
from statistics import median

from nodrop.charts import theme
from nodrop.charts.axis import AxisUnit, build_scale, pick_rate_unit, pick_time_unit
from nodrop.charts.base import Chart, Row, Spec
from nodrop.charts.tooltips import format_sut
from nodrop.errors import ConfigError
from nodrop.formatting import format_goal
from nodrop.model.result import RunResult
from nodrop.model.trial import LatencySummary, TrialResult, ValidityStatus
from nodrop.units import format_count, format_ns, format_pps

PERCENTILES = {"median": "p50_ns", "99 %": "p99_ns", "99.9 %": "p999_ns"}
NEARBY_LOAD_RATIO = 1.1
"""Largest ratio of loads that share a point of the line."""
LINE_RATIO_MAX = 1.5
"""Largest ratio of loads that a line connects; between loads further apart nothing was measured."""
OVERLOAD_RATIO = 1.25
"""Ratio to the highest bound from which a load is an overload."""
COLORS = [theme.MEETS, theme.MEETS_SOME[0], theme.FAILS]


def build_chart(result: RunResult) -> Chart:
    """Build the chart of the latency of every trial, by load. Raises ConfigError for fewer than two loads.

    The latency of a trial is that of its slower direction.
    """
    trials = [
        trial
        for trial in result.trials
        if trial.validity.verdict is not ValidityStatus.INVALID and any(times.latency for times in trial.directions)
    ]
    overload_pps = _find_overload_pps(result)
    overloads = [trial for trial in trials if trial.offered_load_pps > overload_pps]
    trials = [trial for trial in trials if trial.offered_load_pps <= overload_pps]
    if len({trial.trial.intended_load_pps for trial in trials}) < 2:
        raise ConfigError(
            f"run {result.run_id}: latency was measured at fewer than two loads; name a run with a search"
        )
    loads = pick_rate_unit(median(trial.offered_load_pps for trial in trials))
    times = pick_time_unit(max(_find_slower_ns(trial, field) for trial in trials for field in PERCENTILES.values()))
    rows = [row for trial in trials for row in _build_rows(trial, loads, times)]
    lines = _build_lines(rows)
    return Chart(
        name="load_latency",
        title=f"{format_sut(result)}: latency by load",
        subtitle=f"run {result.run_id}",
        note=_format_note(len(overloads), overload_pps),
        summary=_format_summary(trials),
        definition=_build_definition(rows, len(result.goals), loads, times),
        data={"trials": tuple(rows), "lines": tuple(lines)}
        | ({"goals": tuple(_build_goal_rows(result, loads))} if result.goals else {}),
    )


def _find_overload_pps(result: RunResult) -> float:
    """Return the load from which trials are overloads; infinite without any bound."""
    bounds = [bound.load_pps for each in result.goals for bound in (each.lower, each.upper) if bound]
    return OVERLOAD_RATIO * max(bounds, default=inf)


def _format_note(overload_count: int, overload_pps: float) -> str:
    note = "dots: trials, slower direction; lines: medians of nearby loads"
    more = format_count(overload_count, "trial")
    return f"{note}; not drawn: {more} above {format_pps(overload_pps)}" if overload_count else note


def _find_slower_ns(trial: TrialResult, field: str) -> int:
    latencies: list[LatencySummary] = [times.latency for times in trial.directions if times.latency]
    return int(max(getattr(latency, field) for latency in latencies))


def _build_rows(trial: TrialResult, loads: AxisUnit, times: AxisUnit) -> list[Row]:
    load_pps = trial.offered_load_pps
    return [
        {
            "load": load_pps / loads.size,
            "percentile": name,
            "latency": _find_slower_ns(trial, field) / times.size,
            "says": f"Trial {trial.index} at {format_pps(load_pps)}: {name} {format_ns(_find_slower_ns(trial, field))}",
        }
        for name, field in PERCENTILES.items()
    ]


def _build_lines(rows: Sequence[Row]) -> list[Row]:
    """Return the medians of trials at nearby loads, in pieces without gaps between the loads."""
    lines: list[Row] = []
    for percentile in PERCENTILES:
        piece = 0
        for near in _group_nearby([row for row in rows if row["percentile"] == percentile]):
            middle = {field: median(each[field] for each in near) for field in ("load", "latency")}
            is_first = not lines or lines[-1]["percentile"] != percentile
            piece += not is_first and middle["load"] > lines[-1]["load"] * LINE_RATIO_MAX
            lines.append({"percentile": percentile, "piece": piece} | middle)
    return lines


def _group_nearby(rows: Sequence[Row]) -> list[list[Row]]:
    """Return rows in groups of nearby loads, lowest load first."""
    groups: list[list[Row]] = []
    for row in sorted(rows, key=_load):
        if not groups or _load(row) > _load(groups[-1][0]) * NEARBY_LOAD_RATIO:
            groups.append([])
        groups[-1].append(row)
    return groups


def _load(row: Row) -> float:
    return float(row["load"])


def _build_goal_rows(result: RunResult, loads: AxisUnit) -> list[Row]:
    return [
        {"goal": position, "load": goal_result.lower.load_pps / loads.size, "text": format_goal(goal_result.goal)}
        for position, goal_result in enumerate(result.goals)
        if goal_result.lower
    ]


def _format_summary(trials: Sequence[TrialResult]) -> str:
    ordered = sorted(trials, key=lambda trial: trial.offered_load_pps)
    ends = [
        f"at {format_pps(trial.offered_load_pps)} {format_ns(_find_slower_ns(trial, 'p50_ns'))} median and "
        f"{format_ns(_find_slower_ns(trial, 'p99_ns'))} for 99 %"
        for trial in (ordered[0], ordered[-1])
    ]
    return f"Latency of {len(trials)} trials: {ends[0]}, {ends[1]}."


def _build_goal_marks(goal_count: int, x: Spec) -> list[Spec]:
    """Build a line at the result of each goal, with staggered labels; the label of the highest load is on the right."""
    marks: list[Spec] = []
    for goal in range(goal_count):
        source: Spec = {"data": {"name": "goals"}, "transform": [{"filter": {"field": "goal", "equal": goal}}]}
        color = theme.get_goal_color(goal)
        rule = {"type": "rule", "strokeDash": [4, 3], "color": color, "aria": False}
        is_last = goal == goal_count - 1
        text = {"type": "text", "align": "left" if is_last else "right", "dx": 5 if is_last else -5}
        text |= {"y": 12 + 15 * goal, "color": color, "fontWeight": "bold"}
        marks += [
            source | {"mark": rule, "encoding": {"x": x}},
            source | {"mark": text, "encoding": {"x": x, "text": {"field": "text", "type": "nominal"}}},
        ]
    return marks


def _build_definition(rows: Sequence[Row], goal_count: int, loads: AxisUnit, times: AxisUnit) -> Spec:
    xscale, xaxis = build_scale([row["load"] for row in rows])
    yscale, yaxis = build_scale([row["latency"] for row in rows])
    x: Spec = {
        "field": "load",
        "type": "quantitative",
        "scale": xscale,
        "axis": xaxis | {"title": f"load sent, all directions ({loads.name})"},
    }
    y: Spec = {
        "field": "latency",
        "type": "quantitative",
        "scale": yscale,
        "axis": yaxis | {"title": f"latency ({times.name})"},
    }
    color = {
        "field": "percentile",
        "type": "nominal",
        "scale": {"domain": list(PERCENTILES), "range": COLORS},
        "legend": {"title": None, "orient": "top", "symbolOpacity": 1},
    }
    return {
        "width": theme.WIDTH,
        "height": theme.HEIGHT,
        "layer": [
            *_build_goal_marks(goal_count, x),
            {
                "data": {"name": "lines"},
                "mark": {"type": "line", "strokeWidth": 1.2, "opacity": 0.7, "aria": False},
                "encoding": {"x": x, "y": y, "color": color, "detail": {"field": "piece"}},
            },
            {
                "data": {"name": "trials"},
                "mark": {"type": "point", "filled": True, "size": 36, "opacity": 0.8},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": color,
                    "description": {"field": "says"},
                    "tooltip": {"field": "says"},
                },
            },
        ],
    }
