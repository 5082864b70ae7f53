"""Two sides judged, measure by measure."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nodrop.analysis import text
from nodrop.analysis.blocked_outcomes import Blocked, blocked, drift_flag, drifted
from nodrop.analysis.outliers import look
from nodrop.analysis.paired_metrics import Subject, off_scale, on_scale, subjects
from nodrop.analysis.run_order import b_came_later, in_turn, order_flags
from nodrop.analysis.statistics import PAIRS_MIN, Estimate, adjusted, drift, estimate, repeats, ways
from nodrop.analysis.types import Comparison, Difference, Margins, MetricVerdict, Side, Verdict
from nodrop.model.summary import MeasureUnit, Summary

HEADLINE_SHARE = 0.8
"""Of the chance of a false alarm that all measures share, what those have that the runs were made for."""
FLOORS: dict[MeasureUnit, float] = {"pps": 0.001, "ns": 0.01, "ratio": 1e-5}
"""Standard deviation from run to run below which identical figures are luck: of a rate 0.1 %, of a latency 1 %."""
ASSUMED: dict[MeasureUnit, float] = {"pps": 0.02, "ns": 0.2, "ratio": 0.001}
"""The same where a single run of each side is all there is: what a machine shared with others was seen to do."""
HEADLINE_ORDER: tuple[MeasureUnit, ...] = ("pps", "ratio", "ns")
"""What runs are made for: rates, if they have any."""
NO_MARGINS = Margins()


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
    found = list(subjects(a, b, metrics))
    headlines = _headlines(found, bool(metrics))
    estimates = [_estimate(subject) for subject in found]
    weights = _weights(headlines)
    chances = adjusted([each.p for each in estimates], weights)
    judged = [
        _judge(subject, each, chance, Scales(headline, weight, margins, confidence))
        for subject, each, chance, headline, weight in zip(found, estimates, chances, headlines, weights, strict=True)
    ]
    judged.sort(key=lambda metric: not metric.headline)
    verdict = overall(judged)
    return Comparison(
        verdict=verdict,
        sentence=text.headline(verdict, judged, confidence),
        a=_side(a),
        b=_side(b),
        confidence=confidence,
        paired=any(metric.method == "paired" for metric in judged),
        metrics=tuple(judged),
        flags=tuple(order_flags(a, b)),
        advice=tuple(text.advice(verdict, judged, in_turn(a, b), bool(differences))),
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
    unit = subject.unit
    margin = on_scale(getattr(scales.margins, unit), unit)
    slope = drift_flag(drifting := drift(*subject.values))
    stops = blocked(subject.a, subject.b, subject.higher_is_better, subject.missing)
    later = b_came_later(subject.a.points, subject.b.points)
    if slope and drifting and later is not None:
        steps = (len(subject.a.points) + len(subject.b.points)) / 2 * (1 if later else -1)
        stops = {**stops, **drifted(drifting.slope * steps, found.effect, subject.higher_is_better)}
    p_equivalent = found.p_equivalent(margin)
    verdict, reason = _verdict(found, subject, stops, scales, chance=chance, p_equivalent=p_equivalent)
    low, high = found.interval(scales.confidence)
    needed = None
    if verdict is Verdict.UNDECIDED and scales.headline and not stops:
        needed = _repeats_needed(found, margin, subject, scales)
    return MetricVerdict(
        key=subject.key,
        text=subject.text,
        frame_size=subject.frame_size,
        unit=unit,
        higher_is_better=subject.higher_is_better,
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
        flags=(*look(subject.a, subject.b, unit), *((slope,) if slope else ())),
    )


def _verdict(
    found: Estimate, subject: Subject, stops: Blocked, scales: Scales, *, chance: float, p_equivalent: float
) -> tuple[Verdict, str]:
    """The verdict, and why there is none."""
    count_a, count_b = len(subject.a.points), len(subject.b.points)
    dealt = 2**count_a if found.method == "paired" else ways(count_a, count_b)
    if dealt < scales.ways_needed:
        return Verdict.UNDECIDED, text.too_few(count_a, count_b)
    if p_equivalent <= scales.alpha / 2:  # the whole interval is inside the margin
        wanted = Verdict.EQUIVALENT
    elif chance <= scales.alpha:
        wanted = Verdict.BETTER if (found.effect > 0) == subject.higher_is_better else Verdict.WORSE
    else:
        return Verdict.UNDECIDED, text.not_seen(found.p <= scales.alpha)
    if wanted in stops:
        return Verdict.UNDECIDED, stops[wanted]
    return wanted, ""


def _repeats_needed(found: Estimate, margin: float, subject: Subject, scales: Scales) -> int | None:
    fewest = min(len(subject.a.points), len(subject.b.points))
    at_least = next(count for count in range(2, 100) if ways(count, count) >= scales.ways_needed)
    enough = repeats(found, margin, scales.alpha * scales.weight, scales.alpha / 2, max(at_least, fewest + 1))
    return None if enough is None else enough - fewest


def _estimate(subject: Subject) -> Estimate:
    a, b = subject.values
    pairs = in_turn(subject.a.points, subject.b.points) if a.runs >= PAIRS_MIN else ()
    return estimate(a, b, FLOORS[subject.unit], ASSUMED[subject.unit], pairs)


def _headlines(found: Sequence[Subject], named: bool) -> list[bool]:
    units = {subject.unit for subject in found}
    first = next(unit for unit in HEADLINE_ORDER if unit in units)
    return [named or subject.unit == first for subject in found]


def _weights(headlines: Sequence[bool]) -> list[float]:
    """Shares of the chance of a false alarm; all of them together 1."""
    count = sum(headlines)
    others = len(headlines) - count
    share = HEADLINE_SHARE if others else 1.0
    return [share / count if headline else (1 - share) / others for headline in headlines]


def _side(runs: Sequence[Summary]) -> Side:
    ordered = sorted(runs, key=lambda run: (run.started_at, run.run_id))
    labels = {run.label for run in ordered}
    label = labels.pop() if len(labels) == 1 else None
    suts = list(dict.fromkeys(run.sut for run in ordered))
    sut = suts[0] if len(suts) == 1 else f"{suts[0]} and {len(suts) - 1} more"
    return Side(
        name=label or (ordered[0].run_id if len(ordered) == 1 else sut),
        run_ids=tuple(run.run_id for run in ordered),
        sut=sut,
    )
