"""Settings of the service activation test from the configuration."""

import math
from itertools import pairwise

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.procedure import Y1564Plan
from nodrop.plan.frame_sizes import require_one_size
from nodrop.procedure.y1564_subtests import compute_policing_rate_bps
from nodrop.rates import WIRE_OVERHEAD_BYTES
from nodrop.units import format_bps, format_ratio, format_seconds

UNKNOWN_BURST_MARGIN_RATIO = 0.01
"""Margin of a profile without burst sizes, as a share of CIR + EIR: as in test sets of several makers."""
STEP_MAX_S = 60
"""Longest step that y1564.step allows."""
REFILL_MAX_S = 2.0
"""Longest time that fills a bucket tested by bursts."""
UNAVAILABLE_S = 10
"""Least length of unavailable time, in seconds. Source: ITU-T Y.1563."""


def plan_y1564(config: Config) -> Y1564Plan:
    """Return the settings of the service activation test. Raises ConfigError if values contradict each other."""
    keys = config.y1564
    if config.chains > 1:
        raise ConfigError(f"chains: Y.1564 tests one service ({config.chains}); write chains: 1")
    traffic = config.traffic
    mix = traffic.imix or traffic.genome or next((size for size in config.frame_sizes if isinstance(size, str)), None)
    if mix:
        raise ConfigError(f"frame_sizes: rates of a service refer to frames of one size ({mix}); write frame_bytes")
    if keys.cir is None:
        raise ConfigError(
            "y1564.cir: not set, and without it there is nothing to test; write the committed rate of the service, "
            "e.g. --cir 1Mbps, or 0 if there is only an excess rate"
        )
    if not keys.cir and not keys.eir:
        raise ConfigError("y1564.cir: a service without a rate (0) cannot be tested; set y1564.cir or y1564.eir")
    frame_bytes = require_one_size(config).frame_bytes
    _check_bursts(config, frame_bytes)
    _check_steps(keys.steps)
    if keys.avail is not None and keys.duration < UNAVAILABLE_S:
        raise ConfigError(
            f"y1564.avail: unavailable time begins with {UNAVAILABLE_S} bad seconds, and y1564.duration is "
            f"{keys.duration:g} s; write a longer duration, or remove y1564.avail"
        )
    if (keys.ftd or keys.fdv) and config.engine.latency_every == 0:
        key = "ftd" if keys.ftd else "fdv"
        raise ConfigError(f"y1564.{key}: engine.latency_every is 0, so that no delay is measured; remove it")
    scale = frame_bytes / (frame_bytes + WIRE_OVERHEAD_BYTES) if keys.rate_layer == "l1" else 1.0
    cir_bps, eir_bps = keys.cir * scale, keys.eir * scale
    bursts_bits = 8 * (keys.cbs + keys.ebs)
    margin_bps = bursts_bits / keys.step if bursts_bits else UNKNOWN_BURST_MARGIN_RATIO * (cir_bps + eir_bps)
    plan = Y1564Plan(
        frame_bytes=frame_bytes,
        direction_count=2 if config.bidirectional else 1,
        cir_bps=cir_bps,
        cbs_bytes=keys.cbs,
        eir_bps=eir_bps,
        ebs_bytes=keys.ebs,
        rate_layer=keys.rate_layer,
        flr_max=keys.flr,
        ftd_max_s=keys.ftd,
        fdv_max_s=keys.fdv,
        availability_min=keys.avail,
        step_s=keys.step,
        step_ratios=keys.steps,
        margin_bps=margin_bps if keys.margin is None else keys.margin * scale,
        performance_s=keys.duration,
        has_bursts=keys.bursts,
        continues_on_fail=keys.continue_on_fail,
    )
    _check_policing(plan)
    _check_burst_tests(plan)
    return plan


def _check_policing(plan: Y1564Plan) -> None:
    """Check that a path without a policer fails the policing step. Raises ConfigError."""
    total_bps = plan.cir_bps + plan.eir_bps
    excess_bps = compute_policing_rate_bps(plan.cir_bps, plan.eir_bps) - total_bps
    if plan.margin_bps < excess_bps:
        return
    problem = (
        f"a path without a policer would pass, as the policing step exceeds CIR + EIR by {format_bps(excess_bps)} and "
        f"the margin is {format_bps(plan.margin_bps)}"
    )
    needed_s = math.floor(8 * (plan.cbs_bytes + plan.ebs_bytes) / excess_bps) + 1
    if needed_s <= plan.step_s or needed_s > STEP_MAX_S:
        raise ConfigError(f"y1564.margin: {problem}; write a lower margin")
    raise ConfigError(f"y1564.step: {problem}; write at least {needed_s}s, or a lower y1564.margin")


def _check_burst_tests(plan: Y1564Plan) -> None:
    if not plan.has_bursts:
        return
    if not plan.cbs_bytes and not plan.ebs_bytes:
        raise ConfigError("y1564.bursts: no burst size is known; write y1564.cbs, or remove y1564.bursts")
    times_s = {
        key: 8 * size_bytes / rate_bps
        for key, size_bytes, rate_bps in (
            ("cbs", plan.cbs_bytes, plan.cir_bps),
            ("ebs", plan.ebs_bytes, plan.eir_bps),
        )
        if size_bytes
    }
    for key, time_s in times_s.items():
        if time_s > REFILL_MAX_S:
            raise ConfigError(
                f"y1564.{key}: the bucket takes {format_seconds(time_s)} to fill, and a burst is tested up to "
                f"{format_seconds(REFILL_MAX_S)}; write a smaller size, or remove y1564.bursts"
            )


def _check_bursts(config: Config, frame_bytes: int) -> None:
    keys = config.y1564
    for size_key, size_bytes, rate_key, rate_bps in (
        ("cbs", keys.cbs, "cir", keys.cir),
        ("ebs", keys.ebs, "eir", keys.eir),
    ):
        if size_bytes and not rate_bps:
            raise ConfigError(
                f"y1564.{size_key}: a burst size without a rate ({size_bytes}); set y1564.{rate_key}, or remove "
                f"y1564.{size_key}"
            )
        if size_bytes and size_bytes < frame_bytes:
            raise ConfigError(
                f"y1564.{size_key}: no frame fits into a burst ({size_bytes} bytes, frames of {frame_bytes}); write at "
                f"least {frame_bytes}"
            )


def _check_steps(ratios: tuple[float, ...]) -> None:
    if not ratios or ratios[-1] != 1:
        last = format_ratio(ratios[-1]) if ratios else "none"
        raise ConfigError(f"y1564.steps: the last step is CIR ({last}); write for example [25%, 50%, 75%, 100%]")
    for ratio, following in pairwise(ratios):
        if following <= ratio:
            raise ConfigError(
                f"y1564.steps: {format_ratio(following)} after {format_ratio(ratio)}; write them in ascending order"
            )
