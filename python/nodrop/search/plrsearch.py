"""Soak search: the load whose mean loss ratio is a given small one, with its uncertainty, in a given time.

Trial by trial, ever longer by `plan.duration_increment_s`, the loads close in on the critical load, which two models of
the SUT estimate from all trials so far: see `nodrop.search.critical_load`. The search ends when the next trial would
not end within `plan.search_duration_max_s`, counting the dead time between trials as it has turned out so far.

It takes exactly one goal, whose loss ratio is the target and above 0. No trial is proof that a load meets a mean loss
ratio, so there are no bounds, neither valid nor invalid: the result is `estimate_pps` with `estimate_sd_pps`, from the
first trial on. Where FD.io CSIT shows a lower and an upper bound, it shows the estimate less and plus that deviation.

The published search computes while the next trial runs, so the outcome of a trial steers the next but one, and its last
trial does not count. Here the computation is short enough to come between trials, so every outcome counts at once.

Rules that choose a load: `middle` and `highest` for the first two trials; `forwarding-rate` for the next two, what came
back of the trial before; then `estimate`, between the two models' estimates, or `zero-streak`, higher than that after
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
from nodrop.search.critical_load import CriticalLoad, Observation, critical_load
from nodrop.search.single_trial import Choice, trial_of

LOSSY_COPIES = 4
"""Entries that a lossy trial adds to the lossy loads, for itself and for each trial without loss before it."""
DRAINED = 3
"""Entries that a trial without loss takes off them, even where they did not matter, to get at higher ones."""
UNSTEERED = 4
"""Trials whose loads the estimate does not choose yet."""
LOAD_DIGITS = 9
"""Significant digits of loads and estimates: the last ones of a float may differ between machines' mathematics."""


class PlrSearch(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        plan.check(single_load=True)
        _check_goals(plan)
        _check_time(plan)
        self._goal = plan.goals[0]
        self._observations: list[Observation] = []
        self._short_count = 0
        super().__init__(plan)

    def intervals(self) -> tuple[Interval, ...]:
        """The estimate so far, and no bounds."""
        if not self._observations:
            return (Interval.unknown(self._goal),)
        estimate = self._estimate()
        mean_pps, sd_pps = estimate.mean_and_sd_pps
        known = Interval.unknown(self._goal).model_copy(
            update={
                "estimate_pps": _settled(mean_pps),
                "estimate_sd_pps": _settled(sd_pps),
                "flags": tuple(self._flags(estimate)),
            }
        )
        return (known,)

    def _search(self) -> Dialogue:
        plan, streak, time = self._plan, _ZeroStreak(self._plan.max_load_pps), _Time(self._plan)
        for number in itertools.count(1):
            duration_s = (plan.initial_count + number) * plan.duration_increment_s
            if not time.allows(duration_s):
                return
            trial = trial_of(self._choice(number, streak), duration_s)
            outcome = yield trial
            time.spend(trial, outcome)
            observation = _observed(trial, outcome)
            self._observations.append(observation)
            self._short_count += outcome.unsent_count > 0
            streak.take(observation, self._goal.loss_ratio)

    def _choice(self, number: int, streak: "_ZeroStreak") -> Choice:
        load_pps, reason, rule = self._aim(number, streak)
        within_pps = min(self._plan.max_load_pps, max(self._plan.min_load_pps, _settled(load_pps)))
        return Choice(within_pps, reason, rule, self._goal.label)

    def _aim(self, number: int, streak: "_ZeroStreak") -> tuple[float, Message, str]:
        """Load, reason and rule of a trial; the load may lie outside those allowed."""
        plan = self._plan
        if number == 1:
            middle_pps = (plan.min_load_pps + plan.max_load_pps) / 2
            return middle_pps, Message.of("middle-first"), "middle"
        if number == 2:
            return plan.max_load_pps, Message.of("forwarding-rate-of-highest"), "highest"
        if number <= UNSTEERED:
            last = self._observations[-1]
            forwarded_pps = last.load_pps * (1 - last.lost_count / last.asked_count)
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
        return critical_load(tuple(self._observations), self._goal.loss_ratio, plan.min_load_pps, plan.max_load_pps)

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
    """Trials without loss say little: the more of them in a row, the nearer the next one goes to a load that lost."""

    def __init__(self, max_load_pps: float) -> None:
        self.length = 0
        self._lossy_pps = [max_load_pps]
        self._trial_count = 0

    @property
    def lossy_pps(self) -> float:
        """The lowest load on record that lost too much."""
        return self._lossy_pps[0]

    def take(self, observation: Observation, target_ratio: float) -> None:
        """Count a trial, and keep or drop lossy loads."""
        if self.length and self._trial_count >= UNSTEERED and len(self._lossy_pps) > DRAINED:
            del self._lossy_pps[:DRAINED]
        self._trial_count += 1
        self.length += 1
        if observation.lost_count >= target_ratio * observation.asked_count:
            self._lossy_pps += [observation.load_pps] * (LOSSY_COPIES * self.length)
            self._lossy_pps.sort()
        if observation.lost_count:
            self.length = 0

    def higher_than(self, estimate_pps: float) -> float | None:
        """The load to measure instead of the estimate; None where that will do."""
        if not self.length:
            return None
        weight = 2.0 ** (1 - self.length)
        higher_pps = (self.lossy_pps + weight * estimate_pps) / (1 + weight)
        return higher_pps if self.lossy_pps > estimate_pps else None


class _Time:
    """Time spent, with what passes between trials taken as the most it has been so far."""

    def __init__(self, plan: SearchPlan) -> None:
        self._most_s = plan.search_duration_max_s
        self._between_s = plan.overhead_s
        self._ended_s: float | None = None

    def allows(self, duration_s: float) -> bool:
        """Whether a trial would end in time."""
        started_s = 0.0 if self._ended_s is None else self._ended_s + self._between_s
        return started_s + duration_s <= self._most_s

    def spend(self, trial: Trial, outcome: Outcome) -> None:
        """Count a trial; where nobody keeps the time, as long as it was to be."""
        if self._ended_s is not None:
            self._between_s = max(self._between_s, outcome.started_s - self._ended_s)
            started_s = max(outcome.started_s, self._ended_s + self._between_s)
        else:
            started_s = outcome.started_s
        self._ended_s = started_s + (outcome.elapsed_s or trial.duration_s)


def _observed(trial: Trial, outcome: Outcome) -> Observation:
    """A trial as the models see it: what was never sent is lost, and where nothing was counted the ratio tells."""
    counted = outcome.offered_count + outcome.unsent_count
    asked_count = counted or max(1, round(trial.intended_load_pps * trial.duration_s))
    lost_count = outcome.lost_count + outcome.unsent_count if counted else round(outcome.loss_ratio * asked_count)
    return Observation(trial.intended_load_pps, asked_count, min(max(0, lost_count), asked_count))


def _settled(load_pps: float) -> float:
    return float(f"{load_pps:.{LOAD_DIGITS}g}")


def _check_goals(plan: SearchPlan) -> None:
    if len(plan.goals) == 1 and plan.goals[0].loss_ratio > 0:
        return
    asked = " and ".join(f"{goal.label} = {goal.loss_ratio:g}" for goal in plan.goals)
    raise ConfigError(
        f"goals: {asked} asked, plrsearch estimates the load of one mean loss ratio above 0; "
        "ask for one such goal (--goal PLR=0.00001%)"
    )


def _check_time(plan: SearchPlan) -> None:
    first_s = (plan.initial_count + 1) * plan.duration_increment_s
    if first_s > plan.search_duration_max_s:
        raise ConfigError(
            f"search: {plan.search_duration_max_s:g} s asked for all of it, the first trial takes {first_s:g} s; "
            "allow more time (search.max_duration) or shorter trials (search.initial_count, search.duration_increment)"
        )
