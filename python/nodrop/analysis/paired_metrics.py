"""The comparable metrics: every measure that both sides have, at the frame sizes that both have."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from nodrop.analysis import text
from nodrop.analysis.statistics import RunSample, compute_sample_variance
from nodrop.analysis.types import MetricPoint, MetricSeries
from nodrop.errors import ConfigError
from nodrop.model.goal import Limit
from nodrop.model.summary import Measure, MeasureUnit, Summary

VALUE_MIN = 1.0
"""Smallest value on the logarithmic scale: one frame per second, one nanosecond."""
ALIKE_HINT = "compare runs with the same goals or the same fixed rate"


class PairedMetric(NamedTuple):
    """A measure at a frame size, with the values of both sides."""

    key: str
    frame_size: str
    text: str
    a: MetricSeries
    b: MetricSeries
    measure: Measure
    """The measure of one run, for its kind."""
    missing: tuple[int, int]
    """Runs of A and of B without a value."""

    @property
    def unit(self) -> MeasureUnit:
        """The unit of the measure."""
        return self.measure.unit

    @property
    def higher_is_better(self) -> bool:
        """Whether higher values are better."""
        return self.measure.better == "higher"

    @property
    def values(self) -> tuple[RunSample, RunSample]:
        """The samples of both sides on the comparison scale.

        Where all runs have both bounds, the value is their midpoint, because widths may differ. A lower limit stands
        for itself.
        """
        bounded = all(point.low and point.high and not point.at_least for point in (*self.a.points, *self.b.points))
        return _build_sample(self.a, self.unit, bounded), _build_sample(self.b, self.unit, bounded)


def pair_metrics(a: Sequence[Summary], b: Sequence[Summary], metrics: Sequence[str]) -> Iterator[PairedMetric]:
    """Yield every measure that both sides have, in the order of A's runs. Raises ConfigError where none exists."""
    pairs = [
        subject
        for size_a, size_b in _pair_frame_sizes(a, b)
        for subject in _pair_size(
            [run for run in a if run.frame_size == size_a], [run for run in b if run.frame_size == size_b]
        )
    ]
    keys = {subject.key for subject in pairs}
    unknown = [key for key in metrics if key not in keys]
    if unknown:
        raise ConfigError(
            f"metric: {', '.join(unknown)} is not measured by both A and B; choose from: "
            f"{', '.join(sorted(keys)) or 'none'}"
        )
    if not pairs:
        raise ConfigError(
            f"A and B have no metric in common (A: {_describe_metrics(a)}; B: {_describe_metrics(b)}); {ALIKE_HINT}"
        )
    has_sizes = len({subject.frame_size for subject in pairs}) > 1
    for subject in pairs:
        if not metrics or subject.key in metrics:
            yield subject._replace(text=text.format_metric_name(subject.text, subject.frame_size if has_sizes else ""))


def _describe_metrics(runs: Sequence[Summary]) -> str:
    """Describe the metrics of one side, for an error message."""
    keys = dict.fromkeys(measure.key for run in runs for measure in run.measures)
    sizes = dict.fromkeys(run.frame_size for run in runs)
    return f"{', '.join(keys) or 'no metric'} at frame size {', '.join(sizes)}"


def _pair_frame_sizes(a: Sequence[Summary], b: Sequence[Summary]) -> list[tuple[str, str]]:
    """Return pairs of frame sizes to compare; a single size of each side is compared even if they differ."""
    sizes_a, sizes_b = (list(dict.fromkeys(run.frame_size for run in runs)) for runs in (a, b))
    shared = [(size, size) for size in sizes_a if size in sizes_b]
    if not shared and len(sizes_a) == len(sizes_b) == 1:
        return [(sizes_a[0], sizes_b[0])]
    return shared


def _pair_size(a: Sequence[Summary], b: Sequence[Summary]) -> Iterator[PairedMetric]:
    kinds = {measure.key: measure for run in (*b, *a) for measure in run.measures}
    in_order = dict.fromkeys(measure.key for run in a for measure in run.measures)
    for key in in_order:
        measure = kinds[key]
        points_a, points_b = list(_iter_points(a, key)), list(_iter_points(b, key))
        if points_a and points_b:
            size = a[0].frame_size if a[0].frame_size == b[0].frame_size else f"{a[0].frame_size}/{b[0].frame_size}"
            yield PairedMetric(
                key,
                size,
                measure.text,
                _build_series(points_a, measure.unit),
                _build_series(points_b, measure.unit),
                measure,
                (len(a) - len(points_a), len(b) - len(points_b)),
            )


def _iter_points(runs: Sequence[Summary], key: str) -> Iterator[MetricPoint]:
    for run in sorted(runs, key=lambda run: (run.started_at, run.run_id)):
        for measure in run.measures:
            if measure.key == key:
                yield MetricPoint(
                    run_id=run.run_id,
                    started_at=run.started_at,
                    value=measure.value,
                    low=measure.low,
                    high=measure.high,
                    at_least=Limit(measure.limit).sut_may_exceed,
                )
                break


def _build_series(points: Sequence[MetricPoint], unit: MeasureUnit) -> MetricSeries:
    at = [to_comparison_scale(point.value, unit) for point in points]
    mean = fmean(at)
    return MetricSeries(
        points=tuple(points),
        mean=mean if unit == "ratio" else math.exp(mean),
        scatter=math.sqrt(compute_sample_variance(at)) if len(at) > 1 else None,
        at_least=any(point.at_least for point in points),
    )


def _build_sample(series: MetricSeries, unit: MeasureUnit, bounded: bool) -> RunSample:
    widths = tuple(_compute_width(point, unit) for point in series.points)
    if bounded and unit != "ratio":
        return RunSample(tuple(_compute_middle(point) for point in series.points), widths)
    return RunSample(tuple(to_comparison_scale(point.value, unit) for point in series.points), widths)


def _compute_middle(point: MetricPoint) -> float:
    assert point.low and point.high
    return (to_comparison_scale(point.low, "pps") + to_comparison_scale(point.high, "pps")) / 2


def _compute_width(point: MetricPoint, unit: MeasureUnit) -> float:
    if unit == "ratio" or not point.low or not point.high:
        return 0.0
    return abs(to_comparison_scale(point.high, unit) - to_comparison_scale(point.low, unit))


def to_comparison_scale(value: float, unit: MeasureUnit) -> float:
    """Convert a value to the comparison scale: logarithmic for rates and latencies."""
    return value if unit == "ratio" else math.log(max(value, VALUE_MIN))


def scale_margin(margin: float, unit: MeasureUnit) -> float:
    """Convert a margin to the comparison scale, symmetric in A and B."""
    return margin if unit == "ratio" else -math.log1p(-margin)


def to_effect(effect: float, unit: MeasureUnit) -> float:
    """Convert a difference on the comparison scale to an effect: ratio - 1, or a difference of loss ratios."""
    return effect if unit == "ratio" else math.expm1(min(effect, 700.0))
