"""MLRsearch for NDR and one PDR: two brackets moved, widened and narrowed by the same trials.

Three trials of the initial duration start from the forwarding rate of the highest load. Phases follow, each with longer
trials and half the width of the previous. A trial serves both goals, and a bracket keeps only its two bounds.

The trials are those of MLRsearch 0.3.0: the same loads and durations in the same order, with these differences:
`intervals` also uses bounds that a bracket no longer keeps, at any time, with flags for missing ones. Trials after the
initial phase have a stop rule. There is no clock: the caller decides when the time is up, and stops asking. In two
cases the published search measures one load until its time is up, where this one proceeds: if the only load allowed
meets a goal, and if a goal fails at the lowest load but not at its upper bound.

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
from nodrop.search.bracket_phase import NEEDS, BracketPhase
from nodrop.search.evidence import find_best_interval, find_valid_bounds, interval_between
from nodrop.search.initial_trials import choose_first, choose_second, choose_third
from nodrop.search.loss_table import LossTable, Measured
from nodrop.search.schedule import PhasePlan, build_schedule, pick_one_per_ratio
from nodrop.search.single_trial import Choice, measure, stop_when_decided


class MlrSearch03(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        plan.check(single_load=True)
        self._goals = pick_one_per_ratio(plan.goals)
        _check_goals(self._goals)
        self._tables: list[LossTable] = []
        self._brackets: tuple[Bracket, ...] = ()
        super().__init__(plan)

    def intervals(self) -> tuple[Interval, ...]:
        """Return the bounds of each goal, in their order: from its bracket, or from older trials that have more."""
        return tuple(self._interval(goal) for goal in self._plan.goals)

    def _interval(self, goal: Goal) -> Interval:
        final_s = self._plan.final_trial_duration_s
        for bracket in self._brackets:
            if bracket.goal.loss_ratio == goal.loss_ratio:
                return interval_between(goal, *self._bounds(bracket), final_s)
        return find_best_interval(goal, self._tables, final_s)

    def _bounds(self, bracket: Bracket) -> tuple[Measured, Measured]:
        """Return the bounds of a bracket, replacing an invalid one by that of a trial the bracket no longer keeps."""
        if not bracket.low_valid:
            forgotten, _ = find_valid_bounds(bracket.goal, self._tables, below=bracket.low)
            if forgotten:
                return forgotten, bracket.low
        elif not bracket.high_valid:
            _, forgotten = find_valid_bounds(bracket.goal, self._tables, above=bracket.high)
            if forgotten:
                return bracket.high, forgotten
        return bracket.low, bracket.high

    def _search(self) -> Dialogue:
        phases = build_schedule(self._plan, width.double)
        yield from self._initial_phase(phases[0].width_goal)
        for planned in phases:
            yield from self._phase(planned)

    def _initial_phase(self, width_goal: float) -> Dialogue:
        """Measure the highest load, then its forwarding rate, then one load next to that."""
        low_pps, high_pps = self._plan.min_load_pps, self._plan.max_load_pps
        duration_s = self._plan.initial_trial_duration_s
        table = LossTable(duration_s)
        self._tables.append(table)
        first = yield from measure(choose_first(high_pps), duration_s)
        table.add(first)
        second = yield from measure(choose_second(first, low_pps, width_goal), duration_s)
        table.add(second)
        third = first
        choice = choose_third(second, self._goals[0], width_goal)
        if low_pps < choice.load_pps < high_pps:
            third = yield from measure(choice, duration_s)
            table.add(third)
        low, high = sorted((second, third), key=lambda measured: measured.load_pps)
        self._brackets = tuple(Bracket(goal, low, high) for goal in self._goals)

    def _phase(self, planned: PhasePlan) -> Dialogue:
        """Measure until no bracket has a need."""
        if planned.duration_s > self._tables[-1].duration_s:
            self._tables.append(LossTable(planned.duration_s))
        while (choice := next(self._choices(planned), None)) is not None:
            stop = stop_when_decided(choice.load_pps, planned.duration_s, self._goals[-1].loss_ratio)
            measured = yield from measure(choice, planned.duration_s, stop)
            self._tables[-1].add(measured)
            self._brackets = tuple(bracket.update(measured) for bracket in self._brackets)

    def _choices(self, planned: PhasePlan) -> Iterator[Choice]:
        """Yield the choices of the brackets, the most urgent first."""
        phases = [BracketPhase(bracket, planned, self._plan) for bracket in self._brackets]
        for need in NEEDS:
            for phase in phases:
                if (choice := need(phase)) is not None:
                    yield choice


def _check_goals(goals: tuple[Goal, ...]) -> None:
    """Raise ConfigError unless the goals are NDR and at most one PDR."""
    if goals[0].loss_ratio == 0.0 and len(goals) <= 2:
        return
    ratios = ", ".join(f"{goal.label} {goal.loss_ratio:g}" for goal in goals)
    raise ConfigError(
        f"goals: loss ratios {ratios} are not 0 and at most one other, which mlrsearch-03 requires; "
        "change the goals, or set search.algorithm to mlrsearch-01, which finds any"
    )
