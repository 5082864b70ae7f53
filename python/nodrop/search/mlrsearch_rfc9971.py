"""MLRsearch with search goals: several trials may decide a load, and any trial counts for every goal.

A trial at the highest load shows what comes back; two more look there and beside it. From then on every goal
nominates the load it wants measured next, the lowest nomination wins, and the search ends when no goal wants anything.
Each goal approaches its own precision through coarser targets (`nodrop.search.target`); which load it nominates
is in `nodrop.search.strategies`, with the names of the rules. The initial trials go by `highest-load`,
`forwarding-rate` and `beside-forwarding-rate`.

The trials are those of MLRsearch 1.2.1 without a warm-up: the same loads and durations in the same order. Two things
differ around them. Nothing is raised: a goal that fails at the lowest load is flagged, and ends the search only where
`fail_fast` asks for it. And there is no clock: the caller decides when the time is up, and stops asking.
No trial carries a stop rule, as what came back of a trial decides the next load.

Source: RFC 9971 for what counts as a bound; the loads are MLRsearch 1.2.1's choice, which the RFC leaves open.
"""

from collections.abc import Generator
from typing import NamedTuple

from nodrop.model.goal import Flag
from nodrop.model.message import Message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search.base import Dialogue, DialogueSearch, Interval, Outcome
from nodrop.search.classification import Evidence, RelevantBounds
from nodrop.search.goal_interval import compute_goal_interval
from nodrop.search.load_grid import LoadGrid
from nodrop.search.next_load import find_spaced
from nodrop.search.selector import Selector
from nodrop.search.strategies import Nomination
from nodrop.search.target import Target, build_chain, check_targets

TrialDialogue = Generator[Trial, Outcome, float]
"""A dialogue about one trial that ends with its loss ratio."""


class Start(NamedTuple):
    """The two loads, as steps of the grid and maybe the same, that the search starts from."""

    lower: int
    upper: int


class MlrSearchRfc9971(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        self._goals = tuple(plan.complete(goal) for goal in plan.goals)
        check_targets(plan, self._goals)
        widths = (goal.width_ratio or plan.width_ratio for goal in self._goals)
        self._grid = LoadGrid(plan.min_load_pps, plan.max_load_pps, widths)
        self._chains = [build_chain(goal, plan.preceding_targets, self._grid) for goal in self._goals]
        self._trials_at: dict[int, list[Evidence]] = {}
        super().__init__(plan)

    def intervals(self) -> tuple[Interval, ...]:
        """Return the bounds of each goal, in the goals' order; see `nodrop.search.goal_interval`."""
        trials_at = {self._grid.load_pps(step): trials for step, trials in self._trials_at.items()}
        low, high = self._plan.min_load_pps, self._plan.max_load_pps
        return tuple(compute_goal_interval(goal, trials_at, low, high) for goal in self._goals)

    def findings(self) -> tuple[Flag, ...]:
        """Return whether goals affect each other: a long trial for one is full-length for a shorter one as well."""
        finals_s = sorted({goal.final_trial_duration_s or 0.0 for goal in self._goals})
        if len(finals_s) == 1:
            return ()
        return (Flag.of("mixed-trial-durations", longest_s=finals_s[-1], shortest_s=finals_s[0]),)

    def _search(self) -> Dialogue:
        start = yield from self._initial_trials()
        expansion = int(self._plan.expansion_coefficient)
        selectors = [Selector(targets, RelevantBounds(*start), self._grid, expansion) for targets in self._chains]
        shared_width = start.upper - start.lower
        while True:
            nominated = [(selector.nominate(self._trials_at, shared_width), selector) for selector in selectors]
            nominations = [(nomination, selector) for nomination, selector in nominated if nomination]
            if not nominations or (self._plan.fail_fast and any(selector.lost for selector in selectors)):
                return
            nomination, selector = min(nominations, key=_make_sort_key)
            yield from self._measure(nomination.step, self._make_trial(nomination, selector.target))
            shared_width = selector.conclude(nomination, self._trials_at)

    def _initial_trials(self) -> Generator[Trial, Outcome, Start]:
        """Measure the highest load, its forwarding rate, and a load next to that; return the last two."""
        first_targets = [targets[0] for targets in self._chains]
        ratio = min(each.goal.loss_ratio for each in first_targets)
        width = max(each.width for each in first_targets)
        top = self._grid.top

        reason = Message.of("forwarding-rate-of-highest")
        lost_ratio = yield from self._measure_initial(top, "highest-load", reason)
        first = find_spaced(self._hint(top, lost_ratio, ratio), width, top, upper=top)
        if first is None:
            return Start(top, top)
        reason = self._forwarded("near-forwarding-rate", top, lost_ratio)
        lost_ratio = yield from self._measure_initial(first, "forwarding-rate", reason)
        if lost_ratio > ratio:
            second = find_spaced(self._hint(first, lost_ratio, ratio), width, top, upper=first)
            reason = self._forwarded("near-forwarding-rate-lower", first, lost_ratio)
        else:
            second = find_spaced(self._grid.clamp(first + width), width, top, lower=first, upper=top)
            reason = self._forwarded("near-forwarding-rate-higher", first, lost_ratio)
        if second is None:
            return Start(first, first)
        yield from self._measure_initial(second, "beside-forwarding-rate", reason)
        return Start(min(first, second), max(first, second))

    def _measure_initial(self, step: int, rule: str, reason: Message) -> TrialDialogue:
        """Measure an initial trial for all goals, as long as the longest of their first trials."""
        duration_s = max(targets[0].trial_s for targets in self._chains)
        load_pps = self._grid.load_pps(step)
        return self._measure(step, Trial(intended_load_pps=load_pps, duration_s=duration_s, rule=rule, reason=reason))

    def _measure(self, step: int, trial: Trial) -> TrialDialogue:
        outcome = yield trial
        effective_s = trial.duration_s + self._plan.overhead_s
        evidence = Evidence(trial.duration_s, effective_s, outcome.loss_ratio, outcome.index)
        self._trials_at.setdefault(step, []).append(evidence)
        return outcome.loss_ratio

    def _make_trial(self, nomination: Nomination, target: Target) -> Trial:
        return Trial(
            intended_load_pps=self._grid.load_pps(nomination.step),
            duration_s=target.trial_s,
            reason=Message.of(nomination.reason.code, goal=target.goal.label, **nomination.reason.params),
            goal=target.goal.label,
            rule=nomination.rule,
        )

    def _hint(self, step: int, lost_ratio: float, ratio: float) -> int:
        """Return the load whose loss would equal the ratio if higher loads only added loss."""
        return self._grid.floor(self._grid.load_pps(step) * (1.0 - lost_ratio) * (1.0 / (1.0 - ratio)))

    def _forwarded(self, code: str, step: int, lost_ratio: float) -> Message:
        load_pps = self._grid.load_pps(step)
        return Message.of(code, forwarded_pps=load_pps * (1.0 - lost_ratio), load_pps=load_pps)


def _make_sort_key(nominated: tuple[Nomination, Selector]) -> tuple[int, float, int]:
    """Return a sort key: the lowest load first, as the safe side; then the longest trial, then the widest step."""
    nomination, selector = nominated
    return nomination.step, -selector.target.trial_s, -nomination.width
