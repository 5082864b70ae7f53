"""The charts of RFC 2544: throughput by frame size, frame loss rate by load, and burst length by frame size."""

from collections.abc import Iterator

from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.errors import ConfigError
from nodrop.procedure.rfc2544_figures import Rfc2544Report
from nodrop.units import format_count, format_pps, format_ratio

MEASURED, THEORETICAL = "measured", "line rate"
MEGA, KILO = 1e6, 1e3
FRAME_SIZE_AXIS: Spec = {"title": "frame size (bytes)"}


def build_throughput_chart(report: Rfc2544Report) -> Chart:
    """Build the chart of section 26.1, with a line for the line rate. Raises ConfigError without a throughput."""
    if not report.throughputs:
        raise ConfigError("no throughput was found; the report has the reasons")
    is_fast = max(each.line_rate_pps for each in report.throughputs) >= MEGA
    scale, unit = (MEGA, "Mpps") if is_fast else (KILO, "kpps")
    rows = tuple(_iter_throughput_rows(report, scale))
    x: Spec = {"field": "frame_size", "type": "quantitative", "axis": FRAME_SIZE_AXIS, "scale": {"zero": False}}
    y: Spec = {"field": "rate", "type": "quantitative", "axis": {"title": f"rate ({unit})"}}
    color: Spec = {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": [MEASURED, THEORETICAL], "range": [theme.get_goal_color(0), theme.INK]},
        "legend": {"title": None},
    }
    says = " ".join(str(row["says"]) for row in rows if row["kind"] == MEASURED)
    return Chart(
        name="throughput",
        title="Throughput by frame size",
        note="over all directions",
        summary=says,
        definition=_build_lines("rates", x, y, color),
        data={"rates": rows},
    )


def _iter_throughput_rows(report: Rfc2544Report, scale: float) -> Iterator[Row]:
    for each in report.throughputs:
        for kind, rate_pps in ((THEORETICAL, each.line_rate_pps), (MEASURED, each.load_pps)):
            yield {
                "frame_size": each.frame_bytes,
                "rate": rate_pps / scale,
                "kind": kind,
                "says": f"{each.frame_bytes} bytes: {format_pps(rate_pps)} {kind}.",
            }


def build_loss_chart(report: Rfc2544Report) -> Chart:
    """Build the chart of section 26.3, both axes complete from 0 to 100 %. Raises ConfigError without a loss rate."""
    rows: tuple[Row, ...] = tuple(
        {
            "share": point.share_ratio * 100,
            "loss": point.loss_ratio * 100,
            "size": f"{each.frame_bytes} bytes",
            "says": f"{each.frame_bytes} bytes at {format_ratio(point.share_ratio)}: "
            f"{format_ratio(point.loss_ratio)} lost.",
        }
        for each in report.losses
        for point in each.points
    )
    if not rows:
        raise ConfigError("no frame loss rate was measured; the report has the reasons")
    complete: Spec = {"domain": [0, 100], "nice": False}
    x: Spec = {
        "field": "share",
        "type": "quantitative",
        "scale": complete,
        "axis": {"title": "offered load (% of the line rate)"},
    }
    y: Spec = {"field": "loss", "type": "quantitative", "scale": complete, "axis": {"title": "frames lost (%)"}}
    sizes = list(dict.fromkeys(str(row["size"]) for row in rows))
    colors = [theme.LINES[position % len(theme.LINES)] for position in range(len(sizes))]
    color: Spec = {
        "field": "size",
        "type": "nominal",
        "scale": {"domain": sizes, "range": colors},
        "legend": {"title": None},
    }
    return Chart(
        name="frame-loss-rate",
        title="Frame loss rate by load",
        note="lost frames as a share of those that left the tester",
        summary=" ".join(str(row["says"]) for row in rows),
        definition=_build_lines("losses", x, y, color),
        data={"losses": rows},
    )


def build_burst_chart(report: Rfc2544Report) -> Chart:
    """Build the chart of section 26.4. Raises ConfigError without a burst length."""
    rows: tuple[Row, ...] = tuple(
        {
            "frame_size": each.frame_bytes,
            "frames": each.mean_count,
            "lowest": min(each.frame_counts),
            "highest": max(each.frame_counts),
            "kind": "mean",
            "says": f"{each.frame_bytes} bytes: {each.mean_count:,.1f} frames, "
            f"{format_count(min(each.frame_counts))} to {format_count(max(each.frame_counts))}.",
        }
        for each in report.bursts
        if not each.is_limit
    )
    if not rows:
        raise ConfigError("no burst length was found; the report has the reasons")
    x: Spec = {"field": "frame_size", "type": "quantitative", "axis": FRAME_SIZE_AXIS, "scale": {"zero": False}}
    y: Spec = {"field": "frames", "type": "quantitative", "axis": {"title": "burst length (frames)"}}
    low: Spec = {"field": "lowest", "type": "quantitative", "axis": {"title": "burst length (frames)"}}
    spread = {"mark": {"type": "rule", "color": theme.INK}, "encoding": {"x": x, "y": low, "y2": {"field": "highest"}}}
    lines = _build_lines("bursts", x, y, {"value": theme.get_goal_color(0)})
    return Chart(
        name="back-to-back",
        title="Longest burst without loss by frame size",
        note="mean of the repeats, bars from the smallest to the largest; frames of each direction",
        summary=" ".join(str(row["says"]) for row in rows),
        definition={**lines, "layer": [spread, *lines["layer"]]},
        data={"bursts": rows},
    )


def _build_lines(data: str, x: Spec, y: Spec, color: Spec) -> Spec:
    """Return lines with a point for each value."""
    encoding: Spec = {
        "x": x,
        "y": y,
        "color": color,
        "description": {"field": "says"},
        "tooltip": {"field": "says"},
    }
    return {
        "data": {"name": data},
        "width": theme.WIDTH,
        "height": theme.HEIGHT,
        "layer": [
            {"mark": {"type": "line"}, "encoding": {"x": x, "y": y, "color": color}},
            {"mark": {"type": "point", "filled": True, "size": 45}, "encoding": encoding},
        ],
    }
