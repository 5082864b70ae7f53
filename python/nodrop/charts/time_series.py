"""Time series of trials: frames sent, received and lost per window."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from nodrop.charts import theme
from nodrop.charts.axis import LOG_SCALE_RATIO, AxisUnit, list_round_values, pick_rate_unit
from nodrop.charts.base import Row, Spec
from nodrop.model.trial import TrialResult, Windows
from nodrop.model.trial_event import TrialEvent
from nodrop.units import format_count, format_pps

WINDOW_COUNT_MAX = 240
"""Most windows of a trial; more are merged."""
LABEL_CHARACTER_WIDTH = 6
"""Width of a character of a label, in pixels."""
LABEL_WIDTH_MAX = 180
"""Width in pixels above which the name of an event is cut; its tooltip has the whole name."""

COUNTS = {"sent": "offered", "received": "received"}
"""Counts of a span, by display name."""


class TrialSpan(NamedTuple):
    """An interval of a trial, over all streams."""

    start_s: float
    end_s: float
    offered_count: int
    received_count: int
    lost_count: int
    is_wait: bool = False
    """Whether the interval is the wait for frames in flight after the end of sending."""

    @property
    def length_s(self) -> float:
        """Length in seconds."""
        return max(self.end_s - self.start_s, 1e-9)


def build_spans(trial: TrialResult) -> list[TrialSpan]:
    """Return the windows of a trial over all streams, with neighbors merged where there are many.

    Without recorded loss times, the loss of a window is the number sent minus the number received in it.
    The wait for frames in flight is drawn no longer than a window, so that the missing frames are not exaggerated.
    """
    windows = trial.windows
    starts_s = (0.0, *windows.end_s[:-1])
    sent, received = _sum_streams(windows.offered_count), _sum_streams(windows.received_count)
    lost = (
        _sum_streams(windows.lost_count) if windows.lost_count else [a - b for a, b in zip(sent, received, strict=True)]
    )
    spans = [TrialSpan(*values) for values in zip(starts_s, windows.end_s, sent, received, lost, strict=True)]
    size = -(-len(spans) // WINDOW_COUNT_MAX) or 1
    usual_s = median(span.length_s for span in spans)
    sending = [span for span in spans if span.end_s <= trial.duration_s + 0.5 * usual_s] or spans[:1]
    waits = [
        span._replace(end_s=min(span.end_s, span.start_s + usual_s), is_wait=True) for span in spans[len(sending) :]
    ]
    return [*(_join_spans(sending[first : first + size]) for first in range(0, len(sending), size)), *waits]


def _sum_streams(series: Sequence[Sequence[int]]) -> list[int]:
    return [sum(counts) for counts in zip(*series, strict=True)]


def _join_spans(parts: Sequence[TrialSpan]) -> TrialSpan:
    return TrialSpan(
        parts[0].start_s,
        parts[-1].end_s,
        sum(part.offered_count for part in parts),
        sum(part.received_count for part in parts),
        sum(part.lost_count for part in parts),
    )


def has_loss_times(windows: Windows) -> bool:
    """Return whether the windows record the time of loss."""
    return bool(windows.lost_count)


def pick_unit(spans_by_trial: Sequence[Sequence[TrialSpan]]) -> AxisUnit:
    """Return the unit for the rates of all series."""
    return pick_rate_unit(
        max((span.offered_count / span.length_s for spans in spans_by_trial for span in spans), default=1.0)
    )


def build_rate_rows(trial: TrialResult, spans: Sequence[TrialSpan], unit: AxisUnit) -> list[Row]:
    """Build rows of the rates sent and received per window, without the wait for frames in flight."""
    sending = [span for span in spans if not span.is_wait]
    rows = []
    for kind, count in COUNTS.items():
        rates = [getattr(span, f"{count}_count") / span.length_s / unit.size for span in sending]
        times = [span.start_s for span in sending]
        points = zip([*times, sending[-1].end_s], [*rates, rates[-1]], strict=True)
        rows += [{"trial": trial.index, "time": time, "what": kind, "rate": rate} for time, rate in points]
    return rows


def build_lost_rows(trial: TrialResult, spans: Sequence[TrialSpan], unit: AxisUnit) -> list[Row]:
    """Build a row for every window with loss."""
    return [
        {
            "trial": trial.index,
            "start": span.start_s,
            "end": span.end_s,
            "lost": span.lost_count,
            "rate": span.lost_count / span.length_s / unit.size,
            "zero": 0,
            "late": span.is_wait,
            "says": _describe_loss(span),
        }
        for span in spans
        if span.lost_count > 0
    ]


def _describe_loss(span: TrialSpan) -> str:
    lost_count_text = format_count(span.lost_count)
    if span.is_wait:
        return f"Missing after sending and the wait for frames in flight: {lost_count_text}"
    sent_text = f"{format_count(span.offered_count)} sent at {format_pps(span.offered_count / span.length_s)}"
    return f"{span.start_s:.3g} to {span.end_s:.3g} s: {lost_count_text} lost of {sent_text}"


def build_lossless_rows(trial: TrialResult, spans: Sequence[TrialSpan]) -> list[Row]:
    """Build one row for a trial without loss."""
    return [] if any(span.lost_count > 0 for span in spans) else [{"trial": trial.index}]


def build_event_rows(trial: TrialResult, until_s: float) -> list[Row]:
    """Build a row for every event of a trial; the names of two that are close are on the outer sides of their lines."""
    events = sorted(trial.events, key=lambda event: event.begin_s)
    aligns = ["center"] * len(events)
    for position, (event, following) in enumerate(pairwise(events)):
        distance = (following.begin_s - event.begin_s) / until_s * theme.WIDTH
        if distance < (_estimate_label_width(event) + _estimate_label_width(following)) / 2 + LABEL_CHARACTER_WIDTH:
            aligns[position] = "right" if aligns[position] == "center" else aligns[position]
            aligns[position + 1] = "left"
    return [
        {"time": event.begin_s, "name": event.name, "align": align} for event, align in zip(events, aligns, strict=True)
    ]


def _estimate_label_width(event: TrialEvent) -> float:
    return min(len(event.name) * LABEL_CHARACTER_WIDTH, LABEL_WIDTH_MAX)


def mark_events(panel: Spec, until_s: float, *, has_labels: bool) -> Spec:
    """Return a panel of a single trial with a vertical line at the time of each event, and its name if requested."""
    size = {key: panel[key] for key in ("width", "height")}
    content = {key: value for key, value in panel.items() if key not in size}
    layers = content.get("layer", [content])
    time = encode_time(until_s, "time", None) | {"axis": layers[0]["encoding"]["x"]["axis"]}
    line = {
        "mark": {"type": "rule", "color": theme.INK, "strokeDash": [2, 2], "aria": False},
        "encoding": {"x": time, "tooltip": {"field": "name"}},
    }
    label = {
        "mark": {
            "type": "text",
            "color": theme.INK,
            "align": {"expr": "datum.align"},
            "baseline": "bottom",
            "limit": LABEL_WIDTH_MAX,
            "y": -3,
        },
        "encoding": {"x": time, "text": {"field": "name"}},
    }
    rules = [line, label] if has_labels else [line]
    return size | {"layer": [*layers, *({"data": {"name": "events"}} | rule for rule in rules)]}


def format_worst_loss(spans: Sequence[TrialSpan]) -> str:
    """Format the time of the largest loss; empty without loss."""
    total = sum(span.lost_count for span in spans)
    worst = max(spans, key=lambda span: span.lost_count, default=None)
    if worst is None or total <= 0:
        return ""
    losing = [span for span in spans if span.lost_count > 0]
    if len(losing) == 1:
        return f"all of them {_format_time_of_loss(worst)}"
    runs = 1 + sum(later.start_s > earlier.end_s + 1e-9 for earlier, later in pairwise(losing))
    distribution = (
        f"in {len(losing)} of {len(spans)} windows, {runs} times" if runs > 1 else f"in {len(losing)} windows"
    )
    return f"{distribution}; most, {format_count(worst.lost_count)}, {_format_time_of_loss(worst)}"


def _format_time_of_loss(span: TrialSpan) -> str:
    return "missing at the end" if span.is_wait else f"within {span.start_s:.3g} to {span.end_s:.3g} s"


def find_rate_max(spans_by_trial: Sequence[Sequence[TrialSpan]], unit: AxisUnit) -> float:
    """Return the highest rate sent or received in any window."""
    rates = [
        getattr(span, f"{count}_count") / span.length_s
        for spans in spans_by_trial
        for span in spans
        for count in COUNTS.values()
        if not span.is_wait
    ]
    return max(rates, default=unit.size) / unit.size


def build_rate_panel(
    trial: int | None, unit: AxisUnit, until_s: float, size: tuple[int, int], rate_max: float | None = None
) -> Spec:
    """Build the panel of the rates sent and received over time.

    Args:
        trial: index of the trial; None: the only one.
        unit: the unit of the rates.
        until_s: the end of the time axis.
        size: width and height in pixels.
        rate_max: the end of an axis that several panels share; None: by the rates of the panel.
    """
    color = {
        "field": "what",
        "type": "nominal",
        "scale": {"domain": ["sent", "received"], "range": [theme.SENT, theme.RECEIVED]},
        "legend": {"title": None, "orient": "top", "symbolType": "stroke", "symbolSize": 400},
    }
    dash = {"field": "what", "type": "nominal", "scale": {"domain": ["sent", "received"], "range": [[5, 3], [1, 0]]}}
    return {
        "width": size[0],
        "height": size[1],
        "data": {"name": "rates"},
        "transform": _filter_by_trial(trial),
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5, "aria": False},
        "encoding": {
            "x": encode_time(until_s, "time", None),
            "y": {
                "field": "rate",
                "type": "quantitative",
                "scale": {"zero": True} if rate_max is None else {"domain": [0, rate_max], "nice": True},
                "axis": {"title": f"rate ({unit.name})", "tickCount": 4},
            },
            "color": color,
            "strokeDash": dash,
        },
    }


def build_lost_scale(spans_by_trial: Sequence[Sequence[TrialSpan]], unit: AxisUnit) -> tuple[Spec, Spec]:
    """Build scale and axis of the rate of loss for all panels; linear, or symlog where rates differ widely."""
    lost = [span.lost_count / span.length_s / unit.size for spans in spans_by_trial for span in spans]
    above = [rate for rate in lost if rate > 0]
    axis: Spec = {"title": f"lost ({unit.name})"}
    if not above:
        return {"domain": [0, 1]}, axis | {"labels": False, "ticks": False, "grid": False}
    low, high = min(above), max(above)
    if high <= LOG_SCALE_RATIO * low:
        return {"domain": [0, high], "nice": True}, axis | {"tickCount": 3}
    decades = [value for value in list_round_values(low, high) if f"{value:e}".startswith("1")]
    scale: Spec = {"type": "symlog", "constant": low, "domain": [0, high], "nice": False}
    return scale, axis | {"values": [0, *decades], "format": "~g"}


def build_lost_panel(
    trial: int | None, scale_and_axis: tuple[Spec, Spec], until_s: float, width: int, height: int
) -> Spec:
    """Build the panel of the rate of loss over time; `trial` None: the only trial."""
    scale, axis = scale_and_axis
    bars = {
        "mark": {"type": "rect", "color": theme.LOST, "stroke": theme.LOST, "strokeWidth": 0.6},
        "encoding": {
            "x": encode_time(until_s, "start", "time since the trial began (s)"),
            "x2": {"field": "end"},
            "y": {
                "field": "rate",
                "type": "quantitative",
                "scale": scale,
                "axis": axis,
            },
            "y2": {"field": "zero"},
            "opacity": {"condition": {"test": {"field": "late", "equal": True}, "value": 0.4}, "value": 1},
            "description": {"field": "says"},
            "tooltip": {"field": "says"},
        },
    }
    lossless = {
        "data": {"name": "lossless"},
        "transform": _filter_by_trial(trial),
        "mark": {"type": "text", "color": theme.MUTED, "text": "no frame lost", "x": width / 2, "y": height / 2},
    }
    losses: Spec = {"data": {"name": "lost"}, "transform": _filter_by_trial(trial)}
    return {"width": width, "height": height, "layer": [losses | bars, lossless]}


def _filter_by_trial(trial: int | None) -> list[Spec]:
    return [] if trial is None else [{"filter": {"field": "trial", "equal": trial}}]


def encode_time(until_s: float, field: str, title: str | None) -> Spec:
    """Return the encoding of a time axis up to `until_s`; without title, its panel is above another one."""
    axis: Spec = {"title": title, "grid": False, "labelFlush": False}
    if title is None:
        axis |= {"labels": False, "ticks": False}
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [0, until_s], "nice": False},
        "axis": axis,
    }
