"""Loss over time within trials, with the rates sent and received, and the causes."""

from collections.abc import Sequence

from nodrop.charts import theme, time_series
from nodrop.charts.axis import AxisUnit
from nodrop.charts.base import Chart, Row, Spec
from nodrop.charts.latency_over_time import build_latency_panel, build_latency_rows
from nodrop.charts.tooltips import format_loss, format_lost_frames, format_outcome, format_sut, list_met_goals
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.model.trial import FIXED, TrialResult
from nodrop.units import format_count, format_pps

TRIAL_COUNT = 6
"""Number of trials that are selected by default."""
WIDE_HEIGHTS, SMALL_HEIGHTS = (170, 130), (80, 70)
LATENCY_HEIGHT = 110
SMALL_WIDTHS = {2: 440, 3: 270}
"""Widths of panels by their number in a row."""


def build_chart(result: RunResult, *trials: TrialResult) -> Chart:
    """Build the chart of trials of a run, one panel each. Raises ConfigError where nothing was sent.

    Args:
        result: the run.
        trials: trials of the run; none: those that decided its goals, and those with loss.
    """
    drawable = [trial for trial in (trials or select_trials(result)) if trial.windows.end_s]
    if not drawable:
        raise ConfigError(f"run {result.run_id}: no trial has windows to draw loss of; name another result")
    spans_by_trial = [time_series.build_spans(trial) for trial in drawable]
    unit = time_series.pick_unit(spans_by_trial)
    trials_with_spans = list(zip(drawable, spans_by_trial, strict=True))
    texts = [_describe_trial(result, trial, spans) for trial, spans in trials_with_spans]
    lone = len(drawable) == 1
    events = time_series.build_event_rows(drawable[0], spans_by_trial[0][-1].end_s) if lone else []
    latencies = build_latency_rows(drawable[0]) if lone else []
    return Chart(
        name="loss",
        title=f"{format_sut(result)}: {_format_title(drawable)}",
        subtitle=f"run {result.run_id}",
        note=_format_note(drawable),
        summary=" ".join(texts),
        definition=_build_single_definition(spans_by_trial[0], unit, latencies, has_events=bool(events))
        if lone
        else _build_grid_definition(result, drawable, spans_by_trial, unit),
        data={
            "rates": tuple(row for each in trials_with_spans for row in time_series.build_rate_rows(*each, unit)),
            "lost": tuple(row for each in trials_with_spans for row in time_series.build_lost_rows(*each, unit)),
            "lossless": tuple(row for each in trials_with_spans for row in time_series.build_lossless_rows(*each)),
        }
        | ({"events": tuple(events)} if events else {})
        | ({"latencies": tuple(latencies)} if latencies else {}),
    )


def select_trials(result: RunResult) -> list[TrialResult]:
    """Select the trials behind the bounds, then those with the least loss above zero; in trial order."""
    bounds = [
        bound.trial_index for goal_result in result.goals for bound in (goal_result.upper, goal_result.lower) if bound
    ]
    losing = sorted((trial for trial in result.trials if trial.lost_count), key=lambda trial: trial.loss_ratio)
    fixed = [trial.index for trial in result.trials if trial.phase == FIXED]
    selected = list(dict.fromkeys([*fixed, *bounds, *(trial.index for trial in losing)]))[:TRIAL_COUNT]
    by_index = {trial.index: trial for trial in result.trials}
    return [by_index[index] for index in sorted(selected)]


def format_causes(trial: TrialResult) -> str:
    """Format the main causes of loss from the ledger; empty without a ledger."""
    if not trial.ledger:
        return ""
    counts: dict[str, int] = {}
    for direction in trial.ledger.ways:
        for hop in direction.hops:
            for cause in hop.causes:
                counts[cause.text] = counts.get(cause.text, 0) + cause.count
            if hop.unattributed_count > 0:
                counts["cause unknown"] = counts.get("cause unknown", 0) + hop.unattributed_count
    most = sorted(counts.items(), key=lambda item: -item[1])[:2]
    return "; ".join(f"{format_count(count)}: {text}" for text, count in most)


def _format_title(trials: Sequence[TrialResult]) -> str:
    if len(trials) > 1:
        return f"frames lost over time in {len(trials)} trials"
    return f"{format_pps(trials[0].offered_load_pps)} sent, {format_lost_frames(trials[0])}"


def _format_note(trials: Sequence[TrialResult]) -> str:
    unsent = f"{format_count(trials[0].unsent_count)} more could not be sent; " if trials[0].unsent_count else ""
    alone = unsent if len(trials) == 1 else ""
    if all(time_series.has_loss_times(trial.windows) for trial in trials):
        return f"{alone}lost: overtaken by a later frame, or (pale) missing at the end"
    return f"{alone}lost: sent and not received in the same window"


def _describe_trial(result: RunResult, trial: TrialResult, spans: Sequence[time_series.TrialSpan]) -> str:
    time_of_loss = time_series.format_worst_loss(spans)
    causes = format_causes(trial)
    parts = [
        f"Trial {trial.index} at {format_pps(trial.trial.intended_load_pps)} {format_loss(trial)}",
        time_of_loss if trial.lost_count else "",
        causes,
        format_outcome(result, list_met_goals(result, trial)) if trial.phase == "search" else "",
    ]
    return "; ".join(part for part in parts if part) + "."


def _build_single_definition(
    spans: Sequence[time_series.TrialSpan], unit: AxisUnit, latencies: Sequence[Row], *, has_events: bool
) -> Spec:
    until_s = spans[-1].end_s
    rates = time_series.build_rate_panel(None, unit, until_s, (theme.WIDTH, WIDE_HEIGHTS[0]))
    scale = time_series.build_lost_scale([spans], unit)
    lost = time_series.build_lost_panel(None, scale, until_s, theme.WIDTH, WIDE_HEIGHTS[1])
    below = [lost]
    if latencies:
        below.insert(0, build_latency_panel(latencies, until_s, (theme.WIDTH, LATENCY_HEIGHT)))
    if has_events:
        rates = time_series.mark_events(rates, until_s, has_labels=True)
        below = [time_series.mark_events(panel, until_s, has_labels=False) for panel in below]
    # Each panel has a legend of its own.
    scales = {"color": "independent", "strokeDash": "independent"}
    return {"vconcat": [rates, *below], "spacing": 8, "resolve": {"scale": scales}}


def _build_grid_definition(
    result: RunResult,
    trials: Sequence[TrialResult],
    spans_by_trial: Sequence[Sequence[time_series.TrialSpan]],
    unit: AxisUnit,
) -> Spec:
    panels = []
    columns = 2 if len(trials) in (2, 4) else 3
    width, lost_scale = SMALL_WIDTHS[columns], time_series.build_lost_scale(spans_by_trial, unit)
    rate_max = time_series.find_rate_max(spans_by_trial, unit)
    for trial, spans in zip(trials, spans_by_trial, strict=True):
        until_s = spans[-1].end_s
        heading = {
            "text": f"Trial {trial.index}: {format_pps(trial.trial.intended_load_pps)}",
            "subtitle": [
                format_loss(trial),
                format_causes(trial) or format_outcome(result, list_met_goals(result, trial)),
            ],
            "fontSize": theme.FONT_SIZE,
            "offset": 4,
        }
        panels.append(
            {
                "title": heading,
                "vconcat": [
                    time_series.build_rate_panel(trial.index, unit, until_s, (width, SMALL_HEIGHTS[0]), rate_max),
                    time_series.build_lost_panel(trial.index, lost_scale, until_s, width, SMALL_HEIGHTS[1]),
                ],
                "spacing": 4,
            }
        )
    return {"concat": panels, "columns": columns, "spacing": {"row": 22, "column": 30}}
