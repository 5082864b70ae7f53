"""How far the figures of a goal can be trusted, in a sentence each."""

from collections.abc import Iterator

from nodrop.formatting import format_small_ratio
from nodrop.model.goal import Bound, GoalResult
from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.units import format_count, format_pps, format_ratio

AS_OFFERED = 0.9999
"""A conditional throughput this near to the load says nothing the load does not."""


def confidence_lines(found: GoalResult, result: RunResult) -> Iterator[str]:
    """What stands behind the lower bound, how likely either bound is wrong, and what to expect at it."""
    if found.lower and found.loss_ratio_limit is not None:
        yield _loss_text(found.lower, found.loss_ratio_limit, result)
    if found.lower and (text := _sent_text(found.lower, result.trials[found.lower.trial_index])):
        yield text
    wrong = [
        f"that most trials {text} is {format_ratio(probability)}"
        for text, probability in (
            ("at the lower bound would not meet the goal", found.lower_error_probability),
            ("at the upper bound would meet it", found.upper_error_probability),
        )
        if probability is not None
    ]
    if wrong:
        yield f"The probability {' and '.join(wrong)}."
    throughput_pps = found.conditional_throughput_pps
    if found.lower and throughput_pps is not None and throughput_pps < found.lower.load_pps * AS_OFFERED:
        yield f"Of the lower bound {format_pps(throughput_pps)} come through (conditional throughput)."
    if found.lower and found.estimate_pps is not None:
        yield f"The estimate of the search is {estimate_text(found)}."


def estimate_text(found: GoalResult) -> str:
    """An estimate with its standard deviation, where there is one."""
    assert found.estimate_pps is not None
    spread = "" if found.estimate_sd_pps is None else f" ± {format_pps(found.estimate_sd_pps)}"
    return f"{format_pps(found.estimate_pps)}{spread}"


def _loss_text(lower: Bound, loss_ratio_limit: float, result: RunResult) -> str:
    trials = [trial for trial in result.trials if _counts_at(trial, lower.load_pps)]
    lost_count = sum(trial.lost_count + trial.unsent_count for trial in trials)
    sent_count = sum(trial.offered_count + trial.unsent_count for trial in trials)
    at, limit = f"At {format_pps(lower.load_pps)}", f"below {format_small_ratio(loss_ratio_limit)} at 95 % confidence"
    if not lost_count:
        return f"{at} no frame of {format_count(sent_count)} was lost: {limit}."
    share = format_small_ratio(lost_count / sent_count)
    were = "was" if lost_count == 1 else "were"
    return f"{at} {format_count(lost_count)} of {format_count(sent_count)} frames {were} lost ({share}): {limit}."


def _sent_text(lower: Bound, trial: TrialResult) -> str:
    """What was really sent at the lower bound, where that is not the load; empty where it is."""
    if trial.offered_count >= trial.intended_count * AS_OFFERED:
        return ""
    return (
        f"In the trial at {format_pps(lower.load_pps)} the tester sent {format_pps(trial.offered_load_pps)}; "
        "the rest counts as lost."
    )


def _counts_at(trial: TrialResult, load_pps: float) -> bool:
    return (
        trial.phase == "search"
        and trial.trial.intended_load_pps == load_pps
        and trial.validity.verdict is not ValidityStatus.INVALID
    )
