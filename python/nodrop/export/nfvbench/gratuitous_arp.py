"""Gratuitous ARP beside the load, in NFVbench's form: what was to be announced, and what was."""

from nodrop.export.nfvbench.schema import DirectionRates, Rate
from nodrop.model.neighbor import NeighborLink
from nodrop.model.plan import Plan
from nodrop.model.trial import TrialResult
from nodrop.rates import WIRE_OVERHEAD_BYTES

ARP_BYTES, ADVERTISEMENT_BYTES = 64, 90
"""With FCS: the smallest frame, which holds an ARP message; a neighbour advertisement and its option (RFC 4861)."""


def compute_announced_pps(plan: Plan, trial: TrialResult) -> float | None:
    """Announcements that were sent, all ports together; None where there were to be none."""
    if not plan.neighbors.announce_every_s or not plan.neighbors.links or not trial.duration_s:
        return None
    return sum(counts.announced_count for counts in trial.neighbors) / trial.duration_s


def build_announcement_rates(plan: Plan, trial: TrialResult) -> DirectionRates | None:
    """Their rates. They end at the SUT, so none is received."""
    sent_pps = compute_announced_pps(plan, trial)
    if sent_pps is None or not plan.neighbors.announce_every_s:
        return None
    sizes = [size for link in plan.neighbors.links for size in _sizes(link)]
    asked_pps = len(sizes) / plan.neighbors.announce_every_s
    bits = (sum(sizes) / len(sizes) + WIRE_OVERHEAD_BYTES) * 8 if sizes else 0.0
    return DirectionRates(orig=_rate(plan, asked_pps, bits), tx=_rate(plan, sent_pps, bits), rx=_rate(plan, 0.0, bits))


def _sizes(link: NeighborLink) -> list[int]:
    """Of one announcement of each address."""
    return [ADVERTISEMENT_BYTES if ":" in address else ARP_BYTES for address in link.station.addresses]


def _rate(plan: Plan, rate_pps: float, frame_bits: float) -> Rate:
    rate_bps = rate_pps * frame_bits
    return Rate(
        initial_rate_type="rate_pps",
        rate_pps=round(rate_pps),
        rate_bps=round(rate_bps),
        rate_percent=round(100 * rate_bps / plan.link_speed_bps, 6),
    )
