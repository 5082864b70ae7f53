"""What there is to compare: every measure that both sides have, at the frame sizes that both have."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from nodrop.analysis import text
from nodrop.analysis.statistics import Values, variance
from nodrop.analysis.types import Point, Series
from nodrop.errors import ConfigError
from nodrop.formatting import AT_LEAST
from nodrop.model.goal import Limit
from nodrop.model.summary import Measure, MeasureUnit, Summary

ONE = 1.0
"""A frame a second, a nanosecond: what is less counts as that, for ratios to nothing are none."""
ASK_ALIKE = "compare runs that looked for the same goals, or were sent at the same rate"


class Subject(NamedTuple):
    """A measure at a frame size, on both sides."""

    key: str
    frame_size: str
    text: str
    a: Series
    b: Series
    measure: Measure
    """One of them: what kind it is."""
    missing: tuple[int, int]
    """Runs of A and of B that do not have it."""

    @property
    def unit(self) -> MeasureUnit:
        """Of the measure."""
        return self.measure.unit

    @property
    def higher_is_better(self) -> bool:
        """Or lower is."""
        return self.measure.better == "higher"

    @property
    def values(self) -> tuple[Values, Values]:
        """Both sides on the scale they are compared on.

        Where all runs have both bounds it is between them, as their widths may differ.
        """
        bounded = all(point.low and point.high for point in (*self.a.points, *self.b.points))
        return _values(self.a, self.unit, bounded), _values(self.b, self.unit, bounded)


def subjects(a: Sequence[Summary], b: Sequence[Summary], metrics: Sequence[str]) -> Iterator[Subject]:
    """Every measure that both sides have, as the runs of A list them. Raises ConfigError when there is none."""
    found = [
        subject
        for size_a, size_b in _sizes(a, b)
        for subject in _of_sizes(
            [run for run in a if run.frame_size == size_a], [run for run in b if run.frame_size == size_b]
        )
    ]
    keys = {subject.key for subject in found}
    unknown = [key for key in metrics if key not in keys]
    if unknown:
        raise ConfigError(
            f"metric {', '.join(unknown)} asked, A and B have in common: {', '.join(sorted(keys)) or 'none'}; "
            "name one of these"
        )
    if not found:
        raise ConfigError(f"a comparison asked, A and B have no figure in common: {_had(a)}; {_had(b)}; {ASK_ALIKE}")
    several = len({subject.frame_size for subject in found}) > 1
    for subject in found:
        if not metrics or subject.key in metrics:
            yield subject._replace(text=text.metric_text(subject.text, subject.frame_size if several else ""))


def _had(runs: Sequence[Summary]) -> str:
    """What there is of one side, for one who asks why nothing can be compared."""
    keys = dict.fromkeys(measure.key for run in runs for measure in run.measures)
    sizes = dict.fromkeys(run.frame_size for run in runs)
    return f"found {', '.join(keys) or 'no figure'} at frame size {', '.join(sizes)}"


def _sizes(a: Sequence[Summary], b: Sequence[Summary]) -> list[tuple[str, str]]:
    """Frame sizes to compare; where each side has one of its own, these."""
    of_a, of_b = (list(dict.fromkeys(run.frame_size for run in runs)) for runs in (a, b))
    shared = [(size, size) for size in of_a if size in of_b]
    if not shared and len(of_a) == len(of_b) == 1:
        return [(of_a[0], of_b[0])]
    return shared


def _of_sizes(a: Sequence[Summary], b: Sequence[Summary]) -> Iterator[Subject]:
    kinds = {measure.key: measure for run in (*b, *a) for measure in run.measures}
    in_order = dict.fromkeys(measure.key for run in a for measure in run.measures)
    for key in in_order:
        measure = kinds[key]
        points_a, points_b = list(_points(a, key)), list(_points(b, key))
        if points_a and points_b:
            size = a[0].frame_size if a[0].frame_size == b[0].frame_size else f"{a[0].frame_size}/{b[0].frame_size}"
            yield Subject(
                key,
                size,
                measure.text,
                _series(points_a, measure.unit),
                _series(points_b, measure.unit),
                measure,
                (len(a) - len(points_a), len(b) - len(points_b)),
            )


def _points(runs: Sequence[Summary], key: str) -> Iterator[Point]:
    for run in sorted(runs, key=lambda run: (run.started_at, run.run_id)):
        for measure in run.measures:
            if measure.key == key:
                yield Point(
                    run_id=run.run_id,
                    started_at=run.started_at,
                    value=measure.value,
                    low=measure.low,
                    high=measure.high,
                    at_least=Limit(measure.limit) in AT_LEAST,
                )
                break


def _series(points: Sequence[Point], unit: MeasureUnit) -> Series:
    at = [to_scale(point.value, unit) for point in points]
    mean = fmean(at)
    return Series(
        points=tuple(points),
        mean=mean if unit == "ratio" else math.exp(mean),
        scatter=math.sqrt(variance(at)) if len(at) > 1 else None,
        at_least=any(point.at_least for point in points),
    )


def _values(series: Series, unit: MeasureUnit, bounded: bool) -> Values:
    widths = tuple(_width(point, unit) for point in series.points)
    if bounded and unit != "ratio":
        return Values(tuple(_middle(point) for point in series.points), widths)
    return Values(tuple(to_scale(point.value, unit) for point in series.points), widths)


def _middle(point: Point) -> float:
    assert point.low and point.high
    return (to_scale(point.low, "pps") + to_scale(point.high, "pps")) / 2


def _width(point: Point, unit: MeasureUnit) -> float:
    if unit == "ratio" or not point.low or not point.high:
        return 0.0
    return abs(to_scale(point.high, unit) - to_scale(point.low, unit))


def to_scale(value: float, unit: MeasureUnit) -> float:
    """A figure where differences are compared."""
    return value if unit == "ratio" else math.log(max(value, ONE))


def on_scale(margin: float, unit: MeasureUnit) -> float:
    """A margin there: the same whichever side is called A."""
    return margin if unit == "ratio" else -math.log1p(-margin)


def off_scale(effect: float, unit: MeasureUnit) -> float:
    """A difference as people read it."""
    return effect if unit == "ratio" else math.expm1(min(effect, 700.0))
