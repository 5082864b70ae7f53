"""How far repeats of one set-up differ."""

import statistics
from collections.abc import Iterator, Sequence

from nodrop.formatting import AT_LEAST
from nodrop.model.base import Value
from nodrop.model.goal import Limit
from nodrop.model.summary import Measure, MeasureUnit, Summary

CONFIDENCE = 0.95


class Spread(Value):
    """A figure of several runs of one set-up and traffic."""

    key: str
    text: str
    frame_size: str
    unit: MeasureUnit
    count: int
    """Runs that have it."""
    median: float
    lowest: float
    highest: float
    deviation: float | None
    """Standard deviation from run to run; None for a single one."""
    mean_low: float | None
    mean_high: float | None
    """In between is the mean of ever more runs, with 95 % confidence (Student); None for a single one."""
    at_least: bool
    """Something other than the SUT was the limit of one run or more."""


def spreads(runs: Sequence[Summary]) -> tuple[Spread, ...]:
    """Every figure of the runs, frame size by frame size, in the order the runs have them."""
    return tuple(_spreads(runs))


def _spreads(runs: Sequence[Summary]) -> Iterator[Spread]:
    for frame_size in dict.fromkeys(run.frame_size for run in runs):
        figures: dict[str, list[Measure]] = {}
        for run in runs:
            for measure in run.measures if run.frame_size == frame_size else ():
                figures.setdefault(measure.key, []).append(measure)
        for measures in figures.values():
            yield _spread(measures, frame_size)


def _spread(measures: Sequence[Measure], frame_size: str) -> Spread:
    first, values = measures[0], [measure.value for measure in measures]
    deviation = statistics.stdev(values) if len(values) > 1 else None
    half = None if deviation is None else _student(len(values) - 1) * deviation / len(values) ** 0.5
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
        mean_low=None if half is None else mean - half,
        mean_high=None if half is None else mean + half,
        at_least=any(Limit(measure.limit) in AT_LEAST for measure in measures),
    )


def _student(freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + CONFIDENCE) / 2, freedom))
