"""Runs made up of a truth and noise, as rows that verdicts are given on."""

import math
from collections.abc import Iterator, Sequence
from random import Random

from benchmarks.verdict.noise import Noise, sides

from nodrop.model.summary import Measure, Summary

NDR_PPS = 1e6
LATENCY_NS = {"p50": 2e4, "p99": 6e4, "p99.9": 2e5, "max": 1e6}
LATENCY_SD = 0.05
BLANK = Summary(
    run_id="",
    started_at="",
    wall_s=60.0,
    status="complete",
    sut="made up",
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


def draw(noise: Noise, rng: Random, count: int, effect: float) -> tuple[list[Summary], list[Summary]]:
    """So many runs of A and of B, whose rates are lower by `effect`."""
    of_a, of_b = sides(noise, rng, count)
    truth_pps = NDR_PPS * math.exp(rng.uniform(0.0, 0.1))  # so that it is anywhere between the loads of a grid
    return (
        list(_runs(noise, rng, "a", of_a, truth_pps)),
        list(_runs(noise, rng, "b", of_b, truth_pps * (1 - effect))),
    )


def _runs(noise: Noise, rng: Random, side: str, at: Sequence[tuple[int, float]], truth_pps: float) -> Iterator[Summary]:
    for place, apart in at:
        rates = {"ndr": truth_pps * math.exp(apart)}
        rates["pdr_0.5%"] = truth_pps * 1.02 * math.exp(apart + rng.gauss(0.0, 0.001))
        yield made(side, place, (*_rates(noise, rng, rates), *_latencies(rng)))


def made(side: str, place: int, measures: Sequence[Measure]) -> Summary:
    """A run at a place in time."""
    at = f"2026-01-01T{place // 60:02d}:{place % 60:02d}:00Z"
    return BLANK.model_copy(update={"run_id": f"{side}{place}", "started_at": at, "measures": tuple(measures)})


def _rates(noise: Noise, rng: Random, rates: dict[str, float]) -> Iterator[Measure]:
    for key, rate_pps in rates.items():
        low = _below(noise, rng, rate_pps)
        text = key.upper().replace("_", " ")
        yield Measure(
            key=key, text=text, unit="pps", better="higher", value=low, low=low, high=low * math.exp(noise.width)
        )


def _below(noise: Noise, rng: Random, rate_pps: float) -> float:
    """The lower of the bounds: on the grid, or anywhere within the width."""
    if noise.grid is None:
        return rate_pps * math.exp(-noise.width * rng.random())
    return math.exp(math.floor(math.log(rate_pps) / noise.grid) * noise.grid)


def _latencies(rng: Random) -> Iterator[Measure]:
    """Of one run they go up and down together."""
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
