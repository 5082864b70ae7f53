"""MLRsearch for NDR and one PDR: two brackets moved, widened and narrowed by the same trials.

Three trials of the initial duration look at what comes back of the highest load. Phases follow, each with longer
trials and half the width of the one before. A trial serves both goals, and a bracket remembers its two bounds only.

The trials are those of MLRsearch 0.3.0: the same loads and durations in the same order. What differs is around them.
Bounds that a bracket has forgotten are still known to `intervals`, which says at any time what is known and flags what
is not. Trials after the initial phase carry a stop rule. There is no clock: whoever measures decides when the time is
up, and stops asking. And twice the published search would measure one load until its time is up, where this one goes
on: when the only load allowed meets a goal, and when a goal fails at the lowest load but not at its upper bound.

Rules that choose a load: `initial`; then, in a phase, the first of `external-down` and `external-up` where a bound is
invalid, `bisect` where a bracket is too wide, `remeasure` where a bound comes from shorter trials.

Source: draft-vpolak-mkonstan-bmwg-mlrsearch-03 sections "Sample Implementation" and "Additional details".
"""

from collections.abc import Iterator

from nodrop.errors import ConfigError
from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.search import width
from nodrop.search.base import Dialogue, DialogueSearch, Interval
from nodrop.search.bracket import Bracket
from nodrop.search.bracket_phase import WISHES, BracketPhase
from nodrop.search.evidence import best_interval, interval_between, valid_bounds
from nodrop.search.initial_trials import first_choice, second_choice, third_choice
from nodrop.search.loss_table import LossTable, Measured
from nodrop.search.schedule import PhasePlan, one_per_ratio, schedule
from nodrop.search.single_trial import Choice, measure, stop_when_decided


class MlrSearch03(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        plan.check(single_load=True)
        self._goals = one_per_ratio(plan.goals)
        _check_goals(self._goals)
        self._tables: list[LossTable] = []
        self._brackets: tuple[Bracket, ...] = ()
        super().__init__(plan)

    def intervals(self) -> tuple[Interval, ...]:
        """What is known of each goal, in their order: by its bracket, or by older trials where these know more."""
        return tuple(self._interval(goal) for goal in self._plan.goals)

    def _interval(self, goal: Goal) -> Interval:
        final_s = self._plan.final_trial_duration_s
        for bracket in self._brackets:
            if bracket.goal.loss_ratio == goal.loss_ratio:
                return interval_between(goal, *self._bounds(bracket), final_s)
        return best_interval(goal, self._tables, final_s)

    def _bounds(self, bracket: Bracket) -> tuple[Measured, Measured]:
        """An invalid bound is one of the other side; the trial that would belong to it may have been forgotten."""
        if not bracket.low_valid:
            forgotten, _ = valid_bounds(bracket.goal, self._tables, below=bracket.low)
            if forgotten:
                return forgotten, bracket.low
        elif not bracket.high_valid:
            _, forgotten = valid_bounds(bracket.goal, self._tables, above=bracket.high)
            if forgotten:
                return bracket.high, forgotten
        return bracket.low, bracket.high

    def _search(self) -> Dialogue:
        phases = schedule(self._plan, width.doubled)
        yield from self._initial_phase(phases[0].width_goal)
        for planned in phases:
            yield from self._phase(planned)

    def _initial_phase(self, width_goal: float) -> Dialogue:
        """Measure the highest load, then what came back of it, then one more load beside that."""
        low_pps, high_pps = self._plan.min_load_pps, self._plan.max_load_pps
        duration_s = self._plan.initial_trial_duration_s
        table = LossTable(duration_s)
        self._tables.append(table)
        first = yield from measure(first_choice(high_pps), duration_s)
        table.add(first)
        second = yield from measure(second_choice(first, low_pps, width_goal), duration_s)
        table.add(second)
        beside = first
        choice = third_choice(second, self._goals[0], width_goal)
        if low_pps < choice.load_pps < high_pps:
            beside = yield from measure(choice, duration_s)
            table.add(beside)
        low, high = sorted((second, beside), key=lambda measured: measured.load_pps)
        self._brackets = tuple(Bracket(goal, low, high) for goal in self._goals)

    def _phase(self, planned: PhasePlan) -> Dialogue:
        """Measure what the brackets need until they need nothing."""
        if planned.duration_s > self._tables[-1].duration_s:
            self._tables.append(LossTable(planned.duration_s))
        while (choice := next(self._wishes(planned), None)) is not None:
            stop = stop_when_decided(choice.load_pps, planned.duration_s, self._goals[-1].loss_ratio)
            measured = yield from measure(choice, planned.duration_s, stop)
            self._tables[-1].add(measured)
            self._brackets = tuple(bracket.after(measured) for bracket in self._brackets)

    def _wishes(self, planned: PhasePlan) -> Iterator[Choice]:
        """What the brackets want measured, the most urgent first."""
        phases = [BracketPhase(bracket, planned, self._plan) for bracket in self._brackets]
        for wish in WISHES:
            for phase in phases:
                if (choice := wish(phase)) is not None:
                    yield choice


def _check_goals(goals: tuple[Goal, ...]) -> None:
    """Raises ConfigError unless there is NDR, with at most one PDR."""
    if goals[0].loss_ratio == 0.0 and len(goals) <= 2:
        return
    asked = ", ".join(f"{goal.label} {goal.loss_ratio:g}" for goal in goals)
    raise ConfigError(
        f"search: loss ratios {asked} asked, mlrsearch-03 finds loss ratio 0 and at most one other; "
        "ask for these, or choose search.algorithm mlrsearch-01, which finds any"
    )
