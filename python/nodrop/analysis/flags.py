"""Flags of a comparison: irregular runs, drift, and the order of the runs."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from nodrop.analysis.run_order import TimedRun, is_b_later
from nodrop.analysis.statistics import RunDrift, compute_sample_variance
from nodrop.analysis.types import MetricSeries
from nodrop.model.goal import Flag
from nodrop.model.summary import MeasureUnit, Summary

GAP_SPREADS = 6.0
"""Smallest gap between two groups, in their own standard deviations; 1 % of even samples of five runs reach it."""
GAPS_MIN: dict[MeasureUnit, float] = {"pps": 0.01, "ns": 0.1, "ratio": 1e-4}
"""Smallest gap that is flagged."""
RUNS_MIN = 4
"""Fewest runs that are checked."""
DRIFT_P_MAX = 0.01
"""Largest p-value at which a slope counts as drift."""


def flag_irregular_runs(a: MetricSeries, b: MetricSeries, unit: MeasureUnit) -> Iterator[Flag]:
    """Flag outliers and separate groups among the runs of each side."""
    for name, series in (("A", a), ("B", b)):
        at = [point.value if unit == "ratio" else math.log(max(point.value, 1.0)) for point in series.points]
        if len(at) >= RUNS_MIN:
            yield from _flag_groups(name, at, series, unit)


def _flag_groups(name: str, at: Sequence[float], series: MetricSeries, unit: MeasureUnit) -> Iterator[Flag]:
    ordered = sorted(at)
    gaps = [high - low for low, high in pairwise(ordered)]
    cut = max(range(len(gaps)), key=gaps.__getitem__) + 1
    lower, upper = ordered[:cut], ordered[cut:]
    within = max(_compute_spread(lower), _compute_spread(upper))
    if gaps[cut - 1] < max(GAPS_MIN[unit], GAP_SPREADS * within):
        return
    if min(len(lower), len(upper)) > 1:
        yield Flag.of("two_modes", side=name, high_count=len(upper), low_count=len(lower))
        return
    alone = at.index(upper[0] if len(upper) == 1 else lower[0])
    yield Flag.of("outlier", side=name, run_id=series.points[alone].run_id)


def _compute_spread(values: Sequence[float]) -> float:
    return math.sqrt(compute_sample_variance(values)) if len(values) > 1 else 0.0


def flag_drift(drift: RunDrift | None) -> Flag | None:
    """Flag a significant slope over the runs."""
    if drift is None or drift.p >= DRIFT_P_MAX:
        return None
    return Flag.of("drift", slope_ratio_per_run=drift.slope)


def flag_impossible_values(a: Sequence[Summary], b: Sequence[Summary]) -> Iterator[Flag]:
    """Flag runs of another tester whose file has values that cannot be."""
    for side, runs in (("A", a), ("B", b)):
        for run in runs:
            yield from (
                Flag.of("impossible_value", side=side, run_id=run.run_id, doubt=doubt.rstrip("."))
                for doubt in run.doubts
            )


def flag_run_order(a: Sequence[TimedRun], b: Sequence[TimedRun]) -> Iterator[Flag]:
    """Flag sides measured one after the other, where drift looks like a difference, and runs on both sides."""
    later = is_b_later(a, b)
    if later is not None and min(len(a), len(b)) > 1:
        first, second = ("A", "B") if later else ("B", "A")
        yield Flag.of("one_after_the_other", first_side=first, second_side=second)
    if {run.run_id for run in a} & {run.run_id for run in b}:
        yield Flag.of("same_runs")
