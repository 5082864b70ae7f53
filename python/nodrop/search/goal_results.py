"""What the search knows and the trials counted, turned into results that say what limited them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nodrop.errors import SearchError
from nodrop.model.goal import Bound, Flag, Goal, GoalResult, Limit
from nodrop.model.result import RunResult
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.search.base import Interval
from nodrop.units import format_count, format_pps, format_ratio, format_seconds

OUT_OF_TIME = "out-of-time"
"""Code of the flag of a goal that was not found in the time there was."""
ROUNDING = 1e-9
"""Bounds exactly one width apart are so but for the last digits."""
NORMAL_95 = 1.6449
"""95 % quantile of the normal distribution."""


def require_goal_loads(result: RunResult) -> None:
    """Make sure that a run found what it was asked for. Raises SearchError for goals without a load or an estimate."""
    without = [found for found in result.goals if not found.lower and found.estimate_pps is None]
    if not without:
        return
    labels = " and ".join(found.goal.label for found in without)
    if any(found.limit is not Limit.MIN_LOAD for found in without):
        raise SearchError(f"a load that meets {labels} asked, none was found; allow more time (--budget)")
    raise SearchError(
        f"a load that meets {labels} asked, even the lowest one loses more; "
        "allow a lower load (--min-load) or more loss (--goal)"
    )


def compute_goal_results(
    plan: SearchPlan,
    intervals: Sequence[Interval],
    trials: Sequence[TrialResult],
    sut_shares_tester_cpu: bool,
    out_of_time: bool = False,
) -> tuple[GoalResult, ...]:
    """The result of every goal, also half-way through a search.

    Args:
        plan: what was searched for.
        intervals: what the search knows, one per goal.
        trials: all trials of the run, which the intervals point at by index.
        sut_shares_tester_cpu: whether the SUT's work is done on the sender's CPU.
        out_of_time: whether the search was ended by the time it has.
    """
    cases = [_GoalContext(plan, interval, trials, sut_shares_tester_cpu, out_of_time) for interval in intervals]
    return tuple(map(_goal_result, cases))


class _GoalContext(NamedTuple):
    """All there is to judge one goal by."""

    plan: SearchPlan
    interval: Interval
    trials: Sequence[TrialResult]
    sut_shares_tester_cpu: bool
    out_of_time: bool

    @property
    def goal(self) -> Goal:
        """With every attribute."""
        return self.plan.complete(self.interval.goal)

    @property
    def lower(self) -> TrialResult | None:
        """A trial at the highest load known to meet the goal, which says so."""
        return self._trial(self.interval.lower_index) if self.interval.lower_valid else None

    @property
    def upper(self) -> TrialResult | None:
        """A trial at the lowest load known not to meet it, which says so."""
        return self._trial(self.interval.upper_index) if self.interval.upper_valid else None

    @property
    def lowest(self) -> TrialResult | None:
        """A trial at the lowest load there was, whether it met the goal or not."""
        return self._trial(self.interval.lower_index) or self.upper

    def beside(self, trial: TrialResult) -> list[TrialResult]:
        """All trials of the search at the same load that count."""
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


def _goal_result(case: _GoalContext) -> GoalResult:
    interval = case.interval
    limit, explanation = _limit(case)
    lower, upper = _bound(case.lower), _bound(case.upper)
    regular = interval.final and lower is not None and upper is not None and _is_narrow(case.goal, lower, upper)
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
        loss_ratio_limit=_loss_ratio_limit(case) if interval.loss_ratio_limit is None else interval.loss_ratio_limit,
        flags=_flags(case, limit, regular),
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


def _is_narrow(goal: Goal, lower: Bound, upper: Bound) -> bool:
    assert goal.width_ratio
    return (upper.load_pps - lower.load_pps) / upper.load_pps <= goal.width_ratio * (1 + ROUNDING)


def _flags(case: _GoalContext, limit: Limit, regular: bool) -> tuple[Flag, ...]:
    """What the search flagged, who the limit was if not the SUT, and that the time was up."""
    flags = {flag.code: flag for flag in case.interval.flags}
    if limit.is_tester:
        text = "The upper bound is the tester's: it could not send this load, and the SUT may forward more."
        flags.setdefault("tester-limited", Flag(code="tester-limited", text=text))
    if regular:
        flags.pop(OUT_OF_TIME, None)
    elif case.out_of_time and case.interval.estimate_pps is None:
        text = f"The {format_seconds(case.plan.search_duration_max_s)} for the search were over before it was done."
        flags.setdefault(OUT_OF_TIME, Flag(code=OUT_OF_TIME, text=text))
    return tuple(flags.values())


def _loss_ratio_limit(case: _GoalContext) -> float | None:
    """Upper 95 % confidence limit of the loss ratio at the lower bound, over all trials there.

    The Poisson limit in the approximation of Wilson and Hilferty (1931), within 1 % of the exact one.
    """
    trials = case.beside(case.lower) if case.lower else []
    intended_count = sum(trial.offered_count + trial.unsent_count for trial in trials)
    if not intended_count:
        return None
    events = 1 + sum(trial.lost_count + trial.unsent_count for trial in trials)
    expected = events * (1 - 1 / (9 * events) + NORMAL_95 / (3 * math.sqrt(events))) ** 3
    return min(1.0, expected / intended_count)


def _limit(case: _GoalContext) -> tuple[Limit, str]:
    """What made the upper bound one; without one, or without a lower bound, where the search ended."""
    plan, goal, lowest = case.plan, case.interval.goal, case.lowest
    if case.lower and case.upper:
        return _upper_limit(case, case.upper)
    if case.lower and _reaches(case.lower, plan.max_load_pps):
        highest = format_pps(plan.max_load_pps)
        return Limit.MAX_LOAD, f"The goal is still met at the highest load allowed, {highest}."
    if not case.lower and lowest and lowest.trial.intended_load_pps <= plan.min_load_pps:
        worst_ratio = max(trial.loss_ratio for trial in (lowest, *case.beside(lowest)))
        return Limit.MIN_LOAD, (
            f"Even at the lowest load allowed, {format_pps(plan.min_load_pps)}, {format_ratio(worst_ratio)} "
            f"was lost where {format_ratio(goal.loss_ratio)} is allowed."
        )
    if case.interval.estimate_pps is not None and not case.lower and not case.upper:
        return Limit.UNKNOWN, "This is an estimate; the search does not look for bounds."
    missing = [side for side, trial in (("lower", case.lower), ("upper", case.upper)) if not trial]
    return Limit.UNKNOWN, f"The search ended before it had {' and '.join(missing)} bound."


def _reaches(trial: TrialResult, load_pps: float) -> bool:
    load = trial.trial.intended_load_pps
    return load >= load_pps or math.isclose(load, load_pps)


def _upper_limit(case: _GoalContext, telling: TrialResult) -> tuple[Limit, str]:
    """Who lost what made this load an upper bound: whoever did in most of the trials that lost too much."""
    allowed_ratio = case.goal.loss_ratio
    trials = case.beside(telling)
    high_loss = [trial for trial in trials if trial.loss_ratio > allowed_ratio] or [telling]
    by_sut = [trial for trial in high_loss if _sut_loss_ratio(trial) > allowed_ratio]
    by_tester = [trial for trial in high_loss if _sut_loss_ratio(trial) <= allowed_ratio and trial.unsent_count]
    if not by_sut and not by_tester:
        return Limit.SUT, _stopped_early_text(case.goal, telling)
    if len(by_sut) >= len(by_tester):
        often = f", as in {len(high_loss)} of {len(trials)} trials at this load" if len(trials) > 1 else ""
        return Limit.SUT, _lost_text(by_sut[-1], allowed_ratio, often)
    short = by_tester[-1]
    if case.sut_shares_tester_cpu:
        return Limit.SHARED_CPU, (
            f"{_short_text(short)}: on veth the kernel does the SUT's work on the sender's CPU, so overload appears as "
            "frames not sent, not as loss."
        )
    return Limit.TESTER, f"{_short_text(short)}: the tester was the limit, the SUT may forward more."


def _lost_text(trial: TrialResult, allowed_ratio: float, often: str) -> str:
    return (
        f"At {format_pps(trial.trial.intended_load_pps)} the SUT lost {format_count(trial.lost_count)} of "
        f"{format_count(trial.offered_count)} frames ({format_ratio(_sut_loss_ratio(trial))}) where "
        f"{format_ratio(allowed_ratio)} is allowed{often}."
    )


def _stopped_early_text(goal: Goal, trial: TrialResult) -> str:
    """A trial that lost too much only for a part of its time, or would have had it lasted."""
    assert goal.final_trial_duration_s
    return (
        f"At {format_pps(trial.trial.intended_load_pps)} the SUT lost {format_count(trial.lost_count)} of "
        f"{format_count(trial.offered_count)} frames within {format_seconds(trial.duration_s)}, which comes to "
        f"more than the {format_ratio(goal.loss_ratio)} allowed in {format_seconds(goal.final_trial_duration_s)}."
    )


def _short_text(trial: TrialResult) -> str:
    lost, offered, intended = map(format_count, (trial.lost_count, trial.offered_count, trial.intended_count))
    load = format_pps(trial.trial.intended_load_pps)
    return f"At {load} only {offered} of {intended} frames could be sent, and the SUT lost {lost} of these"


def _sut_loss_ratio(trial: TrialResult) -> float:
    """Lost share of the frames that were really offered: what was never sent, the SUT cannot have lost."""
    return trial.lost_count / trial.offered_count if trial.offered_count else 0.0
