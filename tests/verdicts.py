"""Synthetic runs of single figures, to compare."""

from collections.abc import Sequence
from typing import Any, Literal

from nodrop.model.summary import Measure, Summary


def rate(value: float, key: str = "ndr", width: float = 0.005, limit: str = "sut") -> Measure:
    """Return a load between bounds."""
    high = value * (1 + width) if width else None
    return Measure(
        key=key, text=key.upper(), unit="pps", better="higher", value=value, low=value, high=high, limit=limit
    )


def latency(value: float, key: str = "latency_p99_at_ndr") -> Measure:
    return Measure(key=key, text="latency p99 at NDR", unit="ns", better="lower", value=value)


def loss(value: float) -> Measure:
    return Measure(key="loss_at_10kpps", text="loss at 10kpps", unit="ratio", better="lower", value=value)


def run(place: int, *measures: Measure, side: str = "run", size: str = "64", **fields: Any) -> Summary:
    """Return a run that began so many minutes after the first."""
    return Summary(
        **{
            "run_id": f"{side}{place}",
            "started_at": f"2026-01-01T{place // 60:02d}:{place % 60:02d}:00Z",
            "wall_s": 30.0,
            "status": "complete",
            "sut": "vnf-l2",
            "path": "PVP",
            "chain_count": 1,
            "flow_count": 512,
            "frame_size": size,
            "frame_bytes": 64.0,
            "bidirectional": True,
            "asked": "ndr_pdr",
            "algorithm": "nodrop",
            "host": "host",
            "kernel": "6.1",
            "cpu_model": "cpu",
            "backend": "af_packet",
            "version": "0.1.0",
            "trial_count": 9,
            "measures": measures,
            **fields,
        }
    )


Order = Literal["in turn", "one after the other"]


def sides(a: Sequence[Measure], b: Sequence[Measure], order: Order = "in turn") -> tuple[list[Summary], list[Summary]]:
    """Return runs of A and of B with one figure each."""
    places_a, places_b = (
        (range(0, 2 * len(a), 2), range(1, 2 * len(b), 2))
        if order == "in turn"
        else (range(len(a)), range(len(a), len(a) + len(b)))
    )
    return (
        [run(place, each, side="a") for place, each in zip(places_a, a, strict=True)],
        [run(place, each, side="b") for place, each in zip(places_b, b, strict=True)],
    )
