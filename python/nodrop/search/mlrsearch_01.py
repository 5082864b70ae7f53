"""MLRsearch for several loss ratios: short trials find roughly where the goals lie, longer ones prove it.

Three trials of the initial duration start from the forwarding rate of the highest load. Phases follow, each with longer
trials and half the width of the previous; every phase starts from the bounds of the previous one.

The trials are those of MLRsearch 0.4.0: the same loads and durations in the same order. Three things differ.
`intervals` returns bounds at any time, with flags for missing ones, instead of raising an exception. Trials after the
initial phase have a stop rule. And there is no clock: the caller decides when the time is up, and stops asking.

Rules that choose a load: `initial`; then, in a phase, `split` an interval, `remeasure` a bound of shorter trials,
`external-down` and `external-up` if a bound is missing, `step-down` if the lower bound is far below.

Source: draft-ietf-bmwg-mlrsearch-01 sections 4 and 5.
"""

from nodrop.model.goal import Flag
from nodrop.model.search_plan import SearchPlan
from nodrop.search import width
from nodrop.search.base import Dialogue, DialogueSearch, Interval
from nodrop.search.evidence import find_best_interval
from nodrop.search.initial_trials import choose_first, choose_second, choose_third
from nodrop.search.loss_table import LossTable
from nodrop.search.phase import Phase
from nodrop.search.schedule import build_schedule, pick_one_per_ratio
from nodrop.search.single_trial import Choice, measure, stop_when_decided


class MlrSearch01(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        plan.check(single_load=True)
        self._goals = pick_one_per_ratio(plan.goals)
        self._tables: list[LossTable] = []
        self._lost: dict[float, Flag] = {}
        super().__init__(plan)

    def intervals(self) -> tuple[Interval, ...]:
        """Return the bounds of each goal, in the goals' order; see `nodrop.search.evidence`."""
        final_s = self._plan.final_trial_duration_s
        intervals = [find_best_interval(goal, self._tables, final_s) for goal in self._plan.goals]
        return tuple(
            interval.replace(flags=(*interval.flags, flag)) if flag else interval
            for interval in intervals
            for flag in [self._lost.get(interval.goal.loss_ratio)]
        )

    def _search(self) -> Dialogue:
        phases = build_schedule(self._plan, lambda ratio: width.scale(ratio, 2.0))
        yield from self._initial_phase(phases[0].width_goal)
        previous = None
        for planned in phases:
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
        """Measure the highest load, then its forwarding rate, then one load next to that (section 4.2)."""
        low, high = self._plan.min_load_pps, self._plan.max_load_pps
        duration_s = self._plan.initial_trial_duration_s
        first = yield from measure(choose_first(high), duration_s)
        self._tables = [LossTable(duration_s, [first])]

        choice = choose_second(first, low, width_goal)
        if choice.load_pps >= high:
            return
        second = yield from measure(choice, duration_s)
        self._tables = [LossTable(duration_s, [first, second])]

        choice = choose_third(second, self._goals[0], width_goal)
        if not low < choice.load_pps < high:
            return
        third = yield from measure(choice, duration_s)
        # The phases must not see the first trial: they would bisect towards it instead of stepping up from the third.
        self._tables = [LossTable(duration_s, [first]), LossTable(duration_s, [second, third])]

    def _phase(self, phase: Phase) -> Dialogue:
        """Measure for the goals, smallest loss ratio first, until none needs a trial (section 4.3)."""
        self._lost.clear()
        duration_s = phase.current.duration_s
        while (choice := self._next_choice(phase)) is not None:
            stop = stop_when_decided(choice.load_pps, duration_s, self._goals[-1].loss_ratio)
            phase.current.add((yield from measure(choice, duration_s, stop)))

    def _next_choice(self, phase: Phase) -> Choice | None:
        for goal in self._goals:
            choice = phase.choose(goal)
            if choice is not None:
                return choice
            if not phase.current.sides(goal.loss_ratio).lowers:
                # The lowest load fails the smallest ratio: the published algorithm then leaves the phase for all goals.
                self._give_up_goals(phase)
                return None
        return None

    def _give_up_goals(self, phase: Phase) -> None:
        """Note the goals that would have continued where the smallest ratio could not."""
        smallest, *larger = self._goals
        for goal in larger:
            if phase.choose(goal) is not None:
                self._lost[goal.loss_ratio] = Flag.of(
                    "goal-lost",
                    duration_s=phase.current.duration_s,
                    loss_ratio=goal.loss_ratio,
                    lowest_pps=phase.min_load_pps,
                    smallest_goal=smallest.label,
                )
