"""Counters by packet group, as `get_pgid_stats` returns them: they run until the streams are removed."""

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hdrh.histogram import HdrHistogram

HIGHEST_US = 10_000_000
DIGITS = 3
VERSIONS = itertools.count(1)


def histogram() -> HdrHistogram:
    """Return a histogram as TRex stores it: microseconds."""
    return HdrHistogram(1, HIGHEST_US, DIGITS)


@dataclass
class Latency:
    """Latencies of a packet group since its streams were added."""

    times_us: HdrHistogram = field(default_factory=histogram)
    min_us: float = 0.0
    max_us: float = 0.0
    last_max_us: float = 0.0
    average_us: float = 0.0
    jitter_us: float = 0.0
    lost_count: int = 0
    out_of_order_count: int = 0
    duplicate_count: int = 0
    decades: dict[str, int] = field(default_factory=dict)
    encoded: str = ""
    """The encoded histogram, which is slow to build."""

    def add(self, summary: dict[str, Any]) -> None:
        """Add the engine's latencies of one trial."""
        measured = HdrHistogram.decode(summary["hdr"])
        for item in measured.get_recorded_iterator():
            self.times_us.record_value(item.value_iterated_to // 1000, item.count_at_value_iterated_to)
        smallest, largest = summary["min_ns"] / 1e3, summary["max_ns"] / 1e3
        self.min_us = min(self.min_us or smallest, smallest)
        # The first half second enters no maximum: the figure is too low, as TRex's is.
        self.last_max_us = largest
        self.max_us = max(self.max_us, largest)
        mean_us = summary["mean_ns"] / 1e3
        self.average_us = (self.average_us + mean_us) / 2 if self.average_us else mean_us
        if summary["ipdv"]:
            self.jitter_us = summary["ipdv"]["mean_ns"] / 1e3
        self.decades, self.encoded = self._decades(), ""

    def as_json(self, *, with_histogram: bool, with_minimum: bool) -> dict[str, Any]:
        """Return `latency.<pg>`."""
        times: dict[str, Any] = {
            "total_max": int(self.max_us),
            "last_max": int(self.last_max_us),
            "average": self.average_us,
            "jit": int(self.jitter_us),
            "histogram": self.decades,
        }
        if with_minimum:
            times["total_min"] = int(self.min_us)
        if with_histogram:
            self.encoded = self.encoded or self.times_us.encode().decode()
            times["hdrh"] = self.encoded
        errors = {
            "drp": self.lost_count,
            "ooo": self.out_of_order_count,
            "dup": self.duplicate_count,
            "sth": min(self.lost_count, 1),
            "stl": self.out_of_order_count + self.duplicate_count,
        }
        result = {name: count for name, count in errors.items() if count}
        return {"lat": times} | ({"er": result} if result else {})

    def _decades(self) -> dict[str, int]:
        counts: Counter[int] = Counter()
        for item in self.times_us.get_recorded_iterator():
            counts[_lower_edge(int(item.value_iterated_to))] += item.count_at_value_iterated_to
        return {str(edge): count for edge, count in sorted(counts.items())}


@dataclass
class PacketGroup:
    """Streams with common counters."""

    is_latency: bool
    version: int = field(default_factory=lambda: next(VERSIONS))
    sent: Counter[int] = field(default_factory=Counter)
    sent_bytes: Counter[int] = field(default_factory=Counter)
    received: Counter[int] = field(default_factory=Counter)
    received_bytes: Counter[int] = field(default_factory=Counter)
    latency: Latency = field(default_factory=Latency)

    def count(self, way: tuple[int, int], sent: int, received: int, wire_bytes: float) -> None:
        """Add frames of a stream from one port to another."""
        self.sent[way[0]] += sent
        self.sent_bytes[way[0]] += round(sent * wire_bytes)
        self.received[way[1]] += received
        self.received_bytes[way[1]] += round(received * wire_bytes)

    def copied(self) -> "PacketGroup":
        """Return a copy that can count on."""
        counts = (Counter(each) for each in (self.sent, self.sent_bytes, self.received, self.received_bytes))
        return PacketGroup(self.is_latency, self.version, *counts)

    def as_json(self, ports: int) -> dict[str, dict[str, int]]:
        """Return `flow_stats.<pg>`, by port."""

        def by_port(counts: Counter[int]) -> dict[str, int]:
            return {str(port): counts[port] for port in range(ports)}

        counts = {
            "tp": by_port(self.sent),
            "tb": by_port(self.sent_bytes),
            "rp": by_port(self.received),
            "rb": by_port(self.received_bytes),
        }
        rates = {name: {str(port): 0 for port in range(ports)} for name in ("tps", "tbs", "rps", "rbs")}
        return counts | rates


def _lower_edge(value_us: int) -> int:
    if value_us < 10:
        return 0
    decade = 10 ** (len(str(value_us)) - 1)
    return value_us // decade * decade
