"""Latency of several series: merged histograms and their percentiles."""

import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.result import RunResult
from nodrop.model.trial import DirectionTimes, LatencySummary, TrialResult

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

LOWEST_NS, HIGHEST_NS, DIGITS = 1, 60_000_000_000, 3
"""Range of the engine's histograms."""
CURVE_BEHIND_COUNT = 10
"""Least number of frames above a percentile; fewer frames characterize themselves more than the SUT."""
CURVE_STEPS_PER_DECADE = 24
CURVE_CORNERS = (50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)
"""Percentiles that every curve includes."""


class LatencyFigures(Value):
    """Latency of the frames of one or several series."""

    count: int
    """Frames measured."""
    every: int
    """Every n-th frame was measured."""
    min_ns: int
    mean_ns: float
    max_ns: int
    percentiles_ns: dict[float, int] = Field(default_factory=dict)
    """By percentile, in the requested order, without those that require a missing histogram."""


def compute_trial_percentiles(
    run: RunResult, trial: TrialResult, requested: Sequence[float] | None = None
) -> dict[float, int]:
    """Return latency percentiles over all frames of a trial, in nanoseconds, without unknown ones.

    Args:
        run: the run of the trial.
        trial: one of its trials.
        requested: percentiles, 0 to 100; None: those of the run's plan.
    """
    figures = compute_trial_latency(trial, run.plan.percentiles if requested is None else requested)
    return figures.percentiles_ns if figures else {}


def compute_trial_latency(trial: TrialResult, requested: Sequence[float]) -> LatencyFigures | None:
    """Return the latency over all directions and chains of a trial; None if none was measured."""
    return merge_latency(trial.directions, requested)


def compute_latency_by_direction(
    trial: TrialResult, requested: Sequence[float]
) -> dict[tuple[int, int], LatencyFigures | None]:
    """Return the latency by sending and receiving port, over all chains between them."""
    ways: dict[tuple[int, int], list[DirectionTimes]] = {}
    for times in trial.directions:
        ways.setdefault((times.tx_port, times.rx_port), []).append(times)
    return {way: merge_latency(each, requested) for way, each in ways.items()}


def merge_latency(series: Iterable[DirectionTimes], requested: Sequence[float]) -> LatencyFigures | None:
    """Return the latency over all frames of these series; None if none was measured."""
    measured = [(times.latency_every, times.latency) for times in series if times.latency]
    if not measured:
        return None
    summaries = [latency for _, latency in measured]
    count = sum(latency.count for latency in summaries)
    return LatencyFigures(
        count=count,
        every=max(every for every, _ in measured),
        min_ns=min(latency.min_ns for latency in summaries),
        mean_ns=sum(latency.mean_ns * latency.count for latency in summaries) / count,
        max_ns=max(latency.max_ns for latency in summaries),
        percentiles_ns=_compute_percentiles_ns(summaries, requested),
    )


def compute_latency_curve(
    series: Iterable[DirectionTimes], behind_count: int = CURVE_BEHIND_COUNT
) -> tuple[tuple[float, int], ...]:
    """Return the latency over all frames of these series by percentile, dense enough to draw a curve.

    Args:
        series: the series to merge.
        behind_count: the curve ends where fewer measured frames than this were slower.

    Returns: pairs of percentile, 0 to less than 100, and latency in nanoseconds; empty if histograms are missing or too
    small.
    """
    summaries = [times.latency for times in series if times.latency]
    encoded = [latency.hdr for latency in summaries if latency.hdr]
    count = sum(latency.count for latency in summaries)
    if not encoded or len(encoded) < len(summaries) or count < 2 * behind_count:
        return ()
    last = 100.0 * (1.0 - behind_count / count)
    steps = range(math.ceil(math.log10(count / behind_count) * CURVE_STEPS_PER_DECADE))
    between = {100.0 * (1.0 - 10.0 ** (-step / CURVE_STEPS_PER_DECADE)) for step in steps}
    corners = {percentile for percentile in CURVE_CORNERS if percentile < last}
    values = _merge_histograms(encoded).get_percentile_to_value_dict([*between, *corners, last])
    return tuple((percentile, int(values[percentile])) for percentile in sorted(values))


def _compute_percentiles_ns(summaries: Sequence[LatencySummary], requested: Sequence[float]) -> dict[float, int]:
    values = _merge_percentiles(summaries)
    if not set(requested) - set(values):
        return {percentile: values[percentile] for percentile in requested}
    encoded = [latency.hdr for latency in summaries if latency.hdr]
    if len(encoded) < len(summaries):
        return {percentile: values[percentile] for percentile in requested if percentile in values}
    histogram = _merge_histograms(encoded)
    return {
        percentile: values.get(percentile, int(histogram.get_value_at_percentile(percentile)))
        for percentile in requested
    }


def _merge_percentiles(summaries: Collection[LatencySummary]) -> dict[float, int]:
    """Return the values known without a histogram: the extremes of several series, or the summary of one."""
    ends = {0.0: min(each.min_ns for each in summaries), 100.0: max(each.max_ns for each in summaries)}
    if len(summaries) > 1:
        return ends
    (only,) = summaries
    return ends | {50.0: only.p50_ns, 90.0: only.p90_ns, 99.0: only.p99_ns, 99.9: only.p999_ns}


def _merge_histograms(encoded: Sequence[str]) -> "HdrHistogram":
    from hdrh.histogram import HdrHistogram

    total = HdrHistogram(LOWEST_NS, HIGHEST_NS, DIGITS)
    for text in encoded:
        total.decode_and_add(text)
    return total
