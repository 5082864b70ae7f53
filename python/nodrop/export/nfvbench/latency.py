"""Latency in whole microseconds, and its histogram in them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from nodrop.model.latency import merged
from nodrop.model.trial import DirectionTimes

HIGHEST_USEC = 3_600_000_000
"""An hour: what a histogram of NFVbench's holds."""
DIGITS = 3


class Usec(NamedTuple):
    """Latency of some frames; None where there were none."""

    mean: int | None
    smallest: int | None
    largest: int | None
    percentiles: dict[str, int]
    hdrh: str | None

    @property
    def details(self) -> dict[str, Any]:
        """Histogram and percentiles as fields, those that are known."""
        return ({"hdrh": self.hdrh} if self.hdrh else {}) | self.known_percentiles

    @property
    def known_percentiles(self) -> dict[str, Any]:
        """Percentiles as a field, if any are known."""
        return {"lat_percentile": self.percentiles} if self.percentiles else {}


def latency_usec(series: Sequence[DirectionTimes], percentiles: Sequence[float], with_histogram: bool = True) -> Usec:
    """Latency of all frames of these series together.

    Args:
        series: what was measured.
        percentiles: those wanted, 0 to 100.
        with_histogram: whether the histogram is wanted too.
    """
    found = merged(series, percentiles)
    if not found:
        return Usec(None, None, None, {}, None)
    encoded = [times.latency.hdr for times in series if times.latency and times.latency.hdr]
    return Usec(
        round(found.mean_ns / 1000),
        round(found.min_ns / 1000),
        round(found.max_ns / 1000),
        {f"{percentile:g}": round(value_ns / 1000) for percentile, value_ns in found.percentiles_ns.items()},
        histogram_usec(encoded) if with_histogram and encoded else None,
    )


def histogram_usec(encoded_ns: Iterable[str]) -> str:
    """Histograms of nanoseconds as one of microseconds, each value rounded: HdrHistogram V2, deflated, base64."""
    from hdrh.histogram import HdrHistogram  # noqa: PLC0415

    total = HdrHistogram(1, HIGHEST_USEC, DIGITS)
    for text in encoded_ns:
        for item in HdrHistogram.decode(text).get_recorded_iterator():
            value = min(HIGHEST_USEC, round(item.value_iterated_to / 1000))
            total.record_value(value, item.count_at_value_iterated_to)
    return str(total.encode().decode("ascii"))
