"""Ratios within a round, where the machine was in the same mood for both, and what is demanded of them."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.engine.groups import STREAM_COUNTS
from benchmarks.engine.measure import Measurement

SENT, RECEIVED, COST = "sent_pps", "received_pps", "cpu_ns_per_frame"
MANY = ("af_packet", "xdp_live", "dpdk null")
FALL_MAX_RATIO = 0.1


@dataclass(frozen=True)
class Pair:
    """Two contestants of a group, and the figure of each that is compared."""

    group: str
    ours: str
    our_figure: str
    theirs: str
    their_figure: str
    at_least: float | None = None
    """What is demanded of the ratio."""


def _rates(group: str, ours: str, theirs: str, figure: str, at_least: float | None = None) -> Pair:
    return Pair(group, ours, figure, theirs, figure, at_least)


def _many() -> Iterator[Pair]:
    for backend in MANY:
        figure = SENT if backend.startswith("dpdk") else RECEIVED
        for count in STREAM_COUNTS[1:]:
            yield _rates("many", f"{backend} {count} streams", f"{backend} 1 stream", figure)
        yield _rates("many", f"{backend} 1 M flows", f"{backend} 1 stream", figure, 1 - FALL_MAX_RATIO)


LIVE, XDP, PMD_XDP = "nodrop xdp_live send+receive", "nodrop af_xdp send+receive", "testpmd af_xdp send+receive"
PAIRS = (
    _rates("veth", "nodrop send", "trafgen send", SENT, 1.0),
    _rates("veth", "nodrop send", "testpmd send", SENT),
    _rates("veth", "nodrop send+receive", "testpmd send+receive", RECEIVED, 1.5),
    _rates("xdp", "nodrop af_xdp send", "testpmd af_xdp send", SENT, 1.0),
    _rates("xdp", XDP, PMD_XDP, RECEIVED, 1.3),
    _rates("xdp", LIVE, PMD_XDP, RECEIVED, 3.0),
    Pair("xdp", LIVE, RECEIVED, "trafgen send", SENT, 2.0),
    _rates("dpdk", "nodrop dpdk null", "testpmd flowgen null", SENT, 1.0),
    _rates("dpdk", "nodrop dpdk memif", "testpmd memif", RECEIVED, 0.9),
    Pair("zero-loss", "nodrop zero loss through xdp", RECEIVED, "trafgen send", SENT),
    _rates("large", "nodrop send", "trafgen send", SENT),
    _rates("large", "nodrop send+receive", "testpmd send+receive", RECEIVED),
    _rates("large", XDP, PMD_XDP, RECEIVED),
    _rates("large", LIVE, PMD_XDP, RECEIVED),
    _rates("both-ways", "nodrop both ways", "testpmd both ways", RECEIVED),
    _rates("both-ways", "nodrop af_xdp both ways", "testpmd af_xdp both ways", RECEIVED),
    _rates("both-ways", "nodrop xdp_live both ways", "testpmd af_xdp both ways", RECEIVED),
    _rates("cost", "in memory, latency", "in memory, counting", COST),
    _rates("cost", "af_packet, latency", "af_packet, counting", COST),
    _rates("cost", "af_packet, latency", "af_packet, counting", RECEIVED),
    _rates("cost", "xdp_live, latency", "xdp_live, counting", COST),
    _rates("cost", "xdp_live, latency", "xdp_live, counting", RECEIVED),
    *_many(),
)


@dataclass(frozen=True)
class Ratio:
    """Figures of one contestant divided by those of another, round by round."""

    pair: Pair
    frame_bytes: int
    by_round: tuple[float, ...]
    by_cpu: tuple[float, ...]
    """The same of frames per CPU time, which other work on the machine moves less; where both only send."""

    @property
    def median(self) -> float:
        """Of the rounds."""
        return statistics.median(self.by_round)

    @property
    def met(self) -> bool | None:
        """Whether the median is what is demanded; None when nothing is."""
        return None if self.pair.at_least is None else self.median >= self.pair.at_least


def ratios(measurements: Sequence[Measurement]) -> list[Ratio]:
    """Every pair that has at least one round in common."""
    return [found for pair in PAIRS if (found := _ratio(pair, measurements))]


def figures(measurements: Iterable[Measurement], group: str, contestant: str, figure: str) -> dict[int, float]:
    """A contestant's, by round, where there are any."""
    mine = [one for one in measurements if (one.group, one.contestant) == (group, contestant)]
    return {one.round: value for one in mine if (value := getattr(one, figure))}


def _ratio(pair: Pair, measurements: Sequence[Measurement]) -> Ratio | None:
    by_round = _quotients(measurements, pair, pair.our_figure, pair.their_figure)
    only_send = pair.our_figure == pair.their_figure == SENT
    by_cpu = tuple(1 / cost for cost in _quotients(measurements, pair, COST, COST)) if only_send else ()
    sizes = (one.frame_bytes for one in measurements if one.group == pair.group)
    return Ratio(pair, next(sizes), by_round, by_cpu) if by_round else None


def _quotients(measurements: Sequence[Measurement], pair: Pair, ours: str, theirs: str) -> tuple[float, ...]:
    mine = figures(measurements, pair.group, pair.ours, ours)
    peers = figures(measurements, pair.group, pair.theirs, theirs)
    return tuple(mine[number] / peers[number] for number in sorted(mine.keys() & peers.keys()))
