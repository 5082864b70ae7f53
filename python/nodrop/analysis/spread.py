"""The spread of repeats of one setup."""

import statistics
from collections.abc import Iterator, Sequence

from nodrop.model.base import Value
from nodrop.model.goal import Limit
from nodrop.model.summary import Measure, MeasureUnit, Summary

CONFIDENCE = 0.95


class Spread(Value):
    """The spread of a measure over several runs of one setup and traffic."""

    key: str
    text: str
    frame_size: str
    unit: MeasureUnit
    count: int
    """Runs with a value."""
    median: float
    lowest: float
    highest: float
    deviation: float | None
    """Standard deviation between runs; None for a single run."""
    mean_low: float | None
    mean_high: float | None
    """The 95 % confidence interval of the mean (Student); None for a single run."""
    at_least: bool
    """Whether something other than the SUT limited at least one run."""


def compute_spreads(runs: Sequence[Summary]) -> tuple[Spread, ...]:
    """Return the spread of every measure of the runs, by frame size, in the order of the runs."""
    return tuple(_iter_spreads(runs))


def _iter_spreads(runs: Sequence[Summary]) -> Iterator[Spread]:
    for frame_size in dict.fromkeys(run.frame_size for run in runs):
        figures: dict[str, list[Measure]] = {}
        for run in runs:
            for measure in run.measures if run.frame_size == frame_size else ():
                figures.setdefault(measure.key, []).append(measure)
        for measures in figures.values():
            yield _compute_spread(measures, frame_size)


def _compute_spread(measures: Sequence[Measure], frame_size: str) -> Spread:
    first, values = measures[0], [measure.value for measure in measures]
    deviation = statistics.stdev(values) if len(values) > 1 else None
    half_width = None if deviation is None else _compute_t_quantile(len(values) - 1) * deviation / len(values) ** 0.5
    mean = statistics.fmean(values)
    return Spread(
        key=first.key,
        text=first.text,
        frame_size=frame_size,
        unit=first.unit,
        count=len(values),
        median=statistics.median(values),
        lowest=min(values),
        highest=max(values),
        deviation=deviation,
        mean_low=None if half_width is None else mean - half_width,
        mean_high=None if half_width is None else mean + half_width,
        at_least=any(Limit(measure.limit).sut_may_exceed for measure in measures),
    )


def _compute_t_quantile(freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + CONFIDENCE) / 2, freedom))
