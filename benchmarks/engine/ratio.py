"""Ratios of generators within a round, in which the machine's state is the same for both, and required ratios."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.engine.groups import STREAM_COUNTS
from benchmarks.engine.measure import RateMeasurement

SENT, RECEIVED, COST = "sent_pps", "received_pps", "cpu_ns_per_frame"
SCALING_BACKENDS = ("af_packet", "xdp_live", "dpdk null")
FALL_MAX_RATIO = 0.1


@dataclass(frozen=True)
class GeneratorPair:
    """Two generators of a group, and the compared metric of each."""

    group: str
    generator: str
    metric: str
    baseline: str
    baseline_metric: str
    minimum: float | None = None
    """The required ratio; None without a requirement."""

    def to_record(self) -> dict[str, Any]:
        """Return the pair as written to the JSON file."""
        return {
            "group": self.group,
            "ours": self.generator,
            "our_figure": self.metric,
            "theirs": self.baseline,
            "their_figure": self.baseline_metric,
            "at_least": self.minimum,
        }


def _pair_by_metric(
    group: str, generator: str, baseline: str, metric: str, minimum: float | None = None
) -> GeneratorPair:
    return GeneratorPair(group, generator, metric, baseline, metric, minimum)


def _create_scaling_pairs() -> Iterator[GeneratorPair]:
    for backend in SCALING_BACKENDS:
        metric = SENT if backend.startswith("dpdk") else RECEIVED
        for count in STREAM_COUNTS[1:]:
            yield _pair_by_metric("many", f"{backend} {count} streams", f"{backend} 1 stream", metric)
        yield _pair_by_metric("many", f"{backend} 1 M flows", f"{backend} 1 stream", metric, 1 - FALL_MAX_RATIO)


LIVE, XDP, PMD_XDP = "nodrop xdp_live send+receive", "nodrop af_xdp send+receive", "testpmd af_xdp send+receive"
PAIRS = (
    _pair_by_metric("veth", "nodrop send", "trafgen send", SENT, 1.0),
    _pair_by_metric("veth", "nodrop send", "testpmd send", SENT),
    _pair_by_metric("veth", "nodrop send+receive", "testpmd send+receive", RECEIVED, 1.5),
    _pair_by_metric("xdp", "nodrop af_xdp send", "testpmd af_xdp send", SENT, 1.0),
    _pair_by_metric("xdp", XDP, PMD_XDP, RECEIVED, 1.3),
    _pair_by_metric("xdp", LIVE, PMD_XDP, RECEIVED, 3.0),
    GeneratorPair("xdp", LIVE, RECEIVED, "trafgen send", SENT, 2.0),
    _pair_by_metric("dpdk", "nodrop dpdk null", "testpmd flowgen null", SENT, 1.0),
    _pair_by_metric("dpdk", "nodrop dpdk memif", "testpmd memif", RECEIVED, 0.9),
    GeneratorPair("zero-loss", "nodrop zero loss through xdp", RECEIVED, "trafgen send", SENT),
    _pair_by_metric("large", "nodrop send", "trafgen send", SENT),
    _pair_by_metric("large", "nodrop send+receive", "testpmd send+receive", RECEIVED),
    _pair_by_metric("large", XDP, PMD_XDP, RECEIVED),
    _pair_by_metric("large", LIVE, PMD_XDP, RECEIVED),
    _pair_by_metric("both-ways", "nodrop both ways", "testpmd both ways", RECEIVED),
    _pair_by_metric("both-ways", "nodrop af_xdp both ways", "testpmd af_xdp both ways", RECEIVED),
    _pair_by_metric("both-ways", "nodrop xdp_live both ways", "testpmd af_xdp both ways", RECEIVED),
    _pair_by_metric("cost", "in memory, latency", "in memory, counting", COST),
    _pair_by_metric("cost", "af_packet, latency", "af_packet, counting", COST),
    _pair_by_metric("cost", "af_packet, latency", "af_packet, counting", RECEIVED),
    _pair_by_metric("cost", "xdp_live, latency", "xdp_live, counting", COST),
    _pair_by_metric("cost", "xdp_live, latency", "xdp_live, counting", RECEIVED),
    *_create_scaling_pairs(),
)


@dataclass(frozen=True)
class Ratio:
    """The metric of one generator divided by that of its baseline, for each round."""

    pair: GeneratorPair
    frame_bytes: int
    by_round: tuple[float, ...]
    per_cpu_by_round: tuple[float, ...]
    """Ratios of frames per CPU time, which are less sensitive to other work on the machine; empty unless both only
    send."""

    @property
    def median(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.by_round)

    @property
    def met(self) -> bool | None:
        """Whether the median meets the requirement; None without a requirement."""
        return None if self.pair.minimum is None else self.median >= self.pair.minimum

    def to_record(self) -> dict[str, Any]:
        """Return the ratio as written to the JSON file."""
        return {
            "pair": self.pair.to_record(),
            "frame_bytes": self.frame_bytes,
            "by_round": self.by_round,
            "by_cpu": self.per_cpu_by_round,
            "median": self.median,
            "met": self.met,
        }


def compute_ratios(measurements: Sequence[RateMeasurement]) -> list[Ratio]:
    """Return the ratio of every pair that has at least one common round."""
    return [ratio for pair in PAIRS if (ratio := _compute_ratio(pair, measurements))]


def collect_by_round(
    measurements: Iterable[RateMeasurement], group: str, generator: str, metric: str
) -> dict[int, float]:
    """Return the values of a generator's metric by round, without rounds that have none."""
    matches = [each for each in measurements if (each.group, each.generator) == (group, generator)]
    return {each.round: value for each in matches if (value := getattr(each, metric))}


def _compute_ratio(pair: GeneratorPair, measurements: Sequence[RateMeasurement]) -> Ratio | None:
    by_round = _divide_by_round(measurements, pair, pair.metric, pair.baseline_metric)
    only_send = pair.metric == pair.baseline_metric == SENT
    per_cpu = tuple(1 / cost for cost in _divide_by_round(measurements, pair, COST, COST)) if only_send else ()
    sizes = (each.frame_bytes for each in measurements if each.group == pair.group)
    return Ratio(pair, next(sizes), by_round, per_cpu) if by_round else None


def _divide_by_round(
    measurements: Sequence[RateMeasurement], pair: GeneratorPair, metric: str, baseline_metric: str
) -> tuple[float, ...]:
    values = collect_by_round(measurements, pair.group, pair.generator, metric)
    baselines = collect_by_round(measurements, pair.group, pair.baseline, baseline_metric)
    return tuple(values[number] / baselines[number] for number in sorted(values.keys() & baselines.keys()))
