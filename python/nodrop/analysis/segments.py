"""Segments of a series: the groups of its shortest description whose differences exceed a margin.

The shortest description shows every difference that is not chance, however small, including a different scatter of
the same values. Segments are merged until all differences between neighbors are larger than the margin.
"""

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nodrop.analysis.mdl import SeriesCoder

RunGroups = Sequence[Sequence[float]]
"""The measured values by run group: one run, or the repeats of a suite."""
QUANTILE = statistics.NormalDist().inv_cdf(0.975)
"""Two-sided normal quantile for 95 % confidence."""
ALPHA = 0.05
EXACT_MAX = 20
OUTLIER_GROUPS_MAX = 2
"""Most run groups between two equal segments that count as outliers; more are two changes."""


class LevelSegment(NamedTuple):
    """Run groups of equal level, without their outliers."""

    groups: tuple[int, ...]
    outliers: tuple[int, ...] = ()

    def values(self, groups: RunGroups) -> list[float]:
        """Return the values of the segment."""
        return [value for group in self.groups for value in groups[group]]


class SegmentShift(NamedTuple):
    """The shift from one segment to another."""

    middle: float
    low: float | None
    high: float | None
    """The 95 % confidence interval; None with too few values for a bound."""

    def matters(self, margin: float) -> bool:
        """Return whether the shift reaches the margin and its sign is certain."""
        unclear = self.low is not None and self.high is not None and self.low <= 0 <= self.high
        return abs(self.middle) >= margin and not unclear


class ShiftScale(NamedTuple):
    """The scale on which segments are compared."""

    margin: float
    relative: bool
    """Whether the shift is relative to the median of the earlier segment; else absolute."""


def find_segments(groups: RunGroups, scale: ShiftScale) -> tuple[LevelSegment, ...]:
    """Return the segments of a series of at least one run group, in order."""
    starts = SeriesCoder(groups).find_shortest()
    ends = (*starts[1:], len(groups))
    spans = [LevelSegment(tuple(range(start, end))) for start, end in zip(starts, ends, strict=True)]
    segments = _merge(_join_across_outliers(spans, groups), groups, scale)
    if len(segments) > 1 and _is_usual(segments[-1], segments[-2], groups):
        last = segments.pop()
        segments[-1] = segments[-1]._replace(outliers=(*segments[-1].outliers, *last.groups))
    if len(segments) > 1 and _is_usual(segments[0], segments[1], groups):
        first = segments.pop(0)
        segments[0] = segments[0]._replace(outliers=(*first.groups, *segments[0].outliers))
    return tuple(segments)


def estimate_shift(before: LevelSegment, after: LevelSegment, groups: RunGroups, *, relative: bool) -> SegmentShift:
    """Estimate the shift from one segment to the next.

    Source: Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963); bounds by Mann and Whitney's statistic, in
    its normal approximation.
    """
    old, new = before.values(groups), after.values(groups)
    unit = (abs(statistics.median(old)) or 1.0) if relative else 1.0
    differences = np.sort(np.subtract.outer(np.array(new), np.array(old)), axis=None) / unit
    pairs = len(differences)
    deviation = math.sqrt(pairs * (len(old) + len(new) + 1) / 12)
    tail_count = round(pairs / 2 - QUANTILE * deviation)
    bounds = (float(differences[tail_count - 1]), float(differences[-tail_count])) if tail_count > 0 else (None, None)
    return SegmentShift(float(np.median(differences)), *bounds)


def count_saved_bits(before: LevelSegment, after: LevelSegment, groups: RunGroups) -> float:
    """Return the bits that two segments save compared with one segment of both."""
    coding = SeriesCoder([groups[group] for group in (*before.groups, *after.groups)])
    return coding.count_bits((0,)) - coding.count_bits((0, len(before.groups)))


def _join_across_outliers(spans: list[LevelSegment], groups: RunGroups) -> list[LevelSegment]:
    """Join equal spans that are separated by only a few outliers."""
    segments: list[LevelSegment] = []
    while spans:
        segment = spans.pop(0)
        while (following := _find_continuation(segment, spans, groups)) is not None:
            outliers = tuple(group for span in spans[:following] for group in span.groups)
            segment = LevelSegment((*segment.groups, *spans[following].groups), (*segment.outliers, *outliers))
            del spans[: following + 1]
        segments.append(segment)
    return segments


def _find_continuation(segment: LevelSegment, spans: Sequence[LevelSegment], groups: RunGroups) -> int | None:
    """Return the index of the following span that continues the segment after a few run groups; None: none."""
    between_count = 0
    for position, span in enumerate(spans):
        is_longer = min(len(segment.groups), len(span.groups)) >= between_count
        if position and is_longer and count_saved_bits(segment, span, groups) <= 0:
            return position
        between_count += len(span.groups)
        if between_count > OUTLIER_GROUPS_MAX:
            return None
    return None


def _merge(segments: list[LevelSegment], groups: RunGroups, scale: ShiftScale) -> list[LevelSegment]:
    """Merge segments until all differences matter."""
    while (span := _find_insignificant(segments, groups, scale) or _find_random(segments, groups, scale)) is not None:
        parts = segments[span]
        segments[span] = [
            LevelSegment(
                tuple(group for part in parts for group in part.groups),
                tuple(group for part in parts for group in part.outliers),
            )
        ]
    return segments


def _find_insignificant(segments: Sequence[LevelSegment], groups: RunGroups, scale: ShiftScale) -> slice | None:
    """Return the two neighbors with the smallest insignificant shift; None where all shifts matter."""
    shifts = [estimate_shift(before, after, groups, relative=scale.relative) for before, after in pairwise(segments)]
    idle = [position for position, each in enumerate(shifts) if not each.matters(scale.margin)]
    first = min(idle, key=lambda position: abs(shifts[position].middle), default=None)
    return None if first is None else slice(first, first + 2)


def _find_random(segments: Sequence[LevelSegment], groups: RunGroups, scale: ShiftScale) -> slice | None:
    """Return a segment, with its two equal neighbors, that chance may have produced; None: none exists.

    The test accounts for all possible positions in the series.
    """
    for first, (before, between, after) in enumerate(zip(segments, segments[1:], segments[2:], strict=False)):
        if estimate_shift(before, after, groups, relative=scale.relative).matters(scale.margin):
            continue
        around = before.values(groups) + after.values(groups)
        if compute_mann_whitney_p(between.values(groups), around) * len(groups) > ALPHA:
            return slice(first, first + 3)
    return None


def compute_mann_whitney_p(few: Sequence[float], many: Sequence[float]) -> float:
    """Return the two-sided Mann-Whitney p-value of two samples.

    Source: Mann and Whitney, Annals of Mathematical Statistics 18 (1947); exact up to 20 values in the smaller sample.
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


def _is_usual(end: LevelSegment, neighbor: LevelSegment, groups: RunGroups) -> bool:
    """Return whether a single run group at an end lies within the range of the neighboring segment."""
    if len(end.groups) > 1:
        return False
    middle = statistics.median(neighbor.values(groups))
    offset = statistics.fmean(end.values(groups)) - middle
    values = LevelSegment(neighbor.groups + neighbor.outliers).values(groups)
    return any((value - middle) * offset > 0 and abs(offset) <= abs(value - middle) for value in values)
