"""A search as a picture: every trial where and when it was made, and the bounds closing in.

The picture is described in Vega-Lite and drawn without a browser and without the network. Two panels share the time:
all loads on a logarithmic axis, and under them the loads around the final bounds.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nodrop.charts import draw
from nodrop.charts.base import Spec
from nodrop.charts.scene import Bar, Scene, scene
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult, SearchStep
from nodrop.units import format_seconds
from nodrop.wording import asked_text, found_text, goal_text, traffic_text

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The first comes with the renderer, the others are as wide: texts fit wherever the picture is looked at."""
WIDTH, HEIGHT, OVERVIEW_HEIGHT, ALONE_HEIGHT = 770, 300, 110, 440
"""Of the panels, in pixels; with axes, titles and labels the picture is about 1000 by 600."""
INK, PALE = "#333333", "#e8e8e8"
MEETS_ALL, MEETS_NONE, DID_NOT_COUNT = "#0072b2", "#d55e00", "#999999"
MEETS_SOME = ("#e69f00", "#56b4e9", "#f0e442")
GOAL_COLOURS = ("#00795a", "#a8457f", "#333333")
"""Colours that the colour-blind can tell apart, after Okabe and Ito, Color Universal Design (2008)."""
DASHES = ([1, 0], [7, 3], [2, 2])
WIDE = 30.0
"""Loads that differ by more than this factor are shown on a logarithmic axis."""
LABEL_HEIGHT = 34
"""Pixels a goal's label takes."""
STOPPED = "stopped early"


def write(result: RunResult, steps: Sequence[SearchStep], file: Path) -> None:
    """Draw a search into a file, in the format of its suffix. Raises ConfigError."""
    draw.require_suffix(file)
    if result.plan.fixed or result.plan.no_traffic:
        raise ConfigError(
            f"run {result.run_id}: a picture of its search asked, it has none ({asked_text(result.plan)}); "
            "name a run that searched"
        )
    draw.write(specification(result, steps), file)


def specification(result: RunResult, steps: Sequence[SearchStep]) -> Spec:
    """The whole picture in Vega-Lite. Raises ConfigError when there was no search."""
    if not any(trial.phase == "search" for trial in result.trials):
        raise ConfigError(f"a picture of run {result.run_id} asked, it has no search trial; name another result")
    shown = scene(result, steps)
    if shown.around[0] <= shown.loads[0] <= shown.loads[1] <= shown.around[1]:
        panels = [_panel(shown, result, ALONE_HEIGHT)]
    else:
        panels = [_overview(shown, result), _panel(shown, result, HEIGHT)]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": _title(result, shown),
        "padding": 14,
        "background": "white",
        "vconcat": panels,
        "spacing": 14,
        "config": {
            "font": FONT,
            "view": {"stroke": "#cccccc"},
            "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "gridColor": "#eeeeee"},
            "legend": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 300},
            "title": {"fontSize": 17, "subtitleFontSize": 12, "subtitleColor": INK, "subtitlePadding": 5},
        },
    }


def _title(result: RunResult, shown: Scene) -> Spec:
    sut = result.facts.stage.sut if result.facts else result.plan.lab.sut
    found = ", ".join(f"{goal_text(found.goal)} {found_text(found)}" for found in result.goals)
    made = f"{len(shown.bars)} trials in {format_seconds(shown.end * shown.time_unit.size)}"
    search = f"search {result.plan.search.algorithm}, {made.removesuffix('s') if len(shown.bars) == 1 else made}"
    return {
        "text": f"{sut}: {found}",
        "subtitle": f"{traffic_text(result.plan.traffic)}; {search}; run {result.run_id}",
        "anchor": "start",
        "frame": "group",
        "offset": 12,
    }


def _overview(shown: Scene, result: RunResult) -> Spec:
    """All loads, and where among them the other panel looks."""
    low, high = shown.around
    axes = Axes(
        shown, _log_scale(min(low, shown.loads[0]) or shown.loads[0], max(high, shown.loads[1])), None, OVERVIEW_HEIGHT
    )
    window = {
        "data": {"values": [{"low": max(low, axes.scale["domain"][0]), "high": high}]},
        "mark": {"type": "rect", "color": PALE},
        "encoding": {"y": axes.load("low"), "y2": {"field": "high"}},
    }
    return {"width": WIDTH, "height": OVERVIEW_HEIGHT, "layer": [window, *_trial_layers(shown, result, axes)]}


def _panel(shown: Scene, result: RunResult, height: int) -> Spec:
    """The loads around the bounds, with a label for every goal."""
    low, high = shown.around
    scale = {"type": "linear", "domain": [low, high], "zero": False, "nice": False}
    if low <= shown.loads[0] < high / WIDE:
        scale = _log_scale(shown.loads[0], high)
    title = f"time since the search began ({shown.time_unit.name})"
    axes = Axes(
        shown, scale, {"title": title, "grid": False, "titlePadding": 8, "labelFlush": False, "tickCount": 10}, height
    )
    layers = [*_bound_layers(shown, axes), *_trial_layers(shown, result, axes), _labels(shown, result, axes)]
    return {"width": WIDTH, "height": height, "layer": layers}


class Axes(NamedTuple):
    """How a panel's axes are encoded, the same in each of its layers."""

    shown: Scene
    scale: Spec
    time_axis: Spec | None
    height: int
    """Of the panel, in pixels."""

    def time(self, field: str) -> Spec:
        """A field on the time axis."""
        scale = {"domain": [0, self.shown.until], "nice": False}
        return {"field": field, "type": "quantitative", "scale": scale, "axis": self.time_axis}

    def load(self, field: str) -> Spec:
        """A field on the load axis."""
        is_log = self.scale["type"] == "log"
        axis: Spec = {"title": f"load ({self.shown.load_unit.name})", "titlePadding": 8}
        if is_log:
            axis |= {"values": _round_loads(*self.scale["domain"]), "format": "~g"}
        return {"field": field, "type": "quantitative", "scale": self.scale, "axis": axis}

    def below_top(self, load: float) -> float:
        """How far below the top of the panel a load is, in pixels."""
        low, high = self.scale["domain"]
        if self.scale["type"] == "log":
            low, high, load = math.log(low), math.log(high), math.log(load)
        return float(self.height * (high - load) / (high - low))


def _log_scale(low: float, high: float) -> Spec:
    """A logarithmic axis with some room at both ends."""
    room = max((high / low) ** 0.07, 1.05)
    return {"type": "log", "domain": [low / room, high * room], "nice": False}


def _round_loads(low: float, high: float) -> list[float]:
    """Loads worth a line on a logarithmic axis: powers of ten, and 2 and 5 times these where they are few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if math.log10(high / low) < 2 else (1,)
    loads = [float(f"{factor}e{decade}") for decade in decades for factor in factors]
    return [load for load in loads if low <= load <= high]


def _trial_layers(shown: Scene, result: RunResult, axes: Axes) -> list[Spec]:
    """A bar for every trial, as long as it took, and a mark at the end of those that were stopped."""
    outcomes = _outcomes(shown, result)
    colour = {
        "field": "outcome",
        "type": "nominal",
        "scale": {"domain": list(outcomes), "range": list(outcomes.values())},
        "legend": {"title": None, "orient": "bottom", "symbolType": "stroke", "symbolStrokeWidth": 5, "symbolSize": 81},
    }
    rows = [_row(bar, result) for bar in shown.bars]
    bars = {
        "data": {"values": rows},
        "mark": {"type": "rule", "strokeWidth": 5, "strokeCap": "square", "clip": True},
        "encoding": {
            "x": axes.time("start"),
            "x2": {"field": "end"},
            "y": axes.load("load"),
            "color": colour,
        },
    }
    if not any(bar.stopped for bar in shown.bars):
        return [bars]
    legend = {"title": None, "orient": "bottom", "symbolFillColor": "white", "symbolStrokeColor": INK}
    stops = {
        "data": {"values": [row for row in rows if row["stopped"]]},
        "mark": {"type": "point", "stroke": INK, "strokeWidth": 1.2, "size": 55, "opacity": 1, "clip": True},
        "encoding": {
            "x": axes.time("end"),
            "y": axes.load("load"),
            "fill": colour | {"legend": None},
            "shape": {
                "field": "stopped",
                "type": "nominal",
                "scale": {"domain": [STOPPED], "range": ["diamond"]},
                "legend": legend | {"symbolStrokeWidth": 1.5, "symbolOpacity": 1, "symbolSize": 156},
            },
        },
    }
    return [bars, stops]


def _row(bar: Bar, result: RunResult) -> Spec:
    return {
        "trial": bar.trial,
        "start": bar.start,
        "end": bar.end,
        "load": bar.load,
        "outcome": _outcome(bar.met, result),
        "stopped": STOPPED if bar.stopped else None,
    }


def _outcome(met: tuple[str, ...] | None, result: RunResult) -> str:
    if met is None:
        return "trial did not count"
    if not met:
        return "trial meets none"
    only = "" if len(met) == len(result.plan.search.goals) else " only"
    return f"trial meets {' and '.join(met)}{only}"


def _outcomes(shown: Scene, result: RunResult) -> dict[str, str]:
    """What came of trials, best first, and its colour."""
    goal_count = len(result.plan.search.goals)
    seen = sorted({bar.met for bar in shown.bars if bar.met is not None}, key=len, reverse=True)
    some = iter(MEETS_SOME * goal_count)
    colours = {
        _outcome(met, result): MEETS_ALL if len(met) == goal_count else next(some) if met else MEETS_NONE
        for met in seen
    }
    if any(bar.met is None for bar in shown.bars):
        colours[_outcome(None, result)] = DID_NOT_COUNT
    return colours


def _bound_layers(shown: Scene, axes: Axes) -> Iterator[Spec]:
    """Per goal, what lies between its bounds as an area, and the bounds as lines."""
    for goal in sorted({edge.goal for edge in shown.edges}):
        colour, dash = GOAL_COLOURS[goal % len(GOAL_COLOURS)], DASHES[goal % len(DASHES)]
        edges = [edge for edge in shown.edges if edge.goal == goal]
        rows = [{"time": edge.time, "lower": edge.lower, "upper": edge.upper} for edge in edges]
        shape = {"interpolate": "step-after", "color": colour, "clip": True}
        yield {
            "data": {"values": [row for row in rows if row["lower"] and row["upper"]]},
            "mark": {"type": "area", "opacity": 0.14} | shape,
            "encoding": {"x": axes.time("time"), "y": axes.load("lower"), "y2": {"field": "upper"}},
        }
        for side in ("lower", "upper"):
            yield {
                "data": {"values": [row for row in rows if row[side]]},
                "mark": {"type": "line", "strokeWidth": 1.6, "strokeDash": dash} | shape,
                "encoding": {"x": axes.time("time"), "y": axes.load(side)},
            }


def _labels(shown: Scene, result: RunResult, axes: Axes) -> Spec:
    """Every goal with its figure, right of where its bounds ended, moved apart where they would overlap."""
    heights: dict[int, float] = {}
    for goal, found in enumerate(result.goals):
        bounds = [
            axes.below_top(bound.load_pps / shown.load_unit.size) for bound in (found.lower, found.upper) if bound
        ]
        if bounds:
            heights[goal] = sum(bounds) / len(bounds)
    rows = [
        {
            "y": height,
            "text": f"{goal_text(result.goals[goal].goal)}\n{found_text(result.goals[goal])}",
            "colour": GOAL_COLOURS[goal % len(GOAL_COLOURS)],
        }
        for goal, height in _apart(heights, axes.height).items()
    ]
    look = {"align": "left", "baseline": "middle", "fontSize": 13, "fontWeight": "bold", "lineBreak": "\n"}
    return {
        "data": {"values": rows},
        "mark": {"type": "text", "dy": -LABEL_HEIGHT / 4} | look,
        "encoding": {
            "x": {"value": WIDTH + 8},
            "y": {"field": "y", "type": "quantitative", "scale": None, "axis": None},
            "text": {"field": "text", "type": "nominal"},
            "color": {"field": "colour", "type": "nominal", "scale": None},
        },
    }


def _apart(heights: Mapping[int, float], panel_height: int) -> dict[int, float]:
    """Labels in the order they are in, each a label's height from the next, all within the panel if they fit."""
    placed: dict[int, float] = {}
    free = LABEL_HEIGHT / 2
    for goal, height in sorted(heights.items(), key=lambda item: item[1]):
        placed[goal] = max(height, free)
        free = placed[goal] + LABEL_HEIGHT
    free = panel_height - LABEL_HEIGHT / 2
    for goal in reversed(list(placed)):
        placed[goal] = min(placed[goal], free)
        free = placed[goal] - LABEL_HEIGHT
    return placed
