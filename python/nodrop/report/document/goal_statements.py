"""Sentences about the result of a goal: its load, its limit, and the confidence in its bounds."""

import math
from collections.abc import Iterator

from nodrop.formatting import LIMIT_NAMES, format_goal, format_goal_load, format_small_ratio
from nodrop.formatting.messages import format_message
from nodrop.model.goal import Bound, GoalResult, Limit
from nodrop.model.result import RunResult
from nodrop.model.trial import SEARCH, TrialResult, ValidityStatus
from nodrop.units import format_count, format_pps, format_ratio

AS_OFFERED = 0.9999
"""A conditional throughput at or above this share of the load equals the load."""
CONFIDENCE_MAX = 0.999
"""Above this probability the digits of an estimate mean nothing."""


def describe_goal_result(goal_result: GoalResult) -> str:
    """Return the load that meets a goal and what limits it."""
    goal, load = format_goal(goal_result.goal), format_goal_load(goal_result)
    if goal_result.limit is Limit.UNKNOWN or (not goal_result.lower and goal_result.limit is Limit.MIN_LOAD):
        if goal_result.estimate_pps and not goal_result.lower:
            load = f"about {format_estimate(goal_result)}"
        text = f"{goal}: {load}. {format_message(goal_result.explanation)}"
    else:
        text = f"{goal}: {load}, limited by {LIMIT_NAMES[goal_result.limit]}. {format_message(goal_result.explanation)}"
    if goal_result.lower and goal_result.upper and not goal_result.regular:
        text += " Not confirmed by full-length trials."
    return text


def describe_confidence(goal_result: GoalResult, result: RunResult, *, with_estimates: bool = True) -> Iterator[str]:
    """Yield sentences on the evidence for the bounds of a goal.

    Args:
        goal_result: the result of the goal.
        result: its run.
        with_estimates: whether to add what the search estimated: the probability that the bounds are right, and the
            threshold.
    """
    lower = goal_result.lower
    if lower and (text := _describe_disturbances(lower, result)):
        yield text
    if lower and goal_result.loss_ratio_limit is not None:
        yield _describe_loss_limit(lower, goal_result.loss_ratio_limit, result)
    if lower and (text := _describe_shortfall(lower, result.trials[lower.trial_index])):
        yield text
    if with_estimates and (text := _describe_probabilities(goal_result)):
        yield text
    throughput_pps = goal_result.conditional_throughput_pps
    if lower and throughput_pps is not None and throughput_pps < lower.load_pps * AS_OFFERED:
        yield f"Conditional throughput at the lower bound: {format_pps(throughput_pps)}."
    if with_estimates and lower and goal_result.estimate_pps is not None:
        yield f"Estimate of the search: {format_estimate(goal_result)}."


def describe_evidence(result: RunResult) -> Iterator[tuple[str, ...]]:
    """Yield the sentences on each goal: its result first, then the confidence in it."""
    for goal_result in result.goals:
        yield describe_goal_result(goal_result), *describe_confidence(goal_result, result)


def format_estimate(goal_result: GoalResult) -> str:
    """Return the estimate of a search with its standard deviation, if known."""
    assert goal_result.estimate_pps is not None
    spread = "" if goal_result.estimate_sd_pps is None else f" ± {format_pps(goal_result.estimate_sd_pps)}"
    return f"{format_pps(goal_result.estimate_pps)}{spread}"


def _describe_probabilities(goal_result: GoalResult) -> str:
    lower, upper = goal_result.lower, goal_result.upper
    low = f"most trials at {format_pps(lower.load_pps)} meet the goal" if lower else "the lower bound holds"
    high = f"most trials at {format_pps(upper.load_pps)} do not" if upper else "the upper bound holds"
    confidences = [
        f"{_format_confidence(1 - probability)} that {text}"
        for text, probability in (
            (low, goal_result.lower_error_probability),
            (high, goal_result.upper_error_probability),
        )
        if probability is not None
    ]
    return f"Confidence: {', '.join(confidences)}." if confidences else ""


def _format_confidence(probability: float) -> str:
    """Return a probability that never reads as certain."""
    return f"over {format_ratio(CONFIDENCE_MAX)}" if probability > CONFIDENCE_MAX else format_ratio(probability)


def _describe_disturbances(lower: Bound, result: RunResult) -> str:
    """Return the share of time at the lower bound that is left out, and the losses in it; empty without such time."""
    trials = [trial for trial in result.trials if _is_counted_at(trial, lower.load_pps) and trial.undisturbed_counts]
    total_s = sum(trial.duration_s for trial in trials)
    if not total_s:
        return ""
    left_out_ratio = 1.0 - sum(trial.judged_counts.duration_s for trial in trials) / total_s
    missing_count = sum(trial.lost_count + trial.unsent_count for trial in trials)
    left_out_count = missing_count - sum(_count_missing(trial) for trial in trials)
    losses = f", with {format_count(left_out_count, 'lost frame')}" if left_out_count > 0 else ""
    load = format_pps(lower.load_pps)
    return f"Other work disturbed {format_ratio(left_out_ratio)} of the time at {load}, which is left out{losses}."


def _count_missing(trial: TrialResult) -> int:
    """Return the frames lost or not sent, as judged."""
    judged = trial.judged_counts
    return judged.lost_count + judged.unsent_count


def _describe_loss_limit(lower: Bound, loss_ratio_limit: float, result: RunResult) -> str:
    trials = [trial for trial in result.trials if _is_counted_at(trial, lower.load_pps)]
    lost_count = sum(map(_count_missing, trials))
    sent_count = sum(trial.judged_counts.offered_count + trial.judged_counts.unsent_count for trial in trials)
    load, limit = format_pps(lower.load_pps), f"below {format_small_ratio(loss_ratio_limit)} at 95 % confidence"
    if not lost_count:
        # Of n frames none was lost: independent losses are below 3 / n, and losses of k frames at a time below 3 k / n.
        at_a_time = int(float(f"{loss_ratio_limit * sent_count / -math.log(0.05):.2g}"))
        reason = f", as the SUT loses about {format_count(at_a_time, 'frame')} at a time" if at_a_time > 1 else ""
        return f"No frame of {format_count(sent_count)} was lost at {load}: loss ratio {limit}{reason}."
    ratio = format_small_ratio(lost_count / sent_count)
    were = "was" if lost_count == 1 else "were"
    lost = f"{format_count(lost_count)} of {format_count(sent_count, 'frame')}"
    return f"{lost} {were} lost at {load} ({ratio}): loss ratio {limit}."


def _describe_shortfall(lower: Bound, trial: TrialResult) -> str:
    """Return the load sent at the lower bound; empty if it is the intended load."""
    judged = trial.judged_counts
    intended_count = judged.offered_count + judged.unsent_count if trial.undisturbed_counts else trial.intended_count
    if judged.offered_count >= intended_count * AS_OFFERED:
        return ""
    offered_pps = judged.offered_count / judged.duration_s if trial.undisturbed_counts else trial.offered_load_pps
    return (
        f"In the trial at {format_pps(lower.load_pps)} the tester sent {format_pps(offered_pps)}; "
        "the rest counts as lost."
    )


def _is_counted_at(trial: TrialResult, load_pps: float) -> bool:
    return (
        trial.phase == SEARCH
        and trial.trial.intended_load_pps == load_pps
        and trial.validity.verdict is not ValidityStatus.INVALID
    )
