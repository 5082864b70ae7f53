"""Soak search: the load with a given small mean loss ratio, with its uncertainty, in a given time.

Trial by trial, ever longer by `plan.duration_increment_s`, the loads close in on the critical load, which two models of
the SUT estimate from all trials so far: see `nodrop.search.critical_load`. The search ends when the next trial would
not end within `plan.search_duration_max_s`, including the dead time between trials observed so far.

The search takes exactly one goal, whose loss ratio is the target and above 0. No trial proves that a load meets a mean
loss ratio, so there are no bounds: the result is `estimate_pps` with `estimate_sd_pps`, from the first trial on. The
lower and upper bounds of FD.io CSIT are the estimate minus and plus that deviation.

The published search computes while the next trial runs, so the outcome of a trial steers the next but one, and its last
trial does not count. Here the computation is short enough to come between trials, so every outcome counts at once.

Rules that choose a load: `middle` and `highest` for the first two trials; `forwarding-rate` for the next two, that of
the previous trial; then `estimate`, between the two models' estimates, or `zero-streak`, higher than that after
trials without any loss.

Source: draft-vpolak-bmwg-plrsearch-03, sections "Offered Load Selection" and "Measurement Delay".
"""

import itertools
import math

from nodrop.errors import ConfigError
from nodrop.model.goal import Flag
from nodrop.model.message import Message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search.base import Dialogue, DialogueSearch, Interval, Outcome
from nodrop.search.critical_load import CriticalLoad, LoadObservation, estimate_critical_load
from nodrop.search.single_trial import Choice, make_trial

LOSSY_COPIES = 4
"""Entries that a lossy trial adds to the lossy loads, for itself and for each preceding trial without loss."""
DRAINED = 3
"""Entries that a trial without loss removes from them, even unused ones, to reach higher loads."""
UNSTEERED = 4
"""Initial trials whose loads do not depend on the estimate."""
LOAD_DIGITS = 9
"""Significant digits of loads and estimates; the last digits of a float may differ between math libraries."""


class PlrSearch(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        plan.check(single_load=True)
        _check_goals(plan)
        _check_time(plan)
        self._goal = plan.goals[0]
        self._observations: list[LoadObservation] = []
        self._short_count = 0
        super().__init__(plan)

    def intervals(self) -> tuple[Interval, ...]:
        """Return the estimate so far, without bounds."""
        if not self._observations:
            return (Interval.unknown(self._goal),)
        estimate = self._estimate()
        mean_pps, sd_pps = estimate.mean_and_sd_pps
        interval = Interval.unknown(self._goal).replace(
            estimate_pps=_round(mean_pps), estimate_sd_pps=_round(sd_pps), flags=tuple(self._flags(estimate))
        )
        return (interval,)

    def _search(self) -> Dialogue:
        plan, streak, time = self._plan, _ZeroStreak(self._plan.max_load_pps), _TimeBudget(self._plan)
        for number in itertools.count(1):
            duration_s = (plan.initial_count + number) * plan.duration_increment_s
            if not time.allows(duration_s):
                return
            trial = make_trial(self._choice(number, streak), duration_s)
            outcome = yield trial
            time.spend(trial, outcome)
            observation = _observe(trial, outcome)
            self._observations.append(observation)
            self._short_count += outcome.unsent_count > 0
            streak.update(observation, self._goal.loss_ratio)

    def _choice(self, number: int, streak: "_ZeroStreak") -> Choice:
        load_pps, reason, rule = self._aim(number, streak)
        within_pps = min(self._plan.max_load_pps, max(self._plan.min_load_pps, _round(load_pps)))
        return Choice(within_pps, reason, rule, self._goal.label)

    def _aim(self, number: int, streak: "_ZeroStreak") -> tuple[float, Message, str]:
        """Return load, reason and rule of a trial; the load may exceed the limits."""
        plan = self._plan
        if number == 1:
            middle_pps = (plan.min_load_pps + plan.max_load_pps) / 2
            return middle_pps, Message.of("middle-first"), "middle"
        if number == 2:
            return plan.max_load_pps, Message.of("forwarding-rate-of-highest"), "highest"
        if number <= UNSTEERED:
            last = self._observations[-1]
            forwarded_pps = last.load_pps * (1 - last.lost_count / last.intended_count)
            reason = Message.of("about-forwarding-rate", forwarded_pps=forwarded_pps, load_pps=last.load_pps)
            return forwarded_pps / (1 - self._goal.loss_ratio), reason, "forwarding-rate"
        estimate_pps = self._estimate().between_curves_pps
        higher_pps = streak.higher_than(estimate_pps)
        if higher_pps is None:
            reason = Message.of("critical-load", goal=self._goal.label, estimate_pps=estimate_pps)
            return estimate_pps, reason, "estimate"
        reason = Message.of(
            "zero-streak",
            count=streak.length,
            goal=self._goal.label,
            estimate_pps=estimate_pps,
            lossy_pps=streak.lossy_pps,
        )
        return higher_pps, reason, "zero-streak"

    def _estimate(self) -> CriticalLoad:
        plan = self._plan
        return estimate_critical_load(
            tuple(self._observations), self._goal.loss_ratio, plan.min_load_pps, plan.max_load_pps
        )

    def _flags(self, estimate: CriticalLoad) -> list[Flag]:
        plan, flags = self._plan, []
        mean_pps, sd_pps = estimate.mean_and_sd_pps
        for limit_pps, name in ((plan.min_load_pps, "lowest"), (plan.max_load_pps, "highest")):
            if abs(limit_pps - mean_pps) <= sd_pps:
                flags.append(Flag.of(f"estimate-at-{name}-load", load_pps=limit_pps))
        if estimate.curves_disagree:
            stretch_pps, erf_pps = (math.exp(curve.mean) for curve in (estimate.stretch, estimate.erf))
            flags.append(Flag.of("models-disagree", stretch_pps=stretch_pps, erf_pps=erf_pps))
        if self._short_count:
            flags.append(Flag.of("tester-limited", short_count=self._short_count, count=len(self._observations)))
        return flags


class _ZeroStreak:
    """Consecutive trials without loss: the more of them, the closer the next load is to one with loss."""

    def __init__(self, max_load_pps: float) -> None:
        self.length = 0
        self._lossy_pps = [max_load_pps]
        self._trial_count = 0

    @property
    def lossy_pps(self) -> float:
        """The lowest recorded load that lost too much."""
        return self._lossy_pps[0]

    def update(self, observation: LoadObservation, target_ratio: float) -> None:
        """Count a trial, and add or remove lossy loads."""
        if self.length and self._trial_count >= UNSTEERED and len(self._lossy_pps) > DRAINED:
            del self._lossy_pps[:DRAINED]
        self._trial_count += 1
        self.length += 1
        if observation.lost_count >= target_ratio * observation.intended_count:
            self._lossy_pps += [observation.load_pps] * (LOSSY_COPIES * self.length)
            self._lossy_pps.sort()
        if observation.lost_count:
            self.length = 0

    def higher_than(self, estimate_pps: float) -> float | None:
        """Return the load to measure instead of the estimate; None to measure the estimate."""
        if not self.length:
            return None
        weight = 2.0 ** (1 - self.length)
        higher_pps = (self.lossy_pps + weight * estimate_pps) / (1 + weight)
        return higher_pps if self.lossy_pps > estimate_pps else None


class _TimeBudget:
    """Time used so far; the time between trials is the longest observed."""

    def __init__(self, plan: SearchPlan) -> None:
        self._limit_s = plan.search_duration_max_s
        self._between_s = plan.overhead_s
        self._ended_s: float | None = None

    def allows(self, duration_s: float) -> bool:
        """Return whether a trial would end in time."""
        started_s = 0.0 if self._ended_s is None else self._ended_s + self._between_s
        return started_s + duration_s <= self._limit_s

    def spend(self, trial: Trial, outcome: Outcome) -> None:
        """Count a trial, with its requested duration if the measurer has no clock."""
        if self._ended_s is not None:
            self._between_s = max(self._between_s, outcome.started_s - self._ended_s)
            started_s = max(outcome.started_s, self._ended_s + self._between_s)
        else:
            started_s = outcome.started_s
        self._ended_s = started_s + (outcome.elapsed_s or trial.duration_s)


def _observe(trial: Trial, outcome: Outcome) -> LoadObservation:
    """Return a trial as the models see it: unsent frames are lost; without counts the ratio applies."""
    counted = outcome.offered_count + outcome.unsent_count
    intended_count = counted or max(1, round(trial.intended_load_pps * trial.duration_s))
    lost_count = outcome.lost_count + outcome.unsent_count if counted else round(outcome.loss_ratio * intended_count)
    return LoadObservation(trial.intended_load_pps, intended_count, min(max(0, lost_count), intended_count))


def _round(load_pps: float) -> float:
    return float(f"{load_pps:.{LOAD_DIGITS}g}")


def _check_goals(plan: SearchPlan) -> None:
    if len(plan.goals) == 1 and plan.goals[0].loss_ratio > 0:
        return
    goals = " and ".join(f"{goal.label} = {goal.loss_ratio:g}" for goal in plan.goals)
    raise ConfigError(
        f"goals: {goals} is not one mean loss ratio above 0, which plrsearch requires; "
        "set one such goal, e.g. --goal PLR=0.00001%"
    )


def _check_time(plan: SearchPlan) -> None:
    first_s = (plan.initial_count + 1) * plan.duration_increment_s
    if first_s > plan.search_duration_max_s:
        raise ConfigError(
            f"search.max_duration: {plan.search_duration_max_s:g} s is shorter than the first trial ({first_s:g} s); "
            "raise it, or shorten trials (search.initial_count, search.duration_increment)"
        )
