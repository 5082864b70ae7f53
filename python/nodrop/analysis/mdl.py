"""Partition of a series into groups with minimum description length.

Each group is encoded as independent values of a normal distribution: their count, mean, standard deviation, and the
position on the sphere that these define. A group that is not needed costs more bits than it saves.

Source: the code of FD.io CSIT's jumpavg 0.4.2 (`BitCountingStats`) with its 12 significant bits, so that bit counts
are comparable. The code of a group's mean depends on the previous mean; jumpavg extends only the best partition of
the preceding values, whereas this module keeps every partition that can still win and finds the true minimum.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SIGNIFICANT_BITS = 12.0
"""Significant bits of the largest value; jumpavg's default."""
FULL_SCALE = 2 ** (SIGNIFICANT_BITS + 1) - 1
"""The largest value in units of the smallest encoded difference."""
MEAN_BITS = math.log2(FULL_SCALE + 1)
"""Bits of a mean without a predecessor."""


class SeriesCoder:
    """The code length of a series of run groups, each with one or several values."""

    def __init__(self, groups: Sequence[Sequence[float]]) -> None:
        """Encode at least one run group, each with at least one finite value."""
        largest = max(abs(value) for group in groups for value in group)
        unit = largest / FULL_SCALE or 1.0
        self.group_count = len(groups)
        values = [[value / unit for value in group] for group in groups]
        counts = [len(group) for group in values]
        self._center = math.fsum(value for group in values for value in group) / sum(counts)
        self._counts = np.array([0, *accumulate(counts)])
        self._sums = _sum_prefixes(math.fsum(value - self._center for value in group) for group in values)
        self._squares = _sum_prefixes(math.fsum((value - self._center) ** 2 for value in group) for group in values)
        self._by_count = _compute_bits_by_count(int(self._counts[-1]))

    def find_shortest(self) -> tuple[int, ...]:
        """Return the start of each segment in the shortest description: the index of its first run group."""
        count = self.group_count
        bits = np.full((count, count + 1), np.inf)
        """Bits of the series up to a run group, by the start of the last segment."""
        previous_starts = np.zeros((count, count + 1), dtype=np.intp)
        """Start of the segment before the last one."""
        for first in range(count):
            ends = np.arange(first + 1, count + 1)
            means, alone = self._groups(np.full_like(ends, first), ends)
            if first == 0:
                bits[0, ends] = alone + MEAN_BITS
                continue
            earlier = np.arange(first)
            earlier_means, _ = self._groups(earlier, np.full_like(earlier, first))
            bits_before = bits[:first, first] + self._norm_bits(earlier_means)
            candidates = earlier[bits_before <= bits_before.min() + MEAN_BITS]
            linked = bits_before[candidates, None] - np.log2(np.abs(means - earlier_means[candidates, None]) + 1)
            best = linked.argmin(axis=0)
            bits[first, ends] = alone + linked[best, np.arange(len(ends))]
            previous_starts[first, ends] = candidates[best]
        return self._trace_back(bits, previous_starts)

    def count_bits(self, starts: Sequence[int]) -> float:
        """Return the bits of the series with segments that start at these run groups; the first start is 0."""
        firsts = np.array(starts)
        means, alone = self._groups(firsts, np.array([*starts[1:], self.group_count]))
        links = self._norm_bits(means[:-1]) - np.log2(np.abs(np.diff(means)) + 1)
        return float(alone.sum() + links.sum() + MEAN_BITS)

    def _trace_back(self, bits: Floats, previous_starts: NDArray[np.intp]) -> tuple[int, ...]:
        end = self.group_count
        first = int(bits[:, end].argmin())
        starts = [first]
        while first > 0:
            first, end = int(previous_starts[first, end]), first
            starts.append(first)
        return tuple(reversed(starts))

    def _groups(self, firsts: NDArray[np.intp], ends: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the means of segments, and their bits without those that depend on the previous mean."""
        counts = self._counts[ends] - self._counts[firsts]
        means = (self._sums[ends] - self._sums[firsts]) / counts
        variances = (self._squares[ends] - self._squares[firsts]) / counts - means**2
        deviations = np.sqrt(np.maximum(variances, 0.0))
        shape_bits = np.log2((deviations + 1) * (deviations + 2)) + math.log2(1 - 1 / (FULL_SCALE + 2))
        on_sphere = np.log2(deviations + 1) * (counts - 2)
        return means + self._center, self._by_count[counts] + np.where(counts > 1, shape_bits + on_sphere, 0.0)

    def _norm_bits(self, means: Floats) -> Floats:
        """Return the bits that normalize the probabilities of all next means."""
        norms: Floats = np.log2(means * means - (means - 1) * FULL_SCALE + FULL_SCALE**2 / 2)
        return norms


def _sum_prefixes(terms: Iterator[float]) -> Floats:
    return np.array([0.0, *accumulate(terms)])


def _compute_bits_by_count(count_max: int) -> Floats:
    """Return the bits of a segment that depend on its count only: the count, and the surface of the unit sphere."""
    bits = [0.0, 1.0]
    for count in range(2, count_max + 1):
        surface = math.log(2) + math.log(math.pi) * (count - 1) / 2 - math.lgamma((count - 1) / 2)
        surface += math.log(count) * (count - 2) / 2
        bits.append(math.log2(count * (count + 1)) + surface / math.log(2))
    return np.array(bits)
