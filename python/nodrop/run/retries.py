"""Detects trials invalidated by a tester stall and limits how often invalid trials are retried."""

from collections.abc import Sequence

from nodrop.errors import SearchError
from nodrop.formatting.messages import format_message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Doubt, TimeSummary, TrialResult, ValidityStatus
from nodrop.units import format_pps

ON_TIME_NS = 1_000_000
"""A sender is fast enough for a load if the median lateness of its frames is below this."""


def invalidate_tester_stalls(result: TrialResult, plan: SearchPlan, earlier: Sequence[TrialResult]) -> TrialResult:
    """Return the trial, marked invalid if a tester stall alone decides a goal, so that it is retried.

    A sender that other processes keep off its CPU leaves frames unsent. They count as lost, but say nothing about the
    SUT or the rate the tester can send. If every retry stalls as well, the last trial counts as it is.

    Args:
        result: a trial of the search.
        plan: the goals, and the number of retries.
        earlier: the trials before it.
    """
    if not _is_decided_by_stall(result, plan) or _invalid_count(earlier) >= plan.repeat_invalid:
        return result
    longest_s = max(lateness.max_ns for lateness in _lateness(result)) / 1e9
    return result.with_doubt(Doubt.invalid("held_up", longest_s=longest_s, unsent_count=result.unsent_count))


def _is_decided_by_stall(result: TrialResult, plan: SearchPlan) -> bool:
    """Return whether unsent frames alone make a goal fail, although the tester can send the load."""
    if not result.unsent_count or result.validity.verdict is ValidityStatus.INVALID:
        return False
    sut_loss_ratio = result.lost_count / (result.offered_count + result.unsent_count)
    medians_ns = [lateness.p50_ns for lateness in _lateness(result)]
    is_decided = any(sut_loss_ratio <= goal.loss_ratio < result.loss_ratio for goal in plan.goals)
    return is_decided and bool(medians_ns) and max(medians_ns) < ON_TIME_NS


def _lateness(result: TrialResult) -> list[TimeSummary]:
    return [sender.lateness for sender in result.senders if sender.lateness]


def _invalid_count(trials: Sequence[TrialResult]) -> int:
    """Return the number of invalid trials since the last valid one."""
    verdicts = [result.validity.verdict is ValidityStatus.INVALID for result in reversed(trials)]
    return verdicts.index(False) if False in verdicts else len(verdicts)


def check_retry_limit(trials: Sequence[TrialResult], repeat_invalid: int) -> None:
    """Raise SearchError if the latest trials, one more than the retries allowed, are all invalid."""
    if _invalid_count(trials) <= repeat_invalid:
        return
    latest = trials[-1]
    raise SearchError(
        f"{repeat_invalid + 1} consecutive trials at {format_pps(latest.trial.intended_load_pps)} were invalid: "
        f"{_reasons(latest)}; lower --max-load, raise engine.queue_slots (nodrop's engine), or allow more retries "
        "(search.repeat_invalid)"
    )


def check_valid(trial: TrialResult) -> None:
    """Raise SearchError for an invalid trial at a fixed rate."""
    if trial.validity.verdict is ValidityStatus.INVALID:
        raise SearchError(
            f"the trial at {format_pps(trial.trial.intended_load_pps)} is invalid: {_reasons(trial)}; "
            "lower the rate, or raise engine.queue_slots (nodrop's engine)"
        )


def _reasons(trial: TrialResult) -> str:
    doubts = (doubt for doubt in trial.validity.doubts if doubt.verdict is ValidityStatus.INVALID)
    return "; ".join(map(format_message, doubts))
