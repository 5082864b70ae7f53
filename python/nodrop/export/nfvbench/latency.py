"""Latency and its histogram in whole microseconds."""

import bisect
import functools
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from nodrop.model.latency import merge_latency
from nodrop.model.trial import DirectionTimes

HIGHEST_USEC = 3_600_000_000
"""Largest value of NFVbench's histograms: one hour."""
DIGITS = 3


class LatencyUsec(NamedTuple):
    """Latency in microseconds; None without frames."""

    mean: int | None
    smallest: int | None
    largest: int | None
    percentiles: dict[str, int]
    hdrh: str | None

    @property
    def details(self) -> dict[str, Any]:
        """Histogram and percentiles as fields, where known."""
        return ({"hdrh": self.hdrh} if self.hdrh else {}) | self.percentile_fields

    @property
    def percentile_fields(self) -> dict[str, Any]:
        """Percentiles as a field, where known."""
        return {"lat_percentile": self.percentiles} if self.percentiles else {}


def compute_latency_usec(
    series: Sequence[DirectionTimes], percentiles: Sequence[float], with_histogram: bool = True
) -> LatencyUsec:
    """Compute the latency of all frames of several series.

    Args:
        series: what was measured.
        percentiles: percentiles to compute, 0 to 100.
        with_histogram: whether to include the histogram.
    """
    encoded = [times.latency.hdr for times in series if times.latency and times.latency.hdr]
    is_complete = len(encoded) == sum(times.latency is not None for times in series)
    summary = merge_latency(series, () if is_complete else percentiles)
    if not summary:
        return LatencyUsec(None, None, None, {}, None)
    counts = Counter[int]()
    for text in encoded if is_complete and (percentiles or with_histogram) else ():
        counts.update(_decode_counts(text))
    percentiles_ns = _compute_percentiles(counts, percentiles) if is_complete else summary.percentiles_ns
    return LatencyUsec(
        round(summary.mean_ns / 1000),
        round(summary.min_ns / 1000),
        round(summary.max_ns / 1000),
        {f"{percentile:g}": round(value_ns / 1000) for percentile, value_ns in percentiles_ns.items()},
        _encode_histogram_usec(counts) if with_histogram and is_complete else None,
    )


@functools.lru_cache(maxsize=512)
def _decode_counts(encoded: str) -> Counter[int]:
    """Decode a histogram to counts by value in nanoseconds. Callers must not change the cached result.

    The library's own iterators take half a second for what this does in a few milliseconds.
    """
    from hdrh.histogram import HdrHistogram

    histogram = HdrHistogram.decode(encoded)
    return Counter(
        {
            int(histogram.get_highest_equivalent_value(histogram.get_value_from_index(index))): count
            for index, count in enumerate(histogram.counts)
            if count
        }
    )


def _compute_percentiles(counts: Counter[int], percentiles: Sequence[float]) -> dict[float, int]:
    """Return, for each percentile, the smallest value that this share of all values does not exceed."""
    values = sorted(counts)
    reached = list(itertools.accumulate(counts[value] for value in values))
    values_ns = {}
    for percentile in percentiles if values else ():
        rank = max(1, int(percentile / 100 * reached[-1] + 0.5))
        values_ns[percentile] = values[bisect.bisect_left(reached, rank)]
    return values_ns


def _encode_histogram_usec(counts_ns: Counter[int]) -> str:
    """Encode counts as a histogram in rounded microseconds: HdrHistogram V2, deflated, base64."""
    from hdrh.histogram import HdrHistogram

    histogram = HdrHistogram(1, HIGHEST_USEC, DIGITS)
    for value_ns, count in counts_ns.items():
        histogram.record_value(min(HIGHEST_USEC, round(value_ns / 1000)), count)
    return str(histogram.encode().decode("ascii"))
