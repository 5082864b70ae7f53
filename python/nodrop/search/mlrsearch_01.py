"""MLRsearch for several loss ratios: short trials find roughly where the goals lie, longer ones prove it.

Three trials of the initial duration look at what comes back of the highest load. Phases follow, each with longer
trials and half the width of the one before; every phase starts from the bounds of the previous one.

The trials are those of MLRsearch 0.4.0: the same loads and durations in the same order. Three things differ around
them. Nothing is ever raised away: `intervals` says at any time what is known and flags what is not. Trials after the
initial phase carry a stop rule. And there is no clock: whoever measures decides when the time is up, and stops asking.

Source: draft-ietf-bmwg-mlrsearch-01 sections 4 and 5.
"""

import math
from collections.abc import Generator
from typing import NamedTuple

from nodrop.errors import ConfigError
from nodrop.model.goal import Goal
from nodrop.model.plan import SearchPlan
from nodrop.model.trial import StopRule, Trial
from nodrop.search import width
from nodrop.search.base import Dialogue, DialogueSearch, Interval, Outcome
from nodrop.search.evidence import best_interval
from nodrop.search.loss_table import LossTable, Measured
from nodrop.search.phase import Choice, Phase
from nodrop.search.wording import load_text, width_text

Measuring = Generator[Trial, Outcome, Measured]
"""A dialogue about one trial."""


class PhasePlan(NamedTuple):
    """Duration and width goal of one phase."""

    duration_s: float
    width_goal: float


class MlrSearch01(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        _check(plan)
        self._goals = _one_per_ratio(plan.goals)
        self._tables: list[LossTable] = []
        super().__init__(plan)

    def intervals(self) -> tuple[Interval, ...]:
        """What is known of each goal, in the goals' order; see `nodrop.search.evidence`."""
        final_s = self._plan.final_trial_duration_s
        return tuple(best_interval(goal, self._tables, final_s) for goal in self._plan.goals)

    def _search(self) -> Dialogue:
        schedule = _schedule(self._plan)
        yield from self._initial_phase(schedule[0].width_goal)
        previous = None
        for planned in schedule:
            current = self._tables[-1]
            if planned.duration_s > current.duration_s:
                previous, current = current, LossTable(planned.duration_s)
                self._tables.append(current)
            yield from self._phase(
                Phase(
                    width_goal=planned.width_goal,
                    min_load_pps=self._plan.min_load_pps,
                    max_load_pps=self._plan.max_load_pps,
                    expansion_coefficient=self._plan.expansion_coefficient,
                    current=current,
                    previous=previous,
                )
            )

    def _initial_phase(self, width_goal: float) -> Dialogue:
        """Measure the highest load, then what came back of it, then one more load beside that (section 4.2)."""
        low, high = self._plan.min_load_pps, self._plan.max_load_pps
        duration_s = self._plan.initial_trial_duration_s
        first_choice = Choice(high, "what comes back of the highest load shows how much is forwarded at all")
        first = yield from _measure(first_choice, duration_s)
        self._tables = [LossTable(duration_s, [first])]

        second_choice = _second_choice(first, low, width_goal)
        if second_choice.load_pps >= high:
            return
        second = yield from _measure(second_choice, duration_s)
        self._tables = [LossTable(duration_s, [first, second])]

        third_choice = _third_choice(second, self._goals[0], width_goal)
        if not low < third_choice.load_pps < high:
            return
        third = yield from _measure(third_choice, duration_s)
        # The phases must not see the first trial: they would bisect towards it instead of stepping up from the third.
        self._tables = [LossTable(duration_s, [first]), LossTable(duration_s, [second, third])]

    def _phase(self, phase: Phase) -> Dialogue:
        """Measure what the goals want, smallest loss ratio first, until none wants anything (section 4.3)."""
        while (choice := self._next_choice(phase)) is not None:
            duration_s = phase.current.duration_s
            phase.current.add((yield from _measure(choice, duration_s, self._stop_rule(choice, duration_s))))

    def _next_choice(self, phase: Phase) -> Choice | None:
        for goal in self._goals:
            choice = phase.choose(goal)
            if choice is not None:
                return choice
            if not phase.current.sides(goal.loss_ratio).lowers:
                # The lowest load fails the smallest ratio: the published algorithm then leaves the phase for all goals.
                return None
        return None

    def _stop_rule(self, choice: Choice, duration_s: float) -> StopRule:
        """Stop once the load is certainly an upper bound of every goal, whatever the rest of the trial brings.

        More than `lost_count` lost is more than the largest loss ratio of all frames asked for. Rounding up leaves room
        for streams that each round their share of the frames up.
        """
        intended_count = math.ceil(choice.load_pps * duration_s)
        return StopRule(lost_count=math.ceil(self._goals[-1].loss_ratio * intended_count))


def _measure(choice: Choice, duration_s: float, stop: StopRule | None = None) -> Measuring:
    trial = Trial(intended_load_pps=choice.load_pps, duration_s=duration_s, stop=stop, reason=choice.reason)
    outcome = yield trial
    return Measured(choice.load_pps, duration_s, outcome.loss_ratio, outcome.index)


def _second_choice(first: Measured, min_load_pps: float, width_goal: float) -> Choice:
    """What came back of the highest load, at least one width below it."""
    forwarded_pps = _forwarded_pps(first)
    one_below_pps = width.below(first.load_pps, width_goal)
    load_pps = max(min_load_pps, min(one_below_pps, forwarded_pps))
    came_back = f"{load_text(forwarded_pps)} came back of {load_text(first.load_pps)}"
    if load_pps == forwarded_pps:
        return Choice(load_pps, f"{came_back}: measuring at what came back")
    if load_pps == one_below_pps:
        return Choice(load_pps, f"{came_back}, nearly all: stepping down one width of {width_text(width_goal)}")
    return Choice(load_pps, f"{came_back}: measuring at the lowest load allowed")


def _third_choice(second: Measured, goal: Goal, width_goal: float) -> Choice:
    """The other side of the second load: down where it lost too much for the smallest ratio, else up."""
    here = load_text(second.load_pps)
    if second.loss_ratio > goal.loss_ratio:
        load_pps = min(width.below(second.load_pps, width_goal), _forwarded_pps(second))
        return Choice(load_pps, f"{here} loses too much for {goal.label}: stepping down to what came back or lower")
    load_pps = width.above(second.load_pps, width_goal)
    return Choice(
        load_pps, f"{here} is good enough for {goal.label}: stepping up one width of {width_text(width_goal)}"
    )


def _forwarded_pps(measured: Measured) -> float:
    return measured.load_pps * (1.0 - measured.loss_ratio)


def _schedule(plan: SearchPlan) -> list[PhasePlan]:
    """The phases after the initial one: durations in geometric steps, each width goal twice the following one's.

    Worked out from the last to the first, so that the last has exactly the duration and the width asked for.
    """
    initial_s = plan.initial_trial_duration_s
    schedule = [PhasePlan(plan.final_trial_duration_s, plan.width_ratio)]
    for count in range(plan.intermediate_phases, 0, -1):
        later = schedule[0]
        duration_s = initial_s * math.pow(later.duration_s / initial_s, (count - 1) / count)
        schedule.insert(0, PhasePlan(duration_s, width.times(later.width_goal, 2.0)))
    return schedule


def _one_per_ratio(goals: tuple[Goal, ...]) -> tuple[Goal, ...]:
    """The goals by rising loss ratio, the first of each ratio; goals of one ratio share their bounds."""
    by_ratio = {goal.loss_ratio: goal for goal in reversed(goals)}
    return tuple(by_ratio[ratio] for ratio in sorted(by_ratio))


def _check(plan: SearchPlan) -> None:
    if plan.min_load_pps > plan.max_load_pps:
        raise ConfigError(
            f"search: loads from {load_text(plan.min_load_pps)} to {load_text(plan.max_load_pps)} asked, "
            "which leaves none; make the maximum load at least the minimum load"
        )
    if plan.final_trial_duration_s < plan.initial_trial_duration_s:
        raise ConfigError(
            f"search: trials from {plan.initial_trial_duration_s:g} s to {plan.final_trial_duration_s:g} s asked, "
            "later ones shorter; make the final trial duration at least the initial one"
        )
