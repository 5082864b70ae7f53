"""Synthetic runs from a true rate and noise, as the summaries that `nodrop compare` compares."""

import math
from collections.abc import Iterator, Sequence
from random import Random

from benchmarks.verdict.noise import Noise, RunDeviations, draw_deviations

from nodrop.model.summary import Measure, Summary

NDR_PPS = 1e6
LATENCY_NS = {"p50": 2e4, "p99": 6e4, "p99.9": 2e5, "max": 1e6}
LATENCY_SD = 0.05
TEMPLATE = Summary(
    run_id="",
    started_at="",
    wall_s=60.0,
    status="complete",
    sut="synthetic",
    path="PVP",
    chain_count=1,
    flow_count=512,
    frame_size="64",
    frame_bytes=64,
    bidirectional=True,
    asked="ndr_pdr",
    algorithm="nodrop",
    host="",
    kernel="",
    cpu_model="",
    backend="",
    version="",
    trial_count=20,
)


def draw_runs(noise: Noise, rng: Random, count: int, effect: float) -> tuple[list[Summary], list[Summary]]:
    """Draw `count` runs of A and of B, whose rates are lower by the share `effect`."""
    of_a, of_b = draw_deviations(noise, rng, count)
    truth_pps = NDR_PPS * math.exp(rng.uniform(0.0, 0.1))  # anywhere between two loads of a grid
    return (
        list(_create_runs(noise, rng, "a", of_a, truth_pps)),
        list(_create_runs(noise, rng, "b", of_b, truth_pps * (1 - effect))),
    )


def _create_runs(
    noise: Noise, rng: Random, side: str, deviations: RunDeviations, truth_pps: float
) -> Iterator[Summary]:
    for position, deviation in deviations:
        rates = {"ndr": truth_pps * math.exp(deviation)}
        rates["pdr_0.5%"] = truth_pps * 1.02 * math.exp(deviation + rng.gauss(0.0, 0.001))
        yield create_run(side, position, (*_create_rates(noise, rng, rates), *_draw_latencies(rng)))


def create_run(side: str, position: int, measures: Sequence[Measure]) -> Summary:
    """Return a run of A or B with its position in chronological order."""
    started_at = f"2026-01-01T{position // 60:02d}:{position % 60:02d}:00Z"
    return TEMPLATE.model_copy(
        update={"run_id": f"{side}{position}", "started_at": started_at, "measures": tuple(measures)}
    )


def _create_rates(noise: Noise, rng: Random, rates: dict[str, float]) -> Iterator[Measure]:
    for key, rate_pps in rates.items():
        low = _draw_lower_bound(noise, rng, rate_pps)
        text = key.upper().replace("_", " ")
        yield Measure(
            key=key, text=text, unit="pps", better="higher", value=low, low=low, high=low * math.exp(noise.width)
        )


def _draw_lower_bound(noise: Noise, rng: Random, rate_pps: float) -> float:
    """Return the lower bound of a rate: the next load of the grid, or a random load within the width."""
    if noise.grid is None:
        return rate_pps * math.exp(-noise.width * rng.random())
    return math.exp(math.floor(math.log(rate_pps) / noise.grid) * noise.grid)


def _draw_latencies(rng: Random) -> Iterator[Measure]:
    """Yield the latencies of one run, which are correlated."""
    common = rng.gauss(0.0, LATENCY_SD)
    for name, value_ns in LATENCY_NS.items():
        own = rng.gauss(0.0, LATENCY_SD * (2 if name == "max" else 0.5))
        yield Measure(
            key=f"latency_{name}_at_ndr",
            text=f"latency {name} at NDR",
            unit="ns",
            better="lower",
            value=value_ns * math.exp(common + own),
        )
