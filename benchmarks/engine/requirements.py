"""Required ratios of the engine to its peers, met or not, and ratios without a requirement."""

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.engine.measure import RateMeasurement
from benchmarks.engine.ratio import COST, RECEIVED, SENT, Ratio, collect_by_round

ZERO_LOSS_PPS = 1.5e6
TRAFGEN_PPS = 0.8e6
"""Rate of trafgen from which ZERO_LOSS_PPS applies; below it, the required rate is scaled in proportion."""
METRIC_NAMES = {SENT: "sent", RECEIVED: "received", COST: "CPU per frame"}


def format_requirements(measurements: Sequence[RateMeasurement], ratios: Sequence[Ratio]) -> Iterator[str]:
    """Yield a line for each ratio, those with a requirement first."""
    yield from (_format_ratio(ratio) for ratio in ratios if ratio.met is not None)
    yield from _format_zero_loss(measurements)
    yield from (_format_ratio(ratio) for ratio in ratios if ratio.met is None)
    yield from _format_costs(measurements)


def format_spread(values: Sequence[float], digits: int = 3) -> str:
    """Return median, lowest and highest value as text."""
    texts = (f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return "{} ({} to {})".format(*texts)


def format_outcome(met: bool | None) -> str:
    """Return the outcome of a requirement as text of constant width; None: without a requirement."""
    return {True: "met    ", False: "NOT MET", None: "       "}[met]


def _format_ratio(ratio: Ratio) -> str:
    pair = ratio.pair
    requirement = "" if pair.minimum is None else f", required: at least {pair.minimum:g}"
    per_cpu = f", per CPU time {format_spread(ratio.per_cpu_by_round, 2)}" if ratio.per_cpu_by_round else ""
    direction = "falls" if ratio.median < 1 else "rises"
    change = f", {direction} by {abs(1 - ratio.median):.1%}" if pair.group == "many" else ""
    size = f"{ratio.frame_bytes} bytes, " if ratio.frame_bytes > 64 else ""
    metric, baseline_metric = METRIC_NAMES[pair.metric], METRIC_NAMES[pair.baseline_metric]
    metrics = metric if metric == baseline_metric else f"{metric} to {baseline_metric}"
    return (
        f"{format_outcome(ratio.met)} {pair.group}: {pair.generator} / {pair.baseline}, {size}{metrics}: "
        f"{format_spread(ratio.by_round, 2)}{change}{per_cpu}{requirement}"
    )


def _format_zero_loss(measurements: Sequence[RateMeasurement]) -> Iterator[str]:
    zero_loss = collect_by_round(measurements, "zero-loss", "nodrop zero loss through xdp", RECEIVED).values()
    sent = collect_by_round(measurements, "zero-loss", "trafgen send", SENT).values()
    if not zero_loss or not sent:
        return
    zero_loss_pps, sent_pps = statistics.median(zero_loss), statistics.median(sent)
    is_slower = sent_pps < TRAFGEN_PPS
    required_pps = ZERO_LOSS_PPS * (sent_pps / TRAFGEN_PPS if is_slower else 1.0)
    note = " (in proportion)" if is_slower else ""
    yield (
        f"{format_outcome(zero_loss_pps >= required_pps)} zero-loss: highest rate without loss: "
        f"{format_spread([pps / 1e6 for pps in zero_loss])} Mpps, trafgen sends "
        f"{format_spread([pps / 1e6 for pps in sent])} Mpps, required: at least {required_pps / 1e6:.3g} Mpps{note}"
    )


def _format_costs(measurements: Sequence[RateMeasurement]) -> Iterator[str]:
    for backend in ("in memory", "af_packet", "xdp_live"):
        costs = [collect_by_round(measurements, "cost", f"{backend}, {mode}", COST) for mode in ("counting", "latency")]
        if all(costs):
            counting, latency = (format_spread(list(cost.values()), 0) for cost in costs)
            yield (
                f"{format_outcome(None)} cost: {backend}, CPU time per frame sent and received: {counting} ns if "
                f"frames are only counted, {latency} ns with the latency of every frame"
            )
