"""Moments of a series that belong together: the groups of its shortest description, where they matter.

What takes the fewest bits tells every difference that is not chance, however small, also that of a stretch in which the
same figures were spread otherwise. A level is what is left when only differences count that are larger than a margin.
"""

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nodrop.analysis.mdl import SeriesCoder

RunGroups = Sequence[Sequence[float]]
"""What was measured, moment by moment."""
QUANTILE = statistics.NormalDist().inv_cdf(0.975)
"""For 95 % confidence."""
ALPHA = 0.05
EXACT_MAX = 20
OUTLIER_GROUPS_MAX = 2
"""Moments between two stretches that are alike which are taken to be apart from both; more are a change and another."""


class Segment(NamedTuple):
    """Moments that belong together, those apart from them left out."""

    moments: tuple[int, ...]
    outliers: tuple[int, ...] = ()

    def values(self, moments: RunGroups) -> list[float]:
        """What was measured in it."""
        return [value for moment in self.moments for value in moments[moment]]


class SegmentShift(NamedTuple):
    """How much higher one level is than another."""

    middle: float
    low: float | None
    high: float | None
    """In between with 95 % confidence; None where there are too few of both for any bound."""

    def matters(self, margin: float) -> bool:
        """Whether it is as large as that, and which way it goes is clear."""
        unclear = self.low is not None and self.high is not None and self.low <= 0 <= self.high
        return abs(self.middle) >= margin and not unclear


class ShiftScale(NamedTuple):
    """How levels are compared."""

    margin: float
    relative: bool
    """To the median of the earlier one; otherwise by their difference."""


def find_segments(moments: RunGroups, scale: ShiftScale) -> tuple[Segment, ...]:
    """The levels of a series of at least one moment, in their order."""
    starts = SeriesCoder(moments).shortest()
    ends = (*starts[1:], len(moments))
    spans = [Segment(tuple(range(start, end))) for start, end in zip(starts, ends, strict=True)]
    found = _merged(_joined(spans, moments), moments, scale)
    if len(found) > 1 and _is_usual(found[-1], found[-2], moments):
        last = found.pop()
        found[-1] = found[-1]._replace(outliers=(*found[-1].outliers, *last.moments))
    if len(found) > 1 and _is_usual(found[0], found[1], moments):
        first = found.pop(0)
        found[0] = found[0]._replace(outliers=(*first.moments, *found[0].outliers))
    return tuple(found)


def estimate_shift(before: Segment, after: Segment, moments: RunGroups, *, relative: bool) -> SegmentShift:
    """By how much the later level is higher.

    Source: Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963); bounds by Mann and Whitney's statistic, in
    its normal approximation.
    """
    old, new = before.values(moments), after.values(moments)
    whole = (abs(statistics.median(old)) or 1.0) if relative else 1.0
    differences = np.sort(np.subtract.outer(np.array(new), np.array(old)), axis=None) / whole
    pairs = len(differences)
    deviation = math.sqrt(pairs * (len(old) + len(new) + 1) / 12)
    left_out = round(pairs / 2 - QUANTILE * deviation)
    bounds = (float(differences[left_out - 1]), float(differences[-left_out])) if left_out > 0 else (None, None)
    return SegmentShift(float(np.median(differences)), *bounds)


def count_saved_bits(before: Segment, after: Segment, moments: RunGroups) -> float:
    """How many bits fewer two levels take than one of both."""
    coding = SeriesCoder([moments[moment] for moment in (*before.moments, *after.moments)])
    return coding.bits((0,)) - coding.bits((0, len(before.moments)))


def _joined(spans: list[Segment], moments: RunGroups) -> list[Segment]:
    """Spans, with those joined that only a moment or two come between which stand apart from them."""
    found: list[Segment] = []
    while spans:
        level = spans.pop(0)
        while (following := _same_again(level, spans, moments)) is not None:
            apart = tuple(moment for span in spans[:following] for moment in span.moments)
            level = Segment((*level.moments, *spans[following].moments), (*level.outliers, *apart))
            del spans[: following + 1]
        found.append(level)
    return found


def _same_again(level: Segment, spans: Sequence[Segment], moments: RunGroups) -> int | None:
    """Which of the spans that follow goes on as it was before, with few moments in between; None: none."""
    between_count = 0
    for position, span in enumerate(spans):
        is_longer = min(len(level.moments), len(span.moments)) >= between_count
        if position and is_longer and count_saved_bits(level, span, moments) <= 0:
            return position
        between_count += len(span.moments)
        if between_count > OUTLIER_GROUPS_MAX:
            return None
    return None


def _merged(found: list[Segment], moments: RunGroups, scale: ShiftScale) -> list[Segment]:
    """Levels whose differences all matter."""
    while (span := _idle(found, moments, scale) or _chance(found, moments, scale)) is not None:
        parts = found[span]
        found[span] = [
            Segment(
                tuple(moment for part in parts for moment in part.moments),
                tuple(moment for part in parts for moment in part.outliers),
            )
        ]
    return found


def _idle(found: Sequence[Segment], moments: RunGroups, scale: ShiftScale) -> slice | None:
    """The two neighbours that differ least, of those whose difference does not matter; None where all do."""
    shifts = [estimate_shift(before, after, moments, relative=scale.relative) for before, after in pairwise(found)]
    idle = [position for position, each in enumerate(shifts) if not each.matters(scale.margin)]
    first = min(idle, key=lambda position: abs(shifts[position].middle), default=None)
    return None if first is None else slice(first, first + 2)


def _chance(found: Sequence[Segment], moments: RunGroups, scale: ShiftScale) -> slice | None:
    """A level between two that are alike, with both, where chance may well have made it; None: there is none.

    It may have done so anywhere in the series, so what would be rare at one place need not be rare.
    """
    for first, (before, between, after) in enumerate(zip(found, found[1:], found[2:], strict=False)):
        if estimate_shift(before, after, moments, relative=scale.relative).matters(scale.margin):
            continue
        around = before.values(moments) + after.values(moments)
        if mann_whitney_p(between.values(moments), around) * len(moments) > ALPHA:
            return slice(first, first + 3)
    return None


def mann_whitney_p(few: Sequence[float], many: Sequence[float]) -> float:
    """How likely chance sets values of one kind as far apart as these, either way.

    Source: Mann and Whitney, Annals of Mathematical Statistics 18 (1947); exact for up to 20 of the fewer.
    """
    few, many = sorted((few, many), key=len)
    m, n = len(few), len(many)
    greater = np.subtract.outer(np.array(few), np.array(many))
    wins = float((greater > 0).sum() + (greater == 0).sum() / 2)
    least = min(wins, m * n - wins)
    if m > EXACT_MAX:
        return 2 * statistics.NormalDist(m * n / 2, math.sqrt(m * n * (m + n + 1) / 12)).cdf(least)
    ways = [1] + [0] * math.floor(least)
    for step in range(1, m + 1):  # of the generating function of Gauss, (1 - q^(n + step)) / (1 - q^step)
        for at in range(len(ways) - 1, n + step - 1, -1):
            ways[at] -= ways[at - n - step]
        for at in range(step, len(ways)):
            ways[at] += ways[at - step]
    return min(1.0, 2 * sum(ways) / math.comb(m + n, m))


def _is_usual(end: Segment, beside: Segment, moments: RunGroups) -> bool:
    """Whether a single moment at an end is no further off than others of the level beside it, on the same side."""
    if len(end.moments) > 1:
        return False
    middle = statistics.median(beside.values(moments))
    off = statistics.fmean(end.values(moments)) - middle
    others = Segment(beside.moments + beside.outliers).values(moments)
    return any((value - middle) * off > 0 and abs(off) <= abs(value - middle) for value in others)
