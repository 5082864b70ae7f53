"""A run at a fixed rate in NFVbench's form."""

from collections.abc import Iterable, Sequence

from nodrop.export.nfvbench.counts import (
    DirectionCounts,
    build_totals,
    build_warning,
    compute_loss_percent,
    count_directions,
)
from nodrop.export.nfvbench.latency import LatencyUsec, compute_latency_usec
from nodrop.export.nfvbench.per_chain import build_paths
from nodrop.export.nfvbench.schema import (
    DirectionRates,
    FixedResult,
    FixedStats,
    PortStats,
    Rate,
    Received,
    RunConfig,
    Sent,
)
from nodrop.model.neighbor import NeighborLink
from nodrop.model.plan import FixedRatePlan, Plan
from nodrop.model.trial import TrialResult
from nodrop.rates import WIRE_OVERHEAD_BYTES

SUFFIXES = {"%": "rate_percent", "bps": "rate_bps", "pps": "rate_pps"}
ARP_BYTES, ADVERTISEMENT_BYTES = 64, 90
"""Frame sizes with FCS: an ARP message in a minimum frame; a neighbor advertisement with its option (RFC 4861)."""


def build_fixed_result(
    plan: Plan, fixed: FixedRatePlan, trial: TrialResult, warnings: Iterable[str] = ()
) -> FixedResult:
    """Build the result of the trial at a fixed rate, with warnings on the run beside those on the trial."""
    ways = count_directions(plan, trial)
    return FixedResult(
        run_config=_run_config(plan, ways, fixed, trial, warnings),
        stats=_build_stats(plan, ways, trial),
        packet_path_stats=build_paths(plan, trial),
    )


def parse_rate_type(fixed: FixedRatePlan) -> str:
    """Return the unit of the configured rate."""
    rate = fixed.asked.strip().lower()
    return next((name for suffix, name in SUFFIXES.items() if rate.endswith(suffix)), "rate_pps")


def _run_config(
    plan: Plan, ways: Sequence[DirectionCounts], fixed: FixedRatePlan, trial: TrialResult, warnings: Iterable[str]
) -> RunConfig:
    rate_type = parse_rate_type(fixed)
    directions = {
        f"direction_{'forward' if way.forward else 'reverse'}": DirectionRates(
            orig=way.rate(way.intended_pps, rate_type),
            tx=way.rate(way.offered_pps, rate_type),
            rx=way.rate(way.received_pps, rate_type),
        )
        for way in ways
    }
    total = DirectionRates(
        orig=_sum_rates([rates.orig for rates in directions.values()]),
        tx=_sum_rates([rates.tx for rates in directions.values()]),
        rx=_sum_rates([rates.rx for rates in directions.values()]),
    )
    garp = build_announcement_rates(plan, trial)
    announced = {"garp_direction_total": garp} if garp else {}
    warning = build_warning(trial, warnings)
    return RunConfig.model_validate(directions | {"direction_total": total} | announced | warning)


def _sum_rates(rates: Sequence[Rate]) -> Rate:
    return Rate(
        rate_pps=float(sum(rate.rate_pps for rate in rates)),
        rate_bps=float(sum(rate.rate_bps for rate in rates)),
        rate_percent=round(sum(rate.rate_percent for rate in rates), 6),
    )


def _build_stats(plan: Plan, ways: Sequence[DirectionCounts], trial: TrialResult) -> FixedStats:
    overall = compute_latency_usec(trial.directions, plan.percentiles)
    ports = {
        name: _build_port(
            [way for way in ways if way.forward is forward],
            [way for way in ways if way.forward is not forward],
            compute_latency_usec(
                [times for way in ways if way.forward is not forward for times in way.latency], (), False
            ),
        )
        for name, forward in (("left", True), ("right", False))
    }
    garp_pps = compute_announced_pps(plan, trial)
    announced = {} if garp_pps is None else {"garp_total_tx_rate": round(garp_pps)}
    return FixedStats.model_validate(
        ports | {"overall": _build_port(ways, ways, overall)} | build_totals(plan, ways) | announced
    )


def _build_port(
    sent: Sequence[DirectionCounts], received: Sequence[DirectionCounts], latency: LatencyUsec
) -> PortStats:
    """Build the statistics of a port; rates are the mean of the directions with traffic."""
    histogram = {"hdrh": latency.hdrh} if latency.hdrh else {}
    return PortStats(
        tx=Sent(**_count_frames(sent, [way.offered_count for way in sent])),
        rx=Received(
            **_count_frames(received, [way.received_count for way in received]),
            dropped_pkts=sum(way.lost_count for way in received),
            avg_delay_usec=latency.mean,
            min_delay_usec=latency.smallest,
            max_delay_usec=latency.largest,
            **latency.percentile_fields,
        ),
        drop_rate_percent=compute_loss_percent(received),
        **histogram,
    )


def _count_frames(ways: Sequence[DirectionCounts], counts: Sequence[int]) -> dict[str, int]:
    count, size = sum(counts), ways[0].frame_bytes
    directions = sum(way.has_traffic for way in ways)
    rate_pps = count / ways[0].duration_s / directions if directions and ways[0].duration_s else 0.0
    return {
        "total_pkts": count,
        "total_pkt_bytes": round(count * size),
        "pkt_rate": round(rate_pps),
        "pkt_bit_rate": round(rate_pps * size * 8),
    }


def compute_announced_pps(plan: Plan, trial: TrialResult) -> float | None:
    """Compute the rate of gratuitous ARP over all ports; None where it is not configured."""
    if not plan.neighbors.announce_every_s or not plan.neighbors.links or not trial.duration_s:
        return None
    return sum(counts.announced_count for counts in trial.neighbors) / trial.duration_s


def build_announcement_rates(plan: Plan, trial: TrialResult) -> DirectionRates | None:
    """Build the rates of gratuitous ARP, which ends at the SUT and is never received."""
    sent_pps = compute_announced_pps(plan, trial)
    if sent_pps is None or not plan.neighbors.announce_every_s:
        return None
    sizes = [size for link in plan.neighbors.links for size in _list_announcement_sizes(link)]
    intended_pps = len(sizes) / plan.neighbors.announce_every_s
    bits = (sum(sizes) / len(sizes) + WIRE_OVERHEAD_BYTES) * 8 if sizes else 0.0
    return DirectionRates(
        orig=_compute_announcement_rate(plan, intended_pps, bits),
        tx=_compute_announcement_rate(plan, sent_pps, bits),
        rx=_compute_announcement_rate(plan, 0.0, bits),
    )


def _list_announcement_sizes(link: NeighborLink) -> list[int]:
    """Return the size of one announcement for each address."""
    return [ADVERTISEMENT_BYTES if ":" in address else ARP_BYTES for address in link.station.addresses]


def _compute_announcement_rate(plan: Plan, rate_pps: float, frame_bits: float) -> Rate:
    rate_bps = rate_pps * frame_bits
    return Rate(
        initial_rate_type="rate_pps",
        rate_pps=round(rate_pps),
        rate_bps=round(rate_bps),
        rate_percent=round(100 * rate_bps / plan.link_speed_bps, 6),
    )
