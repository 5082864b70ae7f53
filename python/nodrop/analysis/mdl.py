"""A series cut into groups so that telling it takes the fewest bits: minimum description length.

Each group is told as so many independent values of a normal distribution: how many, their mean, their standard
deviation, and where on the sphere that these leave the values are. Groups that are not needed cost more than they save.

Source: the coding is that of FD.io CSIT's jumpavg 0.4.2 (`BitCountingStats`) with its 12 significant bits, so that bits
can be compared with it. How a group's mean is told depends on the mean before it; jumpavg goes on from one best way to
cut what came before, here every one that can still win is kept, which gives the shortest description there is.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SIGNIFICANT_BITS = 12.0
"""Of the largest value; jumpavg's default."""
FULL_SCALE = 2 ** (SIGNIFICANT_BITS + 1) - 1
"""The largest value in units of the smallest difference that is told."""
MEAN_BITS = math.log2(FULL_SCALE + 1)
"""What it takes to tell a mean of which nothing is known."""


class SeriesCoder:
    """How many bits it takes to tell a series of moments, at each of which one or several values were measured."""

    def __init__(self, moments: Sequence[Sequence[float]]) -> None:
        """Take in at least one moment, each with at least one value, all finite."""
        largest = max(abs(value) for moment in moments for value in moment)
        unit = largest / FULL_SCALE or 1.0
        self.moment_count = len(moments)
        values = [[value / unit for value in moment] for moment in moments]
        counts = [len(moment) for moment in values]
        self._centre = math.fsum(value for moment in values for value in moment) / sum(counts)
        self._counts = np.array([0, *accumulate(counts)])
        self._sums = _prefix(math.fsum(value - self._centre for value in moment) for moment in values)
        self._squares = _prefix(math.fsum((value - self._centre) ** 2 for value in moment) for moment in values)
        self._by_count = _bits_by_count(int(self._counts[-1]))

    def shortest(self) -> tuple[int, ...]:
        """Where each group begins, as the number of its first moment, in the shortest description; 0 first."""
        count = self.moment_count
        bits = np.full((count, count + 1), np.inf)
        """Of everything up to a moment, by where the last group begins."""
        before = np.zeros((count, count + 1), dtype=np.intp)
        """Where the group before that one begins."""
        for first in range(count):
            ends = np.arange(first + 1, count + 1)
            means, alone = self._groups(np.full_like(ends, first), ends)
            if first == 0:
                bits[0, ends] = alone + MEAN_BITS
                continue
            earlier = np.arange(first)
            earlier_means, _ = self._groups(earlier, np.full_like(earlier, first))
            so_far = bits[:first, first] + self._norm_bits(earlier_means)
            kept = earlier[so_far <= so_far.min() + MEAN_BITS]
            linked = so_far[kept, None] - np.log2(np.abs(means - earlier_means[kept, None]) + 1)
            best = linked.argmin(axis=0)
            bits[first, ends] = alone + linked[best, np.arange(len(ends))]
            before[first, ends] = kept[best]
        return self._traced(bits, before)

    def bits(self, starts: Sequence[int]) -> float:
        """Bits of the series cut at those moments, of which the first is 0."""
        firsts = np.array(starts)
        means, alone = self._groups(firsts, np.array([*starts[1:], self.moment_count]))
        links = self._norm_bits(means[:-1]) - np.log2(np.abs(np.diff(means)) + 1)
        return float(alone.sum() + links.sum() + MEAN_BITS)

    def _traced(self, bits: Floats, before: NDArray[np.intp]) -> tuple[int, ...]:
        end = self.moment_count
        first = int(bits[:, end].argmin())
        starts = [first]
        while first > 0:
            first, end = int(before[first, end]), first
            starts.append(first)
        return tuple(reversed(starts))

    def _groups(self, firsts: NDArray[np.intp], ends: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Means of groups, and their bits without those that depend on the mean before."""
        counts = self._counts[ends] - self._counts[firsts]
        means = (self._sums[ends] - self._sums[firsts]) / counts
        variances = (self._squares[ends] - self._squares[firsts]) / counts - means**2
        deviations = np.sqrt(np.maximum(variances, 0.0))
        told = np.log2((deviations + 1) * (deviations + 2)) + math.log2(1 - 1 / (FULL_SCALE + 2))
        on_sphere = np.log2(deviations + 1) * (counts - 2)
        return means + self._centre, self._by_count[counts] + np.where(counts > 1, told + on_sphere, 0.0)

    def _norm_bits(self, means: Floats) -> Floats:
        """What makes the chances of all next means one in sum."""
        norms: Floats = np.log2(means * means - (means - 1) * FULL_SCALE + FULL_SCALE**2 / 2)
        return norms


def _prefix(terms: Iterator[float]) -> Floats:
    return np.array([0.0, *accumulate(terms)])


def _bits_by_count(count_max: int) -> Floats:
    """What a group costs by its count alone: the count itself, and the surface of a sphere of radius 1."""
    bits = [0.0, 1.0]
    for count in range(2, count_max + 1):
        surface = math.log(2) + math.log(math.pi) * (count - 1) / 2 - math.lgamma((count - 1) / 2)
        surface += math.log(count) * (count - 2) / 2
        bits.append(math.log2(count * (count + 1)) + surface / math.log(2))
    return np.array(bits)
