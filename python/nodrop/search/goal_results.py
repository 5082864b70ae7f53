"""Results of goals from intervals and trials, with the limit of each."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nodrop.errors import SearchError
from nodrop.formatting.doubts import QUOTA_REMEDY
from nodrop.model.goal import OUT_OF_TIME, REFUTED_LOWER, Bound, Flag, Goal, GoalResult, Limit
from nodrop.model.message import Message, Scalar
from nodrop.model.result import RunResult
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import FIXED, SEARCH, TrialResult, ValidityStatus
from nodrop.search.base import Interval

ROUNDING = 1e-9
"""Relative tolerance for bounds exactly one width apart."""
NORMAL_95 = 1.6449
"""95 % quantile of the normal distribution."""


def require_goal_loads(result: RunResult) -> None:
    """Raise SearchError if the result has goals without a load or an estimate."""
    missing = [
        goal_result for goal_result in result.goals if not goal_result.lower and goal_result.estimate_pps is None
    ]
    if not missing:
        return
    labels = " and ".join(goal_result.goal.label for goal_result in missing)
    if any(goal_result.limit is not Limit.MIN_LOAD for goal_result in missing):
        invalid_count = sum(trial.validity.verdict is ValidityStatus.INVALID for trial in result.trials)
        if 2 * invalid_count > len(result.trials):
            is_throttled = any(trial.is_throttled for trial in result.trials)
            remedy = QUOTA_REMEDY if is_throttled else "run again while the machine is idle (--wait-idle 5min)"
            cause = " by a CPU quota" if is_throttled else ""
            raise SearchError(
                f"no load that meets {labels} was found: {invalid_count} of {len(result.trials)} trials were made "
                f"invalid{cause}; {remedy}"
            )
        raise SearchError(f"no load that meets {labels} was found; allow more time (--budget)")
    raise SearchError(
        f"even the lowest load does not meet {labels}; allow a lower load (--min-load) or more loss (--goal)"
    )


def compute_goal_results(
    plan: SearchPlan,
    intervals: Sequence[Interval],
    trials: Sequence[TrialResult],
    sut_shares_tester_cpu: bool,
    out_of_time: bool = False,
) -> tuple[GoalResult, ...]:
    """Return the result of every goal, at any time of a search.

    Args:
        plan: the plan of the search.
        intervals: of the search, one per goal.
        trials: all trials of the run, to whose indices the intervals refer.
        sut_shares_tester_cpu: whether the SUT runs on the sender's CPU.
        out_of_time: whether the time limit ended the search.
    """
    contexts = [_GoalContext(plan, interval, trials, sut_shares_tester_cpu, out_of_time) for interval in intervals]
    results = [_build_goal_result(context) for context in contexts]
    return tuple(_flag_contradiction(result, results) for result in results)


class _GoalContext(NamedTuple):
    """The data for the result of one goal."""

    plan: SearchPlan
    interval: Interval
    trials: Sequence[TrialResult]
    sut_shares_tester_cpu: bool
    out_of_time: bool

    @property
    def goal(self) -> Goal:
        """The goal with every attribute."""
        return self.plan.complete(self.interval.goal)

    @property
    def lower(self) -> TrialResult | None:
        """The trial of the lower bound, if valid: one that meets the goal as a whole, if the load has one."""
        trial = self._trial(self.interval.lower_index) if self.interval.lower_valid else None
        if trial is None:
            return None
        return _pick(trial, [each for each in self.trials_like(trial) if not self.has_high_loss(each)])

    @property
    def upper(self) -> TrialResult | None:
        """The trial of the upper bound, if valid: one with too much loss as a whole, if the load has one.

        The SUT or the tester lost its frames, as in most of these.
        """
        trial = self._trial(self.interval.upper_index) if self.interval.upper_valid else None
        if trial is None:
            return None
        by_sut, by_tester = self.split_high_loss(trial)
        return _pick(trial, by_sut if len(by_sut) >= len(by_tester) else by_tester)

    @property
    def lowest(self) -> TrialResult | None:
        """The trial of the lowest load, whether it met the goal or not."""
        return self._trial(self.interval.lower_index) or self.upper

    def has_high_loss(self, trial: TrialResult) -> bool:
        """Return whether a trial as a whole lost more than the goal allows."""
        return trial.judged_loss_ratio > self.goal.loss_ratio

    def split_high_loss(self, trial: TrialResult) -> tuple[list[TrialResult], list[TrialResult]]:
        """Return the trials at a load with too much loss: by the SUT, and for lack of frames sent in time."""
        high_loss = [each for each in self.trials_like(trial) if self.has_high_loss(each)]
        by_sut: list[TrialResult] = []
        by_tester: list[TrialResult] = []
        for each in high_loss:
            (by_sut if each.judged_counts.sut_loss_ratio > self.goal.loss_ratio else by_tester).append(each)
        return by_sut, by_tester

    def trials_like(self, trial: TrialResult) -> list[TrialResult]:
        """Return all trials at the same load and of the same phase that are not invalid."""
        load_pps = trial.trial.intended_load_pps
        return [
            each
            for each in self.trials
            if each.trial.intended_load_pps == load_pps
            and each.phase == trial.phase
            and each.validity.verdict is not ValidityStatus.INVALID
        ]

    def _trial(self, index: int | None) -> TrialResult | None:
        return None if index is None else self.trials[index]


def _pick(trial: TrialResult, suitable: Sequence[TrialResult]) -> TrialResult:
    """Return the trial if it is suitable, else the last of the longest that are, if any."""
    if not suitable or any(each.index == trial.index for each in suitable):
        return trial
    return max(reversed(suitable), key=lambda each: each.judged_counts.duration_s)


def _build_goal_result(context: _GoalContext) -> GoalResult:
    interval = context.interval
    limit, explanation = _find_limit(context)
    lower, upper = _build_bound(context.lower), _build_bound(context.upper)
    regular = interval.final and lower is not None and upper is not None and _is_narrow(context.goal, lower, upper)
    return GoalResult(
        goal=interval.goal,
        lower=lower,
        upper=upper,
        regular=regular,
        limit=limit,
        explanation=explanation,
        conditional_throughput_pps=interval.conditional_throughput_pps,
        estimate_pps=interval.estimate_pps,
        estimate_sd_pps=interval.estimate_sd_pps,
        lower_error_probability=interval.lower_error_probability,
        upper_error_probability=interval.upper_error_probability,
        loss_ratio_limit=_compute_loss_ratio_limit(context)
        if interval.loss_ratio_limit is None
        else interval.loss_ratio_limit,
        flags=_list_flags(context, limit, regular),
    )


def flag_refuted_bounds(results: Sequence[GoalResult], trials: Sequence[TrialResult]) -> tuple[GoalResult, ...]:
    """Return the results, with a flag where a latency trial at a lower bound or below lost more than its goal allows.

    A search that can go on moves the bound instead.
    """
    return tuple(_flag_refuted_lower(result, trials) for result in results)


def _flag_refuted_lower(result: GoalResult, trials: Sequence[TrialResult]) -> GoalResult:
    goal, lower = result.goal, result.lower
    if lower is None:
        return result
    refuting = [
        trial
        for trial in trials
        if trial.phase not in (SEARCH, FIXED)
        and trial.trial.intended_load_pps <= lower.load_pps
        and trial.index > lower.trial_index
        and trial.validity.verdict is not ValidityStatus.INVALID
        and trial.judged_counts.sut_loss_ratio > goal.loss_ratio
    ]
    if not refuting:
        return result
    worst = max(refuting, key=lambda trial: trial.judged_counts.sut_loss_ratio)
    flag = Flag.of(
        REFUTED_LOWER,
        trial=worst.index,
        load_pps=worst.trial.intended_load_pps,
        loss_ratio=worst.judged_counts.sut_loss_ratio,
        allowed_ratio=goal.loss_ratio,
    )
    return result.replace(flags=(*result.flags, flag))


def _flag_contradiction(result: GoalResult, results: Sequence[GoalResult]) -> GoalResult:
    """Return the result, with a flag if a goal that allows less loss has a higher bound.

    Published searches may judge each goal by trials of its own; nodrop's own search never ends so.
    """
    for strict in results:
        if strict.goal.implies(result.goal) and (
            _is_above(strict.lower, result.lower)
            or _is_above(strict.upper, result.upper)
            or (strict.lower and result.upper and strict.lower.load_pps >= result.upper.load_pps)
        ):
            flag = Flag.of("contradictory-goals", goal=result.goal.label, strict_goal=strict.goal.label)
            return result.replace(flags=(*result.flags, flag))
    return result


def _is_above(bound: Bound | None, other: Bound | None) -> bool:
    return bound is not None and other is not None and bound.load_pps > other.load_pps


def _build_bound(trial: TrialResult | None) -> Bound | None:
    if trial is None:
        return None
    return Bound(
        load_pps=trial.trial.intended_load_pps,
        loss_ratio=trial.judged_loss_ratio,
        duration_s=trial.trial.duration_s,
        trial_index=trial.index,
    )


def _is_narrow(goal: Goal, lower: Bound, upper: Bound) -> bool:
    assert goal.width_ratio
    return (upper.load_pps - lower.load_pps) / upper.load_pps <= goal.width_ratio * (1 + ROUNDING)


def _list_flags(context: _GoalContext, limit: Limit, regular: bool) -> tuple[Flag, ...]:
    """Return the flags of the search, of a limit of the tester, and of the time limit."""
    flags = {flag.code: flag for flag in context.interval.flags}
    if limit.is_tester:
        flags.setdefault("tester-limited", Flag.of("tester-limited"))
    if regular:
        flags.pop(OUT_OF_TIME, None)
    elif context.out_of_time and context.interval.estimate_pps is None:
        flags.setdefault(OUT_OF_TIME, Flag.of(OUT_OF_TIME, limit_s=context.plan.search_duration_max_s))
    return tuple(flags.values())


def _compute_loss_ratio_limit(context: _GoalContext) -> float | None:
    """Return the upper 95 % confidence limit of the loss ratio at the lower bound, over all trials there.

    The Poisson limit in the approximation of Wilson and Hilferty (1931), within 1 % of the exact one.
    """
    trials = [trial.judged_counts for trial in context.trials_like(context.lower)] if context.lower else []
    intended_count = sum(trial.offered_count + trial.unsent_count for trial in trials)
    if not intended_count:
        return None
    events = 1 + sum(trial.lost_count + trial.unsent_count for trial in trials)
    expected = events * (1 - 1 / (9 * events) + NORMAL_95 / (3 * math.sqrt(events))) ** 3
    return min(1.0, expected / intended_count)


def _find_limit(context: _GoalContext) -> tuple[Limit, Message]:
    """Return what limited the load, and why; without both bounds, where the search ended."""
    plan, goal, lowest = context.plan, context.interval.goal, context.lowest
    if context.lower and context.upper:
        return _find_upper_limit(context, context.upper)
    if context.lower and _reaches(context.lower, plan.max_load_pps):
        return Limit.MAX_LOAD, Message.of("max-load", load_pps=plan.max_load_pps)
    if not context.lower and lowest and lowest.trial.intended_load_pps <= plan.min_load_pps:
        worst_ratio = max(trial.judged_loss_ratio for trial in (lowest, *context.trials_like(lowest)))
        return Limit.MIN_LOAD, Message.of(
            "min-load", load_pps=plan.min_load_pps, loss_ratio=worst_ratio, allowed_ratio=goal.loss_ratio
        )
    if context.interval.estimate_pps is not None and not context.lower and not context.upper:
        return Limit.UNKNOWN, Message.of("estimate")
    if not context.lower and not context.upper:
        return Limit.UNKNOWN, Message.of("ended-without-bounds")
    return Limit.UNKNOWN, Message.of("ended-without-upper" if context.lower else "ended-without-lower")


def _reaches(trial: TrialResult, load_pps: float) -> bool:
    load = trial.trial.intended_load_pps
    return load >= load_pps or math.isclose(load, load_pps)


def _find_upper_limit(context: _GoalContext, upper: TrialResult) -> tuple[Limit, Message]:
    """Return SUT or tester: whichever lost more in most of the trials at this load with too much loss."""
    allowed_ratio = context.goal.loss_ratio
    by_sut, by_tester = context.split_high_loss(upper)
    if not by_sut and not by_tester:
        full_s = context.goal.final_trial_duration_s or upper.judged_counts.duration_s
        code = "sut-lost-in-parts" if upper.judged_counts.duration_s > full_s else "sut-lost-early"
        return Limit.SUT, _describe(code, upper, allowed_ratio=allowed_ratio, full_s=full_s)
    if len(by_sut) >= len(by_tester):
        trial_count = len(context.trials_like(upper))
        high_loss_count = len(by_sut) + len(by_tester)
        counts = {"high_loss_count": high_loss_count, "trial_count": trial_count} if trial_count > 1 else {}
        return Limit.SUT, _describe("sut-lost", upper, allowed_ratio=allowed_ratio, **counts)
    if context.sut_shares_tester_cpu:
        return Limit.SHARED_CPU, _describe("shared-cpu", upper)
    return Limit.TESTER, _describe("tester-short", upper)


def _describe(code: str, trial: TrialResult, **params: Scalar) -> Message:
    judged = trial.judged_counts
    intended_count = judged.offered_count + judged.unsent_count if trial.undisturbed_counts else trial.intended_count
    return Message.of(
        code,
        load_pps=trial.trial.intended_load_pps,
        duration_s=judged.duration_s,
        intended_count=intended_count,
        offered_count=judged.offered_count,
        lost_count=judged.lost_count,
        loss_ratio=judged.sut_loss_ratio,
        **params,
    )
