"""What catches the eye in the runs of a side: a run apart from the others, two groups of them."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from nodrop.analysis.statistics import sample_variance
from nodrop.analysis.types import MetricSeries
from nodrop.model.goal import Flag
from nodrop.model.summary import MeasureUnit

GAP_SPREADS = 6.0
"""Two groups are that many of their own standard deviations apart; of five even runs one set in a hundred looks so."""
GAPS_MIN: dict[MeasureUnit, float] = {"pps": 0.01, "ns": 0.1, "ratio": 1e-4}
"""Closer together nobody needs to know."""
RUNS_MIN = 4
"""Fewer runs have no shape."""


def flag_irregular_runs(a: MetricSeries, b: MetricSeries, unit: MeasureUnit) -> Iterator[Flag]:
    """Flags of both sides."""
    for name, series in (("A", a), ("B", b)):
        at = [point.value if unit == "ratio" else math.log(max(point.value, 1.0)) for point in series.points]
        if len(at) >= RUNS_MIN:
            yield from _groups(name, at, series, unit)


def _groups(name: str, at: Sequence[float], series: MetricSeries, unit: MeasureUnit) -> Iterator[Flag]:
    ordered = sorted(at)
    gaps = [high - low for low, high in pairwise(ordered)]
    cut = max(range(len(gaps)), key=gaps.__getitem__) + 1
    lower, upper = ordered[:cut], ordered[cut:]
    within = max(_spread(lower), _spread(upper))
    if gaps[cut - 1] < max(GAPS_MIN[unit], GAP_SPREADS * within):
        return
    if min(len(lower), len(upper)) > 1:
        yield Flag(code="two_modes", text=f"{name}: {len(upper)} runs are high and {len(lower)} low, none between.")
        return
    alone = at.index(upper[0] if len(upper) == 1 else lower[0])
    yield Flag(code="outlier", text=f"{name}: run {series.points[alone].run_id} is far from the others.")


def _spread(values: Sequence[float]) -> float:
    return math.sqrt(sample_variance(values)) if len(values) > 1 else 0.0
