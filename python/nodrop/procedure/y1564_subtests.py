"""The sub-tests of a service after ITU-T Y.1564: their rates in order, and the bounds of what may pass.

Rates are those of one direction, in bits per second from destination MAC address to FCS.
"""

from typing import Literal, NamedTuple

from nodrop.model.procedure import Y1564Plan
from nodrop.procedure.y1564_bursts import BurstSize, list_bursts
from nodrop.rates import ROUNDING_TOLERANCE, WIRE_OVERHEAD_BYTES, compute_line_rate_pps
from nodrop.units import format_ratio

SubtestKind = Literal["cir", "eir", "policing", "burst", "performance"]
POLICING_RATIO = 1.25
"""Rate of a policing step: this multiple of the excess rate, or of the committed one if the excess is small."""
SMALL_EXCESS_RATIO = 0.2
"""Excess rate, as a share of the committed one, below which it is small."""


class Subtest(NamedTuple):
    """A step of the configuration test, or the performance test."""

    kind: SubtestKind
    name: str
    """Its code, and its rate in words: `A2 CIR 25 %`."""
    rate_bps: float
    """0: the line rate."""
    duration_s: float
    """0: that of the burst."""
    lower_bps: float
    """Least rate that must pass."""
    upper_bps: float | None
    """Largest rate that may pass; None: not limited."""
    burst: BurstSize | None = None
    """The burst that it sends instead of a rate for its duration."""


def list_subtests(plan: Y1564Plan) -> tuple[Subtest, ...]:
    """Return all sub-tests of a service in order."""
    passing_ratio = 1 - plan.flr_max
    lower_bps, total_bps = plan.cir_bps * passing_ratio, plan.cir_bps + plan.eir_bps
    upper_bps = total_bps + plan.margin_bps
    subtests = []
    if plan.cir_bps:
        code = "A1" if len(plan.step_ratios) == 1 else "A2"
        for ratio in plan.step_ratios:
            rate_bps = ratio * plan.cir_bps
            name = f"{code} CIR {format_ratio(ratio)}"
            subtests.append(Subtest("cir", name, rate_bps, plan.step_s, rate_bps * passing_ratio, None))
    if plan.eir_bps:
        name = "B2 CIR + EIR" if plan.cir_bps else "B2 EIR"
        subtests.append(Subtest("eir", name, total_bps, plan.step_s, lower_bps, upper_bps))
    policing_bps = compute_policing_rate_bps(plan.cir_bps, plan.eir_bps)
    subtests.append(Subtest("policing", "C2 policing", policing_bps, plan.step_s, lower_bps, upper_bps))
    if plan.has_bursts:
        subtests += [Subtest("burst", name, 0, 0, 0, None, burst) for name, burst in list_bursts(plan).items()]
    if plan.cir_bps:
        subtests.append(Subtest("performance", "performance", plan.cir_bps, plan.performance_s, lower_bps, None))
    return tuple(subtests)


def compute_policing_rate_bps(cir_bps: float, eir_bps: float) -> float:
    """Return the rate of the policing step, which a policer must limit."""
    if eir_bps and eir_bps >= SMALL_EXCESS_RATIO * cir_bps:
        return cir_bps + POLICING_RATIO * eir_bps
    return POLICING_RATIO * cir_bps + eir_bps


def convert_to_pps(rate_bps: float, frame_bytes: int) -> float:
    """Return a rate in frames per second."""
    return rate_bps / (8 * frame_bytes)


def convert_to_line_bps(rate_bps: float, frame_bytes: int) -> float:
    """Return a rate with preamble and gap: the utilized line rate."""
    return rate_bps * (frame_bytes + WIRE_OVERHEAD_BYTES) / frame_bytes


def compute_sent_rate_bps(plan: Y1564Plan, subtest: Subtest, link_speed_bps: float) -> float | None:
    """Return the rate at which a sub-test is carried out on a link; None if it is not possible there.

    A policing step may be slower than intended, as long as it is faster than all that may pass.
    """
    line_bps = compute_line_rate_pps(plan.frame_bytes, link_speed_bps) * 8 * plan.frame_bytes
    if subtest.rate_bps <= line_bps * (1 + ROUNDING_TOLERANCE):
        return subtest.rate_bps
    if subtest.kind == "policing" and line_bps > plan.cir_bps + plan.eir_bps:
        return line_bps
    return None
