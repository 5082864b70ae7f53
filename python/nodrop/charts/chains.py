"""Rate, loss and latency of each service chain in one trial, by direction."""

from collections.abc import Sequence

from nodrop.charts import theme
from nodrop.charts.axis import AxisUnit, build_scale, pick_rate_unit, pick_time_unit
from nodrop.charts.base import Chart, Row, Spec
from nodrop.charts.tooltips import format_sut
from nodrop.errors import ConfigError
from nodrop.formatting import format_small_ratio
from nodrop.model.chain_counts import ChainCounts, count_by_chain
from nodrop.model.result import RunResult
from nodrop.model.trial import FIXED, TrialResult
from nodrop.units import format_count, format_ns, format_pps

RATE_HEIGHT, LOSS_HEIGHT, LATENCY_HEIGHT = 130, 90, 130
WIDTH_MIN, CHAIN_WIDTH = 300, 70
"""Minimum width of the chart and width per chain, in pixels."""
WAYS = ("forward", "reverse")
COLORS = {"forward": theme.FORWARD, "reverse": theme.REVERSE}


def build_chart(result: RunResult, trial: TrialResult | None = None) -> Chart:
    """Build the chart of a run's chains. Raises ConfigError without a trial.

    Args:
        result: the run.
        trial: one of its trials; None: the trial at the fixed rate, else a trial of its latency or bounds.
    """
    trial = trial or _select_trial(result)
    if trial is None:
        raise ConfigError(f"run {result.run_id}: no trial to draw chains of; name another result")
    counts = count_by_chain(result.plan.traffic, trial, (50.0, 99.0))
    rates = pick_rate_unit(max(_compute_received_pps(trial, each) for each in counts))
    latencies = [each.latency for each in counts if each.latency]
    times = pick_time_unit(max((latency.max_ns for latency in latencies), default=1.0))
    rows = [_build_row(trial, each, rates, times) for each in counts]
    load = format_pps(trial.trial.intended_load_pps)
    return Chart(
        name="chains",
        title=f"{format_sut(result)}: chains at {load}",
        subtitle=f"{_format_lossless(counts)}trial {trial.index}; run {result.run_id}",
        summary=_format_summary(counts),
        definition=_build_definition(rows, rates, times),
        data={"chains": tuple(rows)},
    )


def _select_trial(result: RunResult) -> TrialResult | None:
    fixed = [trial.index for trial in result.trials if trial.phase == FIXED]
    latencies = [each.trial_index for each in result.latencies]
    bounds = [goal_result.lower.trial_index for goal_result in result.goals if goal_result.lower]
    by_index = {trial.index: trial for trial in result.trials}
    return next((by_index[index] for index in [*fixed, *latencies, *bounds, *by_index] if index in by_index), None)


def _compute_received_pps(trial: TrialResult, counts: ChainCounts) -> float:
    return counts.received_count / trial.duration_s if trial.duration_s else 0.0


def _compute_loss_ratio(counts: ChainCounts) -> float:
    """Return the loss ratio of sent frames; unsent frames are attributed to the tester."""
    return counts.lost_count / counts.offered_count if counts.offered_count else 0.0


def _build_row(trial: TrialResult, counts: ChainCounts, rates: AxisUnit, times: AxisUnit) -> Row:
    latency = counts.latency
    percentiles_ns = latency.percentiles_ns if latency else {}
    direction = WAYS[0] if counts.is_forward else WAYS[1]
    parts = [
        f"Chain {counts.chain} {direction}: received {format_pps(_compute_received_pps(trial, counts))}",
        f"lost {format_count(counts.lost_count)} of {format_count(counts.offered_count)} sent "
        f"({format_small_ratio(_compute_loss_ratio(counts))})",
        f"median latency {format_ns(percentiles_ns[50.0])}" if 50.0 in percentiles_ns else "",
        f"99 % within {format_ns(percentiles_ns[99.0])}" if 99.0 in percentiles_ns else "",
    ]
    return {
        "chain": counts.chain,
        "way": direction,
        "rate": _compute_received_pps(trial, counts) / rates.size,
        "loss": _compute_loss_ratio(counts) * 100,
        "middle": percentiles_ns[50.0] / times.size if 50.0 in percentiles_ns else None,
        "high": percentiles_ns[99.0] / times.size if 99.0 in percentiles_ns else None,
        "says": ", ".join(part for part in parts if part),
    }


def _format_lossless(counts: Sequence[ChainCounts]) -> str:
    return "" if any(each.lost_count for each in counts) else "no frame lost; "


def _format_summary(counts: Sequence[ChainCounts]) -> str:
    chains = sorted({each.chain for each in counts})
    lossy = sorted({each.chain for each in counts if each.lost_count})
    worst = max(counts, key=_compute_loss_ratio)
    least, most = (pick(each.received_count for each in counts) for pick in (min, max))
    spread_text = f"frames received per chain and direction: {format_count(least)} to {format_count(most)}"
    count = f"{len(chains)} chains" if len(chains) > 1 else "One chain"
    if not lossy:
        return f"{count} without loss; {spread_text}."
    direction = WAYS[0] if worst.is_forward else WAYS[1]
    ratio = format_small_ratio(_compute_loss_ratio(worst))
    return (
        f"{count}, {len(lossy)} of them lost frames, chain {worst.chain} {direction} the most, {ratio}; {spread_text}."
    )


def _build_definition(rows: Sequence[Row], rates: AxisUnit, times: AxisUnit) -> Spec:
    has_latency = any(row["middle"] is not None for row in rows)
    has_loss = any(row["loss"] > 0 for row in rows)
    panels = [
        _build_bars(rows, "rate", f"received ({rates.name})", RATE_HEIGHT, not has_loss and not has_latency),
    ]
    if has_loss:
        panels.append(_build_bars(rows, "loss", "loss of sent (%)", LOSS_HEIGHT, not has_latency))
    if has_latency:
        panels.append(_build_latency_panel(rows, times))
    return {"data": {"name": "chains"}, "vconcat": panels, "spacing": 10}


def _build_position(rows: Sequence[Row], is_last: bool) -> Spec:
    chains = sorted({row["chain"] for row in rows})
    step = max(1, -(-len(chains) // 32))
    directions = [direction for direction in WAYS if any(row["way"] == direction for row in rows)]
    axis: Spec = {"title": "chain" if is_last else None, "labelAngle": 0, "values": chains[::step]}
    return {
        "x": {
            "field": "chain",
            "type": "ordinal",
            "scale": {"domain": chains, "paddingInner": 0.25, "paddingOuter": 0.1},
            "axis": axis | ({} if is_last else {"labels": False, "ticks": False}),
        },
        "xOffset": {"field": "way", "type": "nominal", "scale": {"domain": directions}},
        "color": {
            "field": "way",
            "type": "nominal",
            "scale": {"domain": directions, "range": [COLORS[direction] for direction in directions]},
            "legend": {"title": None, "orient": "top"},
        },
        "description": {"field": "says"},
        "tooltip": {"field": "says"},
    }


def _compute_width(rows: Sequence[Row]) -> int:
    chain_count = len({row["chain"] for row in rows})
    return min(theme.WIDTH, max(WIDTH_MIN, CHAIN_WIDTH * chain_count))


def _build_bars(rows: Sequence[Row], field: str, title: str, height: int, is_last: bool) -> Spec:
    most = max(row[field] for row in rows)
    y: Spec = {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [0, 1.1 * most or 1], "nice": False},
        "axis": {"title": title, "tickCount": 4},
    }
    return {
        "width": _compute_width(rows),
        "height": height,
        "mark": {"type": "bar"},
        "encoding": _build_position(rows, is_last) | {"y": y},
    }


def _build_latency_panel(rows: Sequence[Row], times: AxisUnit) -> Spec:
    """Build the latency panel: from the median to the 99th percentile."""
    figures = [row[field] for row in rows for field in ("middle", "high") if row[field] is not None]
    scale, axis = build_scale(figures)
    y: Spec = {
        "type": "quantitative",
        "scale": scale,
        "axis": axis | {"title": [f"latency ({times.name})", "median to 99 %"]},
    }
    place = _build_position(rows, True)
    has_latency = [{"filter": {"field": "middle", "valid": True}}, {"filter": {"field": "high", "valid": True}}]
    return {
        "width": _compute_width(rows),
        "height": LATENCY_HEIGHT,
        "transform": has_latency,
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2, "aria": False},
                "encoding": place | {"y": y | {"field": "middle"}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 22, "opacity": 1},
                "encoding": place | {"y": y | {"field": "middle"}},
            },
        ],
    }
