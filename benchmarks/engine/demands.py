"""What is demanded of the engine beside its peers, and whether it is met; and ratios of which nothing is demanded."""

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.engine.measure import Measurement
from benchmarks.engine.ratio import COST, RECEIVED, SENT, Ratio, figures

ZERO_LOSS_PPS = 1.5e6
TRAFGEN_PPS = 0.8e6
"""Where trafgen sends so much; on a slower machine, in proportion."""
FIGURES = {SENT: "sent", RECEIVED: "received", COST: "CPU per frame"}


def demand_lines(measurements: Sequence[Measurement], ratios: Sequence[Ratio]) -> Iterator[str]:
    """A line each, the ones demanded first."""
    yield from (_ratio_line(ratio) for ratio in ratios if ratio.met is not None)
    yield from _zero_loss(measurements)
    yield from (_ratio_line(ratio) for ratio in ratios if ratio.met is None)
    yield from _costs(measurements)


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Median, lowest and highest."""
    shown = (f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return "{} ({} to {})".format(*shown)


def verdict(met: bool | None) -> str:
    """As wide as any other."""
    return {True: "met    ", False: "NOT MET", None: "       "}[met]


def _ratio_line(ratio: Ratio) -> str:
    pair = ratio.pair
    demanded = "" if pair.at_least is None else f", demanded at least {pair.at_least:g}"
    per_cpu = f", per CPU time {spread(ratio.by_cpu, 2)}" if ratio.by_cpu else ""
    way = "falls" if ratio.median < 1 else "rises"
    fall = f", {way} by {abs(1 - ratio.median):.1%}" if pair.group == "many" else ""
    size = f"{ratio.frame_bytes} bytes, " if ratio.frame_bytes > 64 else ""
    our_figure, their_figure = FIGURES[pair.our_figure], FIGURES[pair.their_figure]
    what = our_figure if our_figure == their_figure else f"{our_figure} to {their_figure}"
    return (
        f"{verdict(ratio.met)} {pair.group}: {pair.ours} / {pair.theirs}, {size}{what}: "
        f"{spread(ratio.by_round, 2)}{fall}{per_cpu}{demanded}"
    )


def _zero_loss(measurements: Sequence[Measurement]) -> Iterator[str]:
    found = figures(measurements, "zero-loss", "nodrop zero loss through xdp", RECEIVED).values()
    sent = figures(measurements, "zero-loss", "trafgen send", SENT).values()
    if not found or not sent:
        return
    found_pps, sent_pps = statistics.median(found), statistics.median(sent)
    slower = sent_pps < TRAFGEN_PPS
    demanded_pps = ZERO_LOSS_PPS * (sent_pps / TRAFGEN_PPS if slower else 1.0)
    why = " (in proportion)" if slower else ""
    yield (
        f"{verdict(found_pps >= demanded_pps)} zero-loss: the highest rate without loss is "
        f"{spread([pps / 1e6 for pps in found])} Mpps where trafgen sends {spread([pps / 1e6 for pps in sent])}, "
        f"demanded at least {demanded_pps / 1e6:.3g} Mpps{why}"
    )


def _costs(measurements: Sequence[Measurement]) -> Iterator[str]:
    for where in ("in memory", "af_packet", "xdp_live"):
        costs = [figures(measurements, "cost", f"{where}, {how}", COST) for how in ("counting", "latency")]
        if all(costs):
            counting, latency = (spread(list(cost.values()), 0) for cost in costs)
            yield (
                f"{verdict(None)} cost: {where}, a frame sent and received takes {counting} ns of CPU when it is only "
                f"counted, {latency} ns with latency on every frame"
            )
