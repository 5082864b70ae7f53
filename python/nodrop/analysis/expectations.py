"""The figures of a result against the thresholds that the user expects."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from nodrop.errors import FailOnError, OfferedShortError
from nodrop.formatting import format_small_ratio
from nodrop.model.expectation import Expectation, parse_expectation
from nodrop.model.goal import GoalResult
from nodrop.model.latency import compute_latency_by_direction
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import TrialResult
from nodrop.rates import WIRE_OVERHEAD_BYTES
from nodrop.search.goal_results import require_goal_loads
from nodrop.units import format_bps, format_count, format_ns, format_pps, format_ratio

FIXED_RATE_MIN = 0.99
"""Share of the intended frames below which a trial at a fixed rate is not at that rate."""


class Verdict(StrEnum):
    """Whether an expectation is met."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"


class Judgment(NamedTuple):
    """One expectation and the figure found."""

    expectation: Expectation
    verdict: Verdict
    found: str
    """The figure in words."""


def judge_expectations(result: RunResult) -> tuple[Judgment, ...]:
    """Judge all expectations of a run, in order."""
    return tuple(_judge(parse_expectation(text), result) for text in result.plan.expect)


def require_outcome(result: RunResult) -> None:
    """Raise an error if a completed run lacks a figure or misses an expectation.

    With a configuration of NFVbench, a fixed rate that the tester did not reach is no error, as in NFVbench: its users
    send at 100 % of the line rate to measure the highest rate they get.

    Raises: SearchError for a goal without a load, OfferedShortError for a fixed rate that the tester did not reach,
        FailOnError for an expectation that is not met.
    """
    if result.status is not Status.COMPLETE:
        require_goal_loads(result)
        return
    trial = result.fixed_trial
    if trial and trial.offered_ratio < FIXED_RATE_MIN and not result.plan.uses_nfvbench_config:
        rate = format_pps(trial.trial.intended_load_pps)
        raise OfferedShortError(
            f"rate: the tester sent {format_ratio(trial.offered_ratio)} of the frames due at {rate}; write a lower "
            "one, or use a faster back end ('nodrop doctor')"
        )
    failed = [each for each in judge_expectations(result) if each.verdict is not Verdict.MET]
    if failed:
        texts = "; ".join(f"{each.expectation.text}: {each.verdict.value}, {each.found}" for each in failed)
        raise FailOnError(f"{format_count(len(failed), 'expectation')} not met: {texts}")
    require_goal_loads(result)


def _judge(expectation: Expectation, result: RunResult) -> Judgment:
    if expectation.figure == "load":
        return _judge_load(expectation, result)
    if expectation.figure == "loss":
        trial = result.fixed_trial
        values = [trial.lost_count / max(trial.offered_count, 1)] if trial else []
        return _judge_value(expectation, values, format_small_ratio, "loss")
    values = list(_iter_latencies_ns(expectation, result))
    return _judge_value(expectation, values, format_ns, expectation.name)


def _judge_value(
    expectation: Expectation, values: Sequence[float], format_value: Callable[[float], str], name: str
) -> Judgment:
    """Judge the highest of several values; undecided without any."""
    if not values:
        return Judgment(expectation, Verdict.UNDECIDED, "not measured")
    value = max(values)
    verdict = Verdict.MET if expectation.is_met(value) else Verdict.MISSED
    return Judgment(expectation, verdict, f"{name} is {format_value(value)}")


def _judge_load(expectation: Expectation, result: RunResult) -> Judgment:
    """Judge a goal: its lower bound is the figure, unless the SUT may exceed it or it is likely too high."""
    goal_result = next((each for each in result.goals if each.goal.label.upper() == expectation.name), None)
    if goal_result is None or not goal_result.lower:
        return Judgment(expectation, Verdict.UNDECIDED, f"no {expectation.name} was found")
    bits = (result.plan.traffic.frame_bytes + WIRE_OVERHEAD_BYTES) * 8 if expectation.is_bits else 1.0
    lower = goal_result.lower.load_pps * bits
    rate = format_bps(lower) if expectation.is_bits else format_pps(lower)
    if goal_result.is_likely_too_high:
        rate = f"{rate}, likely too high"
    elif _may_be_exceeded(goal_result):
        rate = f"at least {rate}"
    return Judgment(expectation, _decide_load(expectation, goal_result, bits), f"{expectation.name} is {rate}")


def _may_be_exceeded(goal_result: GoalResult) -> bool:
    return goal_result.limit.sut_may_exceed or not goal_result.regular


def _decide_load(expectation: Expectation, goal_result: GoalResult, bits: float) -> Verdict:
    """Return the verdict that every load the goal may have leads to; undecided without one."""
    lower, upper = goal_result.lower, goal_result.upper
    if not lower:
        return Verdict.UNDECIDED
    is_met = expectation.is_met(lower.load_pps * bits)
    verdict = Verdict.MET if is_met else Verdict.MISSED
    would_change_higher = is_met != expectation.comparison.startswith(">")
    if not would_change_higher:
        return Verdict.UNDECIDED if goal_result.is_likely_too_high else verdict
    if not _may_be_exceeded(goal_result):
        return verdict
    if upper and not goal_result.limit.sut_may_exceed and expectation.is_met(upper.load_pps * bits) == is_met:
        return verdict
    return Verdict.UNDECIDED


def _iter_latencies_ns(expectation: Expectation, result: RunResult) -> Iterator[float]:
    """Yield the latency of every direction at the load of an expectation."""
    percentile = expectation.percentile
    for trial in _find_latency_trials(expectation, result):
        for figures in compute_latency_by_direction(trial, () if percentile is None else (percentile,)).values():
            if figures is None:
                continue
            named = {"min": figures.min_ns, "mean": figures.mean_ns, "max": figures.max_ns}
            value = named.get(expectation.name) if percentile is None else figures.percentiles_ns.get(percentile)
            if value is not None:
                yield float(value)


def _find_latency_trials(expectation: Expectation, result: RunResult) -> list[TrialResult]:
    point = expectation.point
    if point is None:
        return [result.fixed_trial] if result.fixed_trial else []
    labels = {each.label for each in result.plan.latency.points if each.is_at(point)}
    return [result.trials[each.trial_index] for each in result.latencies if each.label in labels]
