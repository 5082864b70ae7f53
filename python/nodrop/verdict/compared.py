"""Two sides judged, measure by measure."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from nodrop.errors import ConfigError
from nodrop.model.goal import Limit
from nodrop.model.summary import Measure, MeasureUnit, Summary
from nodrop.verdict import sentences
from nodrop.verdict.claims import Blocked, blocked
from nodrop.verdict.looks import look
from nodrop.verdict.order import in_turn, order_flags
from nodrop.verdict.statistics import PAIRS_MIN, Estimate, Values, adjusted, estimate, repeats, ways
from nodrop.verdict.values import Comparison, Difference, Margins, MetricVerdict, Point, Series, Side, Verdict
from nodrop.wording import AT_LEAST

HEADLINE_SHARE = 0.8
"""Of the chance of a false alarm that all measures share, what those have that the runs were made for."""
FLOORS: dict[MeasureUnit, float] = {"pps": 0.001, "ns": 0.01, "ratio": 1e-5}
"""Standard deviation from run to run below which identical figures are luck: of a rate 0.1 %, of a latency 1 %."""
ASSUMED: dict[MeasureUnit, float] = {"pps": 0.02, "ns": 0.2, "ratio": 0.001}
"""The same where a single run of each side is all there is: what a machine shared with others was seen to do."""
HEADLINE_ORDER: tuple[MeasureUnit, ...] = ("pps", "ratio", "ns")
"""What runs are made for: rates, if they have any."""
ONE = 1.0
"""A frame a second, a nanosecond: what is less counts as that, for ratios to nothing are none."""
NO_MARGINS = Margins()


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


def compare(
    a: Sequence[Summary],
    b: Sequence[Summary],
    *,
    margins: Margins = NO_MARGINS,
    confidence: float = 0.95,
    metrics: Sequence[str] = (),
    differences: Sequence[Difference] = (),
) -> Comparison:
    """What B is beside A.

    Args:
        a, b: runs of one set-up each, in any order; of several frame sizes each is compared with its like.
        margins: differences that do not matter.
        confidence: of the intervals; the chance that anything at all is called better or worse where nothing differs is
            at most the rest.
        metrics: keys of the measures to look at, all as headlines; none: all there are, rates as headlines.
        differences: in what the set-ups differ, to keep with it.

    Raises: ConfigError when there is nothing that both sides have.
    """
    subjects = list(_subjects(a, b, metrics))
    headlines = _headlines(subjects, bool(metrics))
    estimates = [_estimate(subject) for subject in subjects]
    weights = _weights(headlines)
    chances = adjusted([found.p for found in estimates], weights)
    judged = [
        _judge(subject, found, chance, Scales(headline, weight, margins, confidence))
        for subject, found, chance, headline, weight in zip(
            subjects, estimates, chances, headlines, weights, strict=True
        )
    ]
    judged.sort(key=lambda metric: not metric.headline)
    verdict = overall(judged)
    return Comparison(
        verdict=verdict,
        sentence=sentences.headline(verdict, judged, confidence),
        a=_side(a),
        b=_side(b),
        confidence=confidence,
        paired=any(metric.method == "paired" for metric in judged),
        metrics=tuple(judged),
        flags=tuple(order_flags(a, b)),
        advice=tuple(sentences.advice(verdict, judged, in_turn(a, b))),
        differences=tuple(differences),
    )


def overall(metrics: Sequence[MetricVerdict]) -> Verdict:
    """The verdict of all measures: one that is worse makes it worse."""
    said = {metric.verdict for metric in metrics}
    for strong in (Verdict.WORSE, Verdict.BETTER):
        if strong in said:
            return strong
    headlines = {metric.verdict for metric in metrics if metric.headline}
    return Verdict.EQUIVALENT if headlines == {Verdict.EQUIVALENT} else Verdict.UNDECIDED


class Scales(NamedTuple):
    """By what a measure is judged."""

    headline: bool
    weight: float
    """Its share of the chance of a false alarm."""
    margins: Margins
    confidence: float

    @property
    def alpha(self) -> float:
        """Chance of a false alarm."""
        return 1 - self.confidence

    @property
    def ways_needed(self) -> int:
        """Below so many ways to deal out the runs, chance alone separates the sides too often."""
        return math.ceil(1 / self.alpha - 1e-9)


def _judge(subject: Subject, found: Estimate, chance: float, scales: Scales) -> MetricVerdict:
    unit = subject.measure.unit
    margin = on_scale(getattr(scales.margins, unit), unit)
    higher_is_better = subject.measure.better == "higher"
    stops = blocked(subject.a, subject.b, higher_is_better, subject.missing)
    p_equivalent = found.p_equivalent(margin)
    verdict, reason = _verdict(found, subject, stops, scales, chance=chance, p_equivalent=p_equivalent)
    low, high = found.interval(scales.confidence)
    needed = None
    if verdict is Verdict.UNDECIDED and not stops:
        needed = _repeats_needed(found, margin, subject, scales)
    return MetricVerdict(
        key=subject.key,
        text=subject.text,
        frame_size=subject.frame_size,
        unit=unit,
        higher_is_better=higher_is_better,
        headline=scales.headline,
        verdict=verdict,
        effect=off_scale(found.effect, unit),
        low=off_scale(low, unit),
        high=off_scale(high, unit),
        margin=getattr(scales.margins, unit),
        p=found.p,
        p_adjusted=chance,
        p_equivalent=p_equivalent,
        method=found.method,
        a=subject.a,
        b=subject.b,
        repeats_needed=needed,
        reason=reason,
        flags=tuple(look(subject.a, subject.b, unit)),
    )


def _verdict(
    found: Estimate, subject: Subject, stops: Blocked, scales: Scales, *, chance: float, p_equivalent: float
) -> tuple[Verdict, str]:
    """The verdict, and why there is none."""
    count_a, count_b = len(subject.a.points), len(subject.b.points)
    dealt = 2**count_a if found.method == "paired" else ways(count_a, count_b)
    if dealt < scales.ways_needed:
        return Verdict.UNDECIDED, sentences.too_few(count_a, count_b)
    if p_equivalent <= scales.alpha:
        wanted = Verdict.EQUIVALENT
    elif chance <= scales.alpha:
        rises = found.effect > 0
        wanted = Verdict.BETTER if rises == (subject.measure.better == "higher") else Verdict.WORSE
    else:
        return Verdict.UNDECIDED, sentences.not_seen(found.p <= scales.alpha)
    if wanted in stops:
        return Verdict.UNDECIDED, stops[wanted]
    return wanted, ""


def _repeats_needed(found: Estimate, margin: float, subject: Subject, scales: Scales) -> int | None:
    fewest = min(len(subject.a.points), len(subject.b.points))
    at_least = next(count for count in range(2, 100) if ways(count, count) >= scales.ways_needed)
    enough = repeats(found, margin, scales.alpha * scales.weight, scales.alpha, max(at_least, fewest + 1))
    return None if enough is None else enough - fewest


def _estimate(subject: Subject) -> Estimate:
    unit = subject.measure.unit
    points = (*subject.a.points, *subject.b.points)
    bounded = all(point.low and point.high for point in points)
    a, b = (_values(side, unit, bounded) for side in (subject.a, subject.b))
    pairs = in_turn(subject.a.points, subject.b.points) if a.runs >= PAIRS_MIN else ()
    return estimate(a, b, FLOORS[unit], ASSUMED[unit], pairs)


def _values(series: Series, unit: MeasureUnit, bounded: bool) -> Values:
    """A side on the scale it is compared on: between the bounds, where all runs have both, for widths may differ."""
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


def _headlines(subjects: Sequence[Subject], named: bool) -> list[bool]:
    units = {subject.measure.unit for subject in subjects}
    first = next(unit for unit in HEADLINE_ORDER if unit in units)
    return [named or subject.measure.unit == first for subject in subjects]


def _weights(headlines: Sequence[bool]) -> list[float]:
    """Shares of the chance of a false alarm; all of them together 1."""
    count = sum(headlines)
    others = len(headlines) - count
    share = HEADLINE_SHARE if others else 1.0
    return [share / count if headline else (1 - share) / others for headline in headlines]


def _subjects(a: Sequence[Summary], b: Sequence[Summary], metrics: Sequence[str]) -> Iterator[Subject]:
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
            yield subject._replace(text=sentences.metric_text(subject.text, subject.frame_size if several else ""))


ASK_ALIKE = "compare runs that looked for the same goals, or were sent at the same rate"


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
        scatter=stdev(at) if len(at) > 1 else None,
        at_least=any(point.at_least for point in points),
    )


def _side(runs: Sequence[Summary]) -> Side:
    ordered = sorted(runs, key=lambda run: (run.started_at, run.run_id))
    labels = {run.label for run in ordered}
    label = labels.pop() if len(labels) == 1 else None
    suts = dict.fromkeys(run.sut for run in ordered)
    return Side(
        name=label or (ordered[0].run_id if len(ordered) == 1 else ", ".join(suts)),
        run_ids=tuple(run.run_id for run in ordered),
        sut=", ".join(suts),
    )
