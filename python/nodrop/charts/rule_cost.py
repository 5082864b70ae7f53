"""The cost of each placement rule: every run as a dot, the cost with its interval, highest cost first."""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.analysis.rule_costs import (
    BOUND_SIGNS,
    CostBound,
    RuleCost,
    RuleCostTable,
    RuleOutcome,
    format_costliest_rule,
)
from nodrop.analysis.text import format_percent, format_signed_effect
from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.units import format_pps

ROW_HEIGHT = 44
NOTE_ROW_HEIGHT = 22
OUTCOME_COLORS = {
    RuleOutcome.COSTS: theme.FAILS,
    RuleOutcome.NO_LOAD: theme.FAILS,
    RuleOutcome.GAINS: theme.RECEIVED,
    RuleOutcome.NOTHING: theme.MEETS,
    RuleOutcome.NOT_SHOWN: theme.MUTED,
    RuleOutcome.LIMITED: theme.MUTED,
    RuleOutcome.NOT_MEASURED: theme.MUTED,
}
BASELINE_TEXT = "all rules kept"
MARGIN_RATIO = 0.04
TEXT_SHARE = 0.34
"""Space for texts to the right, as a share of the axis."""
LABEL_LIMIT = 300
EFFECT_MIN = -100.0
DOTS_OFFSET, BAR_OFFSET = 0.32, 0.68
"""Vertical positions within a row, from the top."""


def build_chart(table: RuleCostTable) -> Chart:
    """Build the chart: a row for the placement that keeps all rules, and a row for each broken rule."""
    costs = [cost for cost in table.prices if cost.outcome is not RuleOutcome.NOT_MEASURED]
    axis = _Axis.of(table, costs)
    return Chart(
        name="price",
        title=format_costliest_rule(table),
        subtitle="\n".join(_iter_subtitle_lines(table)),
        note=f"Dots are runs, bars the difference at {table.confidence * 100:g} % confidence, "
        f"the line is {table.text} with all rules kept",
        summary=_format_summary(table, costs),
        definition=_build_panel(costs, axis)
        if not table.impossible
        else {"vconcat": [_build_panel(costs, axis), _build_impossible_panel(table)]},
        data={
            "runs": tuple(_iter_run_rows(table, costs)),
            "costs": tuple(_build_cost_row(cost, row, axis) for row, cost in enumerate(costs, 1)),
            "impossible": tuple(
                {"rule": rule.text, "why": rule.why_not, "at": row + 0.5} for row, rule in enumerate(table.impossible)
            ),
        },
    )


class _Axis(NamedTuple):
    """The horizontal scale, in percent relative to the placement that keeps all rules."""

    least: float
    most: float

    @classmethod
    def of(cls, table: RuleCostTable, costs: Sequence[RuleCost]) -> "_Axis":
        points = [row["beside"] for row in _iter_run_rows(table, costs)]
        ends = [end * 100 for cost in costs if cost.metric for end in (cost.metric.low, cost.metric.high)]
        lows = [0.0, *points, *(max(end, EFFECT_MIN) for end in ends)]
        if any(cost.outcome is RuleOutcome.NO_LOAD for cost in costs):
            lows.append(EFFECT_MIN)
        dots = [0.0, *points]
        # Clip intervals that are far wider than the range of the runs.
        most = min(max(*dots, *ends, 0.0), max(dots) + 0.5 * (max(dots) - min(lows)) + 1)
        margin = (most - min(lows)) * MARGIN_RATIO + 0.5
        return cls(min(lows) - margin, most + margin)

    @property
    def end(self) -> float:
        """The end of the axis, including the space for texts."""
        return self.most + (self.most - self.least) * TEXT_SHARE

    def ticks(self) -> list[float]:
        """Return about six round values."""
        step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if (self.most - self.least) / step <= 8)
        first, last = int(self.least // step) + 1, int(self.most // step)
        return [float(number * step) for number in range(first, last + 1)]


def _iter_subtitle_lines(table: RuleCostTable) -> Iterator[str]:
    vm = f"{table.pricing.vm}: " if table.pricing.vm else ""
    yield f"{vm}{table.pricing.baseline}"
    if table.baseline:
        least = "at least " if table.baseline.at_least else ""
        yield f"{BASELINE_TEXT}: {table.text} {least}{format_pps(table.baseline.mean)}"


def _format_summary(table: RuleCostTable, costs: Sequence[RuleCost]) -> str:
    outcomes = "; ".join(f"{cost.rule.text}: {_format_outcome(cost)}" for cost in costs)
    cannot = ", ".join(rule.text for rule in table.impossible)
    return f"Cost of each rule in {table.text}. {outcomes or 'Nothing was measured'}." + (
        f" Cannot be broken on this host: {cannot}." if cannot else ""
    )


def _iter_run_rows(table: RuleCostTable, costs: Sequence[RuleCost]) -> Iterator[Row]:
    if table.baseline is None:
        return
    series = [(BASELINE_TEXT, table.baseline), *((cost.rule.text, cost.metric.b) for cost in costs if cost.metric)]
    rows = {cost.rule.text: row for row, cost in enumerate(costs, 1)}
    for text, each in series:
        for point in each.points:
            least = "at least " if point.at_least else ""
            yield {
                "rule": text,
                "at": rows.get(text, 0) + (0.5 if text == BASELINE_TEXT else DOTS_OFFSET),
                "beside": (point.value / table.baseline.mean - 1) * 100,
                "kind": BASELINE_TEXT if text == BASELINE_TEXT else "rule broken",
                "text": f"{text}, run {point.run_id}: {least}{format_pps(point.value)}",
            }


def _build_cost_row(cost: RuleCost, row: int, axis: _Axis) -> Row:
    metric = cost.metric
    effect = metric.effect * 100 if metric else EFFECT_MIN
    return {
        "rule": cost.rule.text,
        "at": row + BAR_OFFSET,
        "middle": row + 0.5,
        "effect": effect,
        "low": max(metric.low * 100, axis.least) if metric else EFFECT_MIN,
        "high": min(metric.high * 100, axis.most) if metric else EFFECT_MIN,
        "said": cost.outcome.value,
        "words": _format_outcome(cost),
        "text": f"{cost.rule.text}: {_format_outcome(cost)}; {cost.rule.how}",
    }


def _format_outcome(cost: RuleCost) -> str:
    if cost.outcome is RuleOutcome.NO_LOAD or cost.cost is None:
        return cost.outcome.value
    if cost.bound is CostBound.NEITHER or cost.outcome in (RuleOutcome.NOTHING, RuleOutcome.NOT_SHOWN):
        return cost.outcome.value
    if cost.outcome is RuleOutcome.LIMITED:
        return f"{BOUND_SIGNS[cost.bound]}{_format_share(cost.cost)}, {cost.outcome.value}"
    if cost.outcome is RuleOutcome.GAINS:
        return f"gains {format_percent(-cost.cost)}"
    return f"costs {BOUND_SIGNS.get(cost.bound, '')}{_format_share(cost.cost)}"


def _format_share(cost: float) -> str:
    return format_signed_effect(cost, "pps").removeprefix("+")


def _build_panel(costs: Sequence[RuleCost], axis: _Axis) -> Spec:
    x: Spec = {
        "type": "quantitative",
        "title": "rate relative to all rules kept (%)",
        "scale": {"domain": [axis.least, axis.end], "nice": False, "zero": False},
        "axis": {"values": axis.ticks(), "labelExpr": "datum.value ? format(datum.value, '+~r') : '0'"},
    }
    y = _build_row_axis([BASELINE_TEXT, *(cost.rule.text for cost in costs)])
    color: Spec = {
        "field": "said",
        "type": "nominal",
        "scale": {"domain": [each.value for each in OUTCOME_COLORS], "range": list(OUTCOME_COLORS.values())},
        "legend": None,
    }
    return {
        "width": theme.WIDTH,
        "height": ROW_HEIGHT * (len(costs) + 1),
        "layer": [
            {
                "data": {"name": "costs"},
                "mark": {"type": "rule", "color": theme.MUTED, "strokeDash": [4, 3], "aria": False},
                "encoding": {"x": x | {"datum": 0}},
            },
            {
                "data": {"name": "runs"},
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.8, "color": theme.MEETS},
                "encoding": {
                    "x": x | {"field": "beside"},
                    "y": y | {"field": "at"},
                    "description": {"field": "text"},
                    "tooltip": {"field": "text"},
                },
            },
            {
                "data": {"name": "costs"},
                "mark": {"type": "rule", "strokeWidth": 3, "clip": True},
                "encoding": {
                    "x": x | {"field": "low"},
                    "x2": {"field": "high"},
                    "y": y | {"field": "at"},
                    "color": color,
                    "description": {"field": "text"},
                },
            },
            {
                "data": {"name": "costs"},
                "mark": {"type": "tick", "thickness": 3, "size": 14, "color": theme.INK, "opacity": 1},
                "encoding": {"x": x | {"field": "effect"}, "y": y | {"field": "at"}, "tooltip": {"field": "text"}},
            },
            {
                "data": {"name": "costs"},
                "mark": {
                    "type": "text",
                    "align": "right",
                    "dx": -8,
                    "fontWeight": "bold",
                    "fontSize": theme.LABEL_SIZE,
                },
                "encoding": {
                    "x": x | {"datum": axis.end},
                    "y": y | {"field": "middle"},
                    "text": {"field": "words"},
                    "color": color,
                },
            },
        ],
    }


def _build_impossible_panel(table: RuleCostTable) -> Spec:
    """Build the panel of rules that this host cannot break, with the reasons."""
    return {
        "title": {"text": "Cannot be broken on this host", "fontSize": theme.LABEL_SIZE, "anchor": "start"},
        "width": theme.WIDTH,
        "height": NOTE_ROW_HEIGHT * len(table.impossible),
        "data": {"name": "impossible"},
        "mark": {"type": "text", "align": "left", "x": 8, "color": theme.MUTED},
        "encoding": {
            "y": _build_row_axis([rule.text for rule in table.impossible]) | {"field": "at"},
            "text": {"field": "why"},
        },
    }


def _build_row_axis(texts: Sequence[str]) -> Spec:
    return {
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [len(texts), 0], "nice": False, "zero": False},
        "axis": {
            "values": [row + 0.5 for row in range(len(texts))],
            "labelExpr": f"{json.dumps(list(texts), ensure_ascii=False)}[floor(datum.value)]",
            "labelLimit": LABEL_LIMIT,
            "labelPadding": 10,
            "domain": False,
            "ticks": False,
            "grid": False,
        },
    }
