"""Latency statistics of a TRex server, converted to nodrop's.

Only the HdrHistogram contains every latency: TRex's own average is a filter over half seconds, and its maximum omits
the first of them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from hdrh.histogram import HdrHistogram

from nodrop.generator.trex.stream_set import FlowStatsIds
from nodrop.generator.trex.trial_windows import Grouping
from nodrop.model.traffic import Traffic
from nodrop.model.trial import DirectionTimes, LatencySummary

INDIVIDUAL_STREAMS_MAX = 256
"""Up to this number, each stream gets latency statistics of its own, as with nodrop's own engine."""
MAX_NS = 60_000_000_000
DIGITS = 3
NS_PER_US = 1000


def latency_directions(
    traffic: Traffic,
    counted: Sequence[FlowStatsIds],
    latency_by_id: dict[str, Any],
    loads_pps: Sequence[float],
    *,
    whole: bool,
) -> tuple[DirectionTimes, ...]:
    """Return the latency of each series; None for series without a latency stream.

    Args:
        traffic: the streams.
        counted: the counter ids of each stream.
        latency_by_id: the server's statistics by pg_id, in microseconds.
        loads_pps: load of each stream, its latency stream included.
        whole: whether to keep histograms.
    """
    grouping = Grouping(traffic, INDIVIDUAL_STREAMS_MAX)
    return tuple(
        DirectionTimes(
            tx_port=series.tx_port,
            rx_port=series.rx_port,
            stream_id=series.stream_id,
            latency_every=_every([counted[i] for i in members], [loads_pps[i] for i in members]),
            latency=summarize([latency_by_id.get(str(counted[i].latency_pg_id)) for i in members], whole=whole),
        )
        for number, series in enumerate(grouping.series)
        for members in [[i for i, its in enumerate(grouping.of_stream) if its == number]]
    )


def _every(counted: Sequence[FlowStatsIds], loads_pps: Sequence[float]) -> int:
    """Return the approximate number of frames per frame whose latency is measured."""
    measured_pps = sum(each.latency_load_pps for each in counted if each.latency_pg_id is not None)
    return max(1, round(sum(loads_pps) / measured_pps)) if measured_pps else 0


def summarize(latency_by_id: Iterable[dict[str, Any] | None], *, whole: bool) -> LatencySummary | None:
    """Summarize the latency of several streams; None without histograms, or without frames received."""
    histograms = [histogram for each in latency_by_id if each and (histogram := (each.get("lat") or {}).get("hdrh"))]
    if not histograms:
        return None
    in_us = HdrHistogram.decode(histograms[0])
    for histogram in histograms[1:]:
        in_us.decode_and_add(histogram)
    count = int(in_us.get_total_count())
    if not count:
        return None

    def at(percentile: float) -> int:
        return int(in_us.get_value_at_percentile(percentile)) * NS_PER_US

    low_ns, high_ns = int(in_us.get_min_value()) * NS_PER_US, int(in_us.get_max_value()) * NS_PER_US
    return LatencySummary(
        count=count,
        min_ns=low_ns,
        mean_ns=float(in_us.get_mean_value()) * NS_PER_US,
        p50_ns=at(50.0),
        p90_ns=at(90.0),
        p99_ns=at(99.0),
        p999_ns=at(99.9),
        max_ns=high_ns,
        pdv_ns=at(99.9) - low_ns,
        hdr=_in_ns(in_us) if whole else None,
    )


def _in_ns(in_us: Any) -> str:
    """Return the histogram in nanoseconds, in the encoding of results."""
    in_ns = HdrHistogram(1, MAX_NS, DIGITS)
    for item in in_us.get_recorded_iterator():
        in_ns.record_value(min(item.value_iterated_to * NS_PER_US, MAX_NS), item.count_added_in_this_iter_step)
    return str(in_ns.encode().decode())
