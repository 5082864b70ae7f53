"""What the search knows and the trials counted, turned into results that say what limited them."""

from collections.abc import Sequence
from typing import NamedTuple

from nodrop.model.goal import Bound, GoalResult, Limit
from nodrop.model.plan import SearchPlan
from nodrop.model.trial import TrialResult
from nodrop.search.base import Interval
from nodrop.units import format_count, format_pps, format_ratio


def judge(
    plan: SearchPlan, intervals: Sequence[Interval], trials: Sequence[TrialResult], sut_shares_tester_cpu: bool
) -> tuple[GoalResult, ...]:
    """The result of every goal, also half-way through a search.

    Args:
        plan: what was searched for.
        intervals: what the search knows, one per goal.
        trials: all trials of the run, which the intervals point at by index.
        sut_shares_tester_cpu: whether the SUT's work is done on the sender's CPU.
    """
    return tuple(_judge_goal(_Case(plan, interval, trials, sut_shares_tester_cpu)) for interval in intervals)


class _Case(NamedTuple):
    """All there is to judge one goal by."""

    plan: SearchPlan
    interval: Interval
    trials: Sequence[TrialResult]
    sut_shares_tester_cpu: bool

    @property
    def lower(self) -> TrialResult | None:
        """The trial at the highest load known to meet the goal."""
        return self._trial(self.interval.lower_index) if self.interval.lower_valid else None

    @property
    def upper(self) -> TrialResult | None:
        """The trial at the lowest load known not to meet it."""
        return self._trial(self.interval.upper_index) if self.interval.upper_valid else None

    @property
    def lowest(self) -> TrialResult | None:
        """The trial at the lowest load there was, whether it met the goal or not."""
        return self._trial(self.interval.lower_index)

    def _trial(self, index: int | None) -> TrialResult | None:
        return None if index is None else self.trials[index]


def _judge_goal(case: _Case) -> GoalResult:
    limit, explanation = _limit(case)
    lower, upper = _bound(case.lower), _bound(case.upper)
    narrow = lower is not None and upper is not None and _width(lower, upper) <= case.plan.width_ratio
    return GoalResult(
        goal=case.interval.goal,
        lower=lower,
        upper=upper,
        regular=case.interval.final and narrow,
        limit=limit,
        explanation=explanation,
    )


def _bound(trial: TrialResult | None) -> Bound | None:
    if trial is None:
        return None
    return Bound(
        load_pps=trial.trial.intended_load_pps,
        loss_ratio=trial.loss_ratio,
        duration_s=trial.trial.duration_s,
        trial_index=trial.index,
    )


def _width(lower: Bound, upper: Bound) -> float:
    return (upper.load_pps - lower.load_pps) / upper.load_pps


def _limit(case: _Case) -> tuple[Limit, str]:
    """What made the upper bound one; without one, or without a lower bound, where the search ended."""
    plan, goal = case.plan, case.interval.goal
    if case.lower and case.upper:
        return _upper_limit(case.upper, goal.loss_ratio, case.sut_shares_tester_cpu)
    if case.lower and case.lower.trial.intended_load_pps >= plan.max_load_pps:
        highest = format_pps(plan.max_load_pps)
        return Limit.MAX_LOAD, f"The goal is still met at the highest load allowed, {highest}."
    if not case.lower and case.lowest and case.lowest.trial.intended_load_pps <= plan.min_load_pps:
        return Limit.MIN_LOAD, (
            f"Even at the lowest load allowed, {format_pps(plan.min_load_pps)}, {format_ratio(case.lowest.loss_ratio)} "
            f"was lost where {format_ratio(goal.loss_ratio)} is allowed."
        )
    missing = [side for side, trial in (("lower", case.lower), ("upper", case.upper)) if not trial]
    return Limit.UNKNOWN, f"The search ended before it had {' and '.join(missing)} bound."


def _upper_limit(trial: TrialResult, allowed_ratio: float, sut_shares_tester_cpu: bool) -> tuple[Limit, str]:
    """Who lost what made this trial an upper bound."""
    load = format_pps(trial.trial.intended_load_pps)
    counts = (trial.lost_count, trial.offered_count, trial.intended_count)
    lost, offered, intended = map(format_count, counts)
    lost_ratio = _sut_loss_ratio(trial)
    if lost_ratio > allowed_ratio:
        return Limit.SUT, (
            f"At {load} the SUT lost {lost} of {offered} frames ({format_ratio(lost_ratio)}) where "
            f"{format_ratio(allowed_ratio)} is allowed."
        )
    short = f"At {load} only {offered} of {intended} frames could be sent, and the SUT lost {lost} of these"
    if sut_shares_tester_cpu:
        return Limit.SHARED_CPU, (
            f"{short}: on veth the kernel does the SUT's work on the sender's CPU, so overload appears as frames not "
            "sent, not as loss."
        )
    return Limit.TESTER, f"{short}: the tester was the limit, the SUT may forward more."


def _sut_loss_ratio(trial: TrialResult) -> float:
    """Lost share of the frames that were really offered: what was never sent, the SUT cannot have lost."""
    return trial.lost_count / trial.offered_count if trial.offered_count else 0.0
