"""Throughput by frame size, drawn as in RFC 2544 section 26.1: results with the theoretical maximum of the link."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from nodrop.charts import theme
from nodrop.charts.axis import build_scale, compute_position, pick_bit_unit, pick_rate_unit
from nodrop.charts.base import Chart, Row, Spec
from nodrop.charts.tooltips import format_frame_size, format_runs, format_suts
from nodrop.errors import ConfigError
from nodrop.formatting import LIMIT_NAMES, format_goal
from nodrop.model.result import RunResult
from nodrop.rates import WIRE_OVERHEAD_BYTES, compute_line_rate_pps
from nodrop.units import format_bps, format_pps

MAXIMUM = "theoretical maximum"
VIRTUAL_DRIVERS = frozenset({"veth", "tun", "bridge", "dummy", "openvswitch", ""})
"""Drivers of interfaces with a nominal speed that is not a real limit."""
LABELED_COUNT = 12
"""Most frame sizes with labels next to the marks."""
LABEL_HEIGHT, LABEL_GAP = 13, 13
"""Height of a label, and distance between its middle and its mark, in pixels."""


class RatePoint(NamedTuple):
    """The rate at a frame size."""

    series: str
    size: str
    frame_bytes: float
    rate_pps: float
    is_least: bool
    """Whether something other than the SUT was the limit, so that the rate is a lower limit."""
    text: str


def build_chart(results: Sequence[RunResult], unit: Literal["pps", "bps"] = "pps") -> Chart:
    """Build the chart of the result of each goal at each frame size. Raises ConfigError without results.

    Args:
        results: runs of one or several frame sizes.
        unit: frames per second, or bits per second on the wire, gaps included.
    """
    points = [figure for result in results for figure in _list_rate_points(result)]
    if not points:
        raise ConfigError(f"{format_runs(results)}: no throughput was found; name runs with a result")
    figures = [*points, *_list_maxima(results)]
    scaled = [figure.rate_pps * _get_scale_factor(figure, unit) for figure in figures]
    axis_unit = pick_bit_unit(max(scaled)) if unit == "bps" else pick_rate_unit(max(scaled))
    names = {figure.size: None for figure in sorted(figures, key=lambda each: each.frame_bytes)}
    scale, axis = build_scale([value / axis_unit.size for value in scaled])
    quantity = "throughput on the wire" if unit == "bps" else "throughput, all directions"
    heights = [theme.HEIGHT * (1 - compute_position(value / axis_unit.size, scale)) for value in scaled]
    sides = _label_sides(figures, heights)
    return Chart(
        name="sizes",
        title=f"{format_suts(results)}: throughput by frame size",
        subtitle=format_runs(results),
        note="\n".join(_list_notes(figures, unit)),
        summary=_format_summary(points),
        definition=build_definition(
            list(dict.fromkeys(figure.series for figure in figures)),
            list(names),
            scale,
            axis | {"title": f"{quantity} ({axis_unit.name})"},
        ),
        data={
            "figures": tuple(
                _build_row(figure, value / axis_unit.size, side)
                for figure, value, side in zip(figures, scaled, sides, strict=True)
            )
        },
    )


def _get_scale_factor(figure: RatePoint, unit: str) -> float:
    return (figure.frame_bytes + WIRE_OVERHEAD_BYTES) * 8 if unit == "bps" else 1.0


def _list_rate_points(result: RunResult) -> list[RatePoint]:
    size, frame_bytes = format_frame_size(result), result.plan.traffic.frame_bytes
    figures = []
    for goal_result in result.goals:
        if not goal_result.lower:
            continue
        load_pps, is_least = goal_result.lower.load_pps, goal_result.limit.sut_may_exceed
        wire = format_bps(load_pps * (frame_bytes + WIRE_OVERHEAD_BYTES) * 8)
        least = f"at least, limited by {LIMIT_NAMES[goal_result.limit]}: " if is_least else ""
        text = f"{format_goal(goal_result.goal)} at {size}: {least}{format_pps(load_pps)}, {wire}"
        figures.append(RatePoint(format_goal(goal_result.goal), size, frame_bytes, load_pps, is_least, text))
    return figures


def _list_maxima(results: Sequence[RunResult]) -> list[RatePoint]:
    """Return the theoretical maximum at each frame size, for links with a real speed."""
    figures = {}
    for result in results:
        if has_real_links(result):
            size, frame_bytes = format_frame_size(result), result.plan.traffic.frame_bytes
            ratios = result.plan.traffic.direction_ratios.values()
            most_pps = compute_line_rate_pps(frame_bytes, result.plan.link_speed_bps) / max(ratios)
            text = f"{MAXIMUM} at {size}: {format_pps(most_pps)} on links of {format_bps(result.plan.link_speed_bps)}"
            figures[size] = RatePoint(MAXIMUM, size, frame_bytes, most_pps, False, text)
    return list(figures.values())


def has_real_links(result: RunResult) -> bool:
    """Return whether the tester's ports are on physical links with a real speed."""
    if not result.plan.sends_into_lab:
        return True
    interfaces = result.facts.stage.interfaces if result.facts else ()
    drivers = {each.driver for each in interfaces if each.namespace == "tester"}
    return bool(drivers) and not drivers & VIRTUAL_DRIVERS


def _list_notes(figures: Sequence[RatePoint], unit: str) -> list[str]:
    notes = ["wire rate, with preamble and gap"] if unit == "bps" else []
    if any(figure.is_least for figure in figures):
        notes.append("hollow: lower limit")
    if not any(figure.series == MAXIMUM for figure in figures):
        notes.append("virtual links, without a theoretical maximum")
    return notes


def _format_summary(points: Sequence[RatePoint]) -> str:
    return ". ".join(figure.text for figure in points) + "."


def _label_sides(figures: Sequence[RatePoint], heights: Sequence[float]) -> list[str]:
    """Place each label above or below its mark, or omit it (`away`), so that no labels overlap."""
    sides: dict[int, str] = {}
    occupied: dict[str, list[float]] = {}
    for position in sorted(range(len(figures)), key=lambda each: heights[each]):
        labels = occupied.setdefault(figures[position].size, [])
        choices = {"above": heights[position] - LABEL_GAP, "below": heights[position] + LABEL_GAP}
        heights_at_size = [
            height for each, height in enumerate(heights) if figures[each].size == figures[position].size
        ]
        for side, middle in choices.items():
            marks = [abs(middle - other) for other in heights_at_size]
            inside = LABEL_HEIGHT / 2 <= middle <= theme.HEIGHT - LABEL_HEIGHT / 2
            if (
                inside
                and all(abs(middle - label) >= LABEL_HEIGHT for label in labels)
                and min(marks) >= LABEL_HEIGHT / 2 + 3
            ):
                sides[position] = side
                labels.append(middle)
                break
    return [sides.get(position, "away") for position in range(len(figures))]


def _build_row(figure: RatePoint, value: float, side: str) -> Row:
    return {
        "series": figure.series,
        "size": figure.size,
        "rate": value,
        "least": figure.is_least,
        "label": f"{'≥ ' if figure.is_least else ''}{value:.4g}",
        "side": side,
        "says": figure.text,
    }


def build_definition(series: Sequence[str], sizes: Sequence[str], scale: Spec, axis: Spec) -> Spec:
    """Build the definition without data.

    Args:
        series: names of the goals, and `MAXIMUM`.
        sizes: names of the frame sizes in order.
        scale: scale of the rates.
        axis: axis of the rates, with its title.
    """
    colors = [theme.MUTED if name == MAXIMUM else theme.get_goal_color(at) for at, name in enumerate(series)]
    dashes = [[2, 2] if name == MAXIMUM else theme.get_line_dash(at) for at, name in enumerate(series)]
    color = {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": list(series), "range": colors},
        "legend": {"title": None, "orient": "top", "symbolType": "stroke", "symbolSize": 400},
    }
    position = {
        "x": {
            "field": "size",
            "type": "ordinal",
            "scale": {"domain": list(sizes), "type": "point", "padding": 0.6},
            "axis": {"title": "frame size, FCS included", "labelAngle": 0},
        },
        "y": {
            "field": "rate",
            "type": "quantitative",
            "scale": scale,
            "axis": axis,
        },
        "color": color,
    }
    dash = {"field": "series", "type": "nominal", "scale": {"domain": list(series), "range": dashes}}
    middle = position["y"] | {"aggregate": "median"}
    texts: Spec = {"description": {"field": "says"}, "tooltip": {"field": "says"}}
    point = {"type": "point", "size": 70, "opacity": 1}
    points = {False: point | {"filled": True}, True: point | {"filled": False, "fill": theme.PAPER, "strokeWidth": 2}}
    layers: list[Spec] = [
        {"mark": {"type": "line", "aria": False}, "encoding": position | {"y": middle, "strokeDash": dash}}
    ]
    layers += [
        {
            "transform": [{"filter": {"field": "least", "equal": is_least}}],
            "mark": points[is_least],
            "encoding": position | texts,
        }
        for is_least in points
    ]
    if len(sizes) <= LABELED_COUNT:
        layers += [_build_labels(position, side, gap) for side, gap in (("above", -LABEL_GAP), ("below", LABEL_GAP))]
    return {
        "width": theme.WIDTH,
        "height": theme.HEIGHT,
        "data": {"name": "figures"},
        "layer": layers,
    }


def _build_labels(position: Spec, side: str, offset: int) -> Spec:
    return {
        "transform": [{"filter": {"field": "side", "equal": side}}],
        "mark": {"type": "text", "dy": offset, "fontSize": theme.FONT_SIZE, "aria": False},
        "encoding": position | {"text": {"field": "label", "type": "nominal"}},
    }
