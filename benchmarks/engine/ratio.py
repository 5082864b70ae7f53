"""nodrop beside each peer: the ratio of their rates within a round, where the machine was in the same mood for both."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.engine.measure import Measurement

PAIRS = (
    ("nodrop send", "trafgen send", "sent_pps"),
    ("nodrop send", "testpmd send", "sent_pps"),
    ("nodrop send+receive", "testpmd send+receive", "sent_pps"),
    ("nodrop send+receive", "testpmd send+receive", "received_pps"),
    ("nodrop send+receive", "nodrop counting", "received_pps"),
    ("nodrop af_xdp send", "testpmd af_xdp send", "sent_pps"),
    ("nodrop af_xdp send+receive", "testpmd af_xdp send+receive", "received_pps"),
    ("nodrop xdp_live send+receive", "testpmd af_xdp send+receive", "received_pps"),
    ("nodrop xdp_live send+receive", "trafgen send", "sent_pps"),
    ("nodrop dpdk null", "testpmd flowgen null", "sent_pps"),
    ("nodrop dpdk memif", "testpmd memif", "received_pps"),
)


@dataclass(frozen=True)
class Ratio:
    """Rates of `ours` divided by those of `theirs`, round by round."""

    ours: str
    theirs: str
    rate: str
    frame_bytes: int
    by_round: tuple[float, ...]

    @property
    def median(self) -> float:
        """Of the rounds."""
        return statistics.median(self.by_round)


def ratios(measurements: Sequence[Measurement]) -> list[Ratio]:
    """Every pair at every frame size that has at least one round in common."""
    found = (
        Ratio(ours, theirs, rate, size, tuple(_by_round(measurements, size, ours, theirs, rate)))
        for size in sorted({one.frame_bytes for one in measurements})
        for ours, theirs, rate in PAIRS
    )
    return [ratio for ratio in found if ratio.by_round]


def _by_round(measurements: Sequence[Measurement], size: int, ours: str, theirs: str, rate: str) -> Iterable[float]:
    rates = {(one.contestant, one.round): getattr(one, rate) for one in measurements if one.frame_bytes == size}
    for number in sorted({number for _, number in rates}):
        mine, peer = rates.get((ours, number)), rates.get((theirs, number))
        if mine and peer:
            yield mine / peer
