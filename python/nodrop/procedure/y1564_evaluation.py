"""Figures and verdict of one run of a service activation test."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.model.latency import LatencyFigures, compute_latency_by_direction
from nodrop.model.procedure import Y1564Plan
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.procedure.y1564_bursts import list_burst_misses
from nodrop.procedure.y1564_figures import Availability, DirectionFigures, Minute, Step
from nodrop.procedure.y1564_seconds import Direction, Second, find_unavailable_seconds, split_seconds
from nodrop.units import format_bps, format_ns, format_ratio, format_time_limit

FDV_PERCENTILE = 99.9
MINUTE_S = 60


class Evaluation(NamedTuple):
    """What a run says about its sub-test."""

    run_id: str
    problem: str
    """Why it does not count; empty if it does."""
    directions: tuple[DirectionFigures, ...] = ()
    is_suspect: bool = False

    @property
    def misses(self) -> tuple[str, ...]:
        """Each limit that is missed; with its direction if there are two."""
        has_names = len(self.directions) > 1
        return tuple(f"{each.name} {miss}" if has_names else miss for each in self.directions for miss in each.misses)


def evaluate_run(plan: Y1564Plan, step: Step, result: RunResult) -> Evaluation:
    """Return the figures of a run and the limits it misses."""
    trial = result.fixed_trial
    if trial is None or result.status is not Status.COMPLETE:
        return Evaluation(result.run_id, f"it failed: {result.error}" if result.error else "it did not end")
    if trial.has_shortfall:
        return Evaluation(result.run_id, "the tester sent less than 99 % of the rate")
    directions = tuple(_iter_directions(plan, step, trial))
    is_timeless = any(each.ftd_mean_ns is None and each.lost_count < each.offered_count for each in directions)
    if is_timeless and not step.burst and (plan.ftd_max_s or plan.fdv_max_s):
        return Evaluation(result.run_id, "no delay was measured", directions)
    is_suspect = trial.validity.verdict is not ValidityStatus.VALID
    is_doubtful = is_suspect and any(each.misses for each in directions) and not _is_failure_certain(step, trial)
    problem = "the tester or other work may be why it misses a limit" if is_doubtful else ""
    return Evaluation(result.run_id, problem, directions, is_suspect)


def _is_failure_certain(step: Step, trial: TrialResult) -> bool:
    """Return whether a run misses a limit for which neither tester nor other work can be the reason."""
    if step.burst:
        return False
    seconds = trial.duration_s
    frame_bits = step.rate_bps / step.load_pps
    received: dict[Direction, int] = {}
    for stream in trial.streams:
        direction = (stream.tx_port, stream.rx_port)
        received[direction] = received.get(direction, 0) + stream.received_count
    if step.upper_bps and any(count * frame_bits / seconds > step.upper_bps for count in received.values()):
        return True
    counts = trial.undisturbed_counts
    return counts is not None and counts.sut_loss_ratio > 1 - step.lower_bps / step.rate_bps


def _iter_directions(plan: Y1564Plan, step: Step, trial: TrialResult) -> Iterator[DirectionFigures]:
    latencies = compute_latency_by_direction(trial, (FDV_PERCENTILE,))
    for direction, seconds in split_seconds(trial).items():
        figures = _compute_figures(plan, trial, direction, seconds)
        figures = figures.replace(**_describe_delay(latencies.get(direction)))
        if step.kind == "performance":
            figures = _add_availability(plan, figures, seconds)
        if step.burst:
            misses = tuple(list_burst_misses(plan, step.burst, trial, direction))
        else:
            misses = tuple(_iter_misses(plan, step, figures, trial.duration_s))
        yield figures.replace(misses=misses)


def _compute_figures(
    plan: Y1564Plan, trial: TrialResult, direction: Direction, seconds: Sequence[Second]
) -> DirectionFigures:
    streams = [each for each in trial.streams if (each.tx_port, each.rx_port) == direction]
    offered_count = sum(each.offered_count for each in streams)
    received_count = sum(each.received_count for each in streams)
    frame_bits = 8 * plan.frame_bytes
    arrivals = [each.received_count * frame_bits for each in seconds] if len(seconds) > 1 else []
    return DirectionFigures(
        tx_port=direction[0],
        rx_port=direction[1],
        offered_count=offered_count,
        lost_count=offered_count - received_count,
        flr=1 - received_count / offered_count if offered_count else 1.0,
        ir_bps=received_count * frame_bits / trial.duration_s,
        ir_min_bps=min(arrivals, default=None),
        ir_max_bps=max(arrivals, default=None),
    )


def _describe_delay(latency: LatencyFigures | None) -> dict[str, float | None]:
    if latency is None:
        return {}
    percentile_ns = latency.percentiles_ns.get(FDV_PERCENTILE)
    return {
        "ftd_min_ns": latency.min_ns,
        "ftd_mean_ns": latency.mean_ns,
        "ftd_max_ns": latency.max_ns,
        "fdv_ns": None if percentile_ns is None else max(0, percentile_ns - latency.min_ns),
    }


def _add_availability(plan: Y1564Plan, figures: DirectionFigures, seconds: Sequence[Second]) -> DirectionFigures:
    errored = [each.is_errored for each in seconds]
    unavailable = find_unavailable_seconds(errored)
    availability = Availability(second_count=len(seconds), errored_s=sum(errored), unavailable_s=len(unavailable))
    return figures.replace(
        flr=_compute_available_flr(figures.offered_count, figures.lost_count, seconds, unavailable),
        availability=availability,
        minutes=tuple(_iter_minutes(plan, seconds, unavailable)),
    )


def _compute_available_flr(
    offered_count: int, lost_count: int, seconds: Sequence[Second], unavailable: frozenset[int]
) -> float:
    """Return the loss ratio without the frames of unavailable time."""
    for number in unavailable:
        second = seconds[number]
        offered_count -= second.offered_count
        lost_count -= max(0, second.offered_count - second.received_count)
    if offered_count <= 0:
        return 1.0
    return max(0, lost_count) / offered_count


def _iter_minutes(plan: Y1564Plan, seconds: Sequence[Second], unavailable: frozenset[int]) -> Iterator[Minute]:
    for begin in range(0, len(seconds), MINUTE_S):
        part = seconds[begin : begin + MINUTE_S]
        offered_count = sum(each.offered_count for each in part)
        lost_count = sum(each.lost_count for each in part)
        latency_count = sum(each.latency_count for each in part)
        yield Minute(
            number=begin // MINUTE_S + 1,
            duration_s=len(part),
            ir_bps=sum(each.received_count for each in part) * 8 * plan.frame_bytes / len(part),
            lost_count=lost_count,
            flr=lost_count / offered_count if offered_count else 0.0,
            ftd_mean_ns=sum(each.latency_sum_ns for each in part) / latency_count if latency_count else None,
            ftd_max_ns=max(each.latency_max_ns for each in part) if latency_count else None,
            errored_s=sum(each.is_errored for each in part),
            unavailable_s=sum(begin <= number < begin + len(part) for number in unavailable),
        )


def _iter_misses(plan: Y1564Plan, step: Step, figures: DirectionFigures, duration_s: float) -> Iterator[str]:
    """Yield the limits that a direction misses."""
    # Frames that the tester did not send lower no limit of the service: it is judged by the rate that was sent.
    sent_bps = figures.offered_count * 8 * plan.frame_bytes / duration_s
    lower_bps = step.lower_bps * min(1.0, sent_bps / step.rate_bps)
    limits_loss = step.kind in ("cir", "performance")
    if limits_loss and figures.flr > plan.flr_max:
        yield f"FLR {format_ratio(figures.flr)} > {format_ratio(plan.flr_max)}"
    elif figures.ir_bps < lower_bps * (1 - 1e-9):
        yield f"IR {format_bps(figures.ir_bps)} < {format_bps(step.lower_bps)}"
    if step.upper_bps is not None and figures.ir_bps > step.upper_bps:
        yield f"IR {format_bps(figures.ir_bps)} > {format_bps(step.upper_bps)}"
    if plan.ftd_max_s and figures.ftd_mean_ns is not None and figures.ftd_mean_ns > plan.ftd_max_s * 1e9:
        yield f"mean FTD {format_ns(figures.ftd_mean_ns)} > {format_time_limit(plan.ftd_max_s)}"
    if plan.fdv_max_s and figures.fdv_ns is not None and figures.fdv_ns > plan.fdv_max_s * 1e9:
        yield f"FDV {format_ns(figures.fdv_ns)} > {format_time_limit(plan.fdv_max_s)}"
    availability = figures.availability
    if plan.availability_min and availability and availability.ratio < plan.availability_min:
        yield f"availability {format_ratio(availability.ratio)} < {format_ratio(plan.availability_min)}"
