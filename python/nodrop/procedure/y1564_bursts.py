"""Bursts of a service activation test: what a policer with full token buckets lets pass at the line rate.

Source: ITU-T Y.1564 for the bursts, MEF 10 for the token buckets.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import floor

from nodrop.model.base import Value
from nodrop.model.procedure import Y1564Plan
from nodrop.model.trial import TrialResult
from nodrop.rates import WIRE_OVERHEAD_BYTES
from nodrop.units import format_count

REST_RATIO = 1.125
"""Time without traffic before a burst, as a multiple of the time that fills the buckets."""
REST_MIN_S = 0.1
LONG_BURST = Fraction(11, 10)
"""Length of a burst that is too long, as a multiple of the burst size."""
TOLERANCE_COUNT = 1
"""Frames by which a correct policer may differ, for the bytes with which its buckets begin."""


class BurstSize(Value):
    """A burst of each direction at the line rate, from full buckets."""

    frame_count: int
    uses_excess: bool
    """Whether excess tokens count, too."""
    is_long: bool
    """Whether it is longer than the buckets, so that a policer drops frames; else all must pass."""


class BurstLimits(Value):
    """What may pass of a burst."""

    frame_count: int
    """Frames sent in each direction."""
    passed_min: int
    passed_max: int
    """More only pass if they are delayed, as by a shaper."""
    bucket_bytes: int
    refill_bps: float


def list_bursts(plan: Y1564Plan) -> dict[str, BurstSize]:
    """Return the bursts of a service in order, by name; none without the burst sizes."""
    frame = plan.frame_bytes
    committed, excess = plan.cbs_bytes, plan.ebs_bytes
    bursts = {}
    if committed:
        bursts["D-a CBS"] = BurstSize(frame_count=committed // frame, uses_excess=False, is_long=False)
        if not plan.eir_bps:
            bursts["D-b CBS + 10 %"] = BurstSize(
                frame_count=-floor(-LONG_BURST * committed / frame), uses_excess=False, is_long=True
            )
    if excess:
        count = committed // frame + excess // frame
        bursts["E-a CBS + EBS"] = BurstSize(frame_count=count, uses_excess=True, is_long=False)
        bursts["E-b CBS + EBS + 10 %"] = BurstSize(
            frame_count=-floor(-LONG_BURST * (committed + excess) / frame), uses_excess=True, is_long=True
        )
    return bursts


def compute_refill_s(plan: Y1564Plan) -> float:
    """Return the time that fills the slower one of the empty buckets."""
    times_s = [8 * plan.cbs_bytes / plan.cir_bps] if plan.cir_bps else []
    times_s += [8 * plan.ebs_bytes / plan.eir_bps] if plan.eir_bps else []
    return max(times_s, default=0.0)


def compute_rest_s(plan: Y1564Plan) -> float:
    """Return the time without traffic before a burst."""
    return max(REST_MIN_S, REST_RATIO * compute_refill_s(plan))


def limit_burst(plan: Y1564Plan, burst: BurstSize, link_speed_bps: float) -> BurstLimits | None:
    """Return what may pass of a burst on a link; None if the link is too slow for it to exceed the buckets."""
    passed = count_conforming(plan, burst.frame_count, link_speed_bps, uses_excess=burst.uses_excess)
    if burst.is_long and passed + TOLERANCE_COUNT >= burst.frame_count:
        return None
    return BurstLimits(
        frame_count=burst.frame_count,
        passed_min=passed - TOLERANCE_COUNT if burst.is_long else burst.frame_count,
        passed_max=passed + TOLERANCE_COUNT if burst.is_long else burst.frame_count,
        bucket_bytes=plan.cbs_bytes + (plan.ebs_bytes if burst.uses_excess else 0),
        refill_bps=plan.cir_bps + (plan.eir_bps if burst.uses_excess else 0.0),
    )


def count_conforming(plan: Y1564Plan, frame_count: int, link_speed_bps: float, *, uses_excess: bool) -> int:
    """Return the frames of a burst at the line rate that full buckets let pass, in exact arithmetic."""
    frame = plan.frame_bytes
    interval_s = Fraction(8 * (frame + WIRE_OVERHEAD_BYTES)) / Fraction(link_speed_bps)
    sizes = [plan.cbs_bytes, plan.ebs_bytes if uses_excess else 0]
    refills = [Fraction(plan.cir_bps) * interval_s / 8, Fraction(plan.eir_bps) * interval_s / 8]
    tokens = [Fraction(size) for size in sizes]
    passed = 0
    for _ in range(frame_count):
        bucket = next((number for number in (0, 1) if tokens[number] >= frame), None)
        if bucket is not None:
            tokens[bucket] -= frame
            passed += 1
        tokens = [min(Fraction(size), each + refill) for size, each, refill in zip(sizes, tokens, refills, strict=True)]
    return passed


def list_burst_misses(
    plan: Y1564Plan, limits: BurstLimits, trial: TrialResult, direction: tuple[int, int]
) -> Iterator[str]:
    """Yield the limits that one direction of a burst misses.

    More frames than the buckets hold may pass if they arrive so late that the refilled buckets hold them: a shaper.
    """
    streams = [each for each in trial.streams if (each.tx_port, each.rx_port) == direction]
    passed = sum(each.received_count for each in streams)
    of = f"of {format_count(limits.frame_count, 'frame')} passed"
    if passed < limits.passed_min:
        yield f"{passed} {of}, fewer than {limits.passed_min}"
    if passed > limits.passed_max:
        first_ns = min((each.first_arrival_ns for each in streams if each.first_arrival_ns is not None), default=0)
        last_ns = max((each.last_arrival_ns for each in streams if each.last_arrival_ns is not None), default=0)
        refill_bytes = limits.refill_bps * (last_ns - first_ns) / 8e9
        if passed * plan.frame_bytes > limits.bucket_bytes + refill_bytes + TOLERANCE_COUNT * plan.frame_bytes:
            yield f"{passed} {of}, more than {limits.passed_max}"
