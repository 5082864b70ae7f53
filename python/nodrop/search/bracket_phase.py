"""The needs of one bracket in a phase, until both its bounds are valid, close enough and measured long enough."""

from collections.abc import Callable
from dataclasses import dataclass

from nodrop.model.message import Message
from nodrop.model.search_plan import SearchPlan
from nodrop.search import width
from nodrop.search.bracket import Bracket
from nodrop.search.loss_table import Measured
from nodrop.search.schedule import PhasePlan
from nodrop.search.single_trial import Choice


@dataclass(frozen=True, slots=True)
class BracketPhase:
    """A bracket in a phase; each method returns the load for one kind of need, or None without that need.

    Source: draft-vpolak-mkonstan-bmwg-mlrsearch-03 section "Non-Initial Phases" item 2, with "Additional details"
    items 2 to 4 and 7.
    """

    bracket: Bracket
    planned: PhasePlan
    plan: SearchPlan

    def down(self) -> Choice | None:
        """Step below an invalid lower bound; at the lowest load, only measure for longer."""
        low, lowest_pps = self.bracket.low, self.plan.min_load_pps
        if self.bracket.low_valid:
            return None
        if low.load_pps <= lowest_pps:
            return self._longer(low, "lowest load")
        load_pps = max(lowest_pps, width.step_below(low.load_pps, self._step()))
        return self._choose(
            load_pps,
            Message.of("external-down", goal=self._label, from_pps=low.load_pps, load_pps=load_pps),
            "external-down",
        )

    def up(self) -> Choice | None:
        """Step above an invalid upper bound; at the highest load, only measure for longer.

        Not if the lowest load already fails: the bracket would ignore the trial and request it forever.
        """
        high, highest_pps = self.bracket.high, self.plan.max_load_pps
        if self.bracket.high_valid:
            return None
        if high.load_pps >= highest_pps:
            return self._longer(high, "highest load")
        if self._is_lost:
            return None
        load_pps = min(highest_pps, width.step_above(high.load_pps, self._step()))
        return self._choose(
            load_pps,
            Message.of("external-up", goal=self._label, from_pps=high.load_pps, load_pps=load_pps),
            "external-up",
        )

    def narrower(self) -> Choice | None:
        """Halve a bracket that is too wide. At the highest load this also serves an invalid upper bound."""
        low, high, wide = self.bracket.low, self.bracket.high, self.bracket.width_ratio
        if self._is_lost or wide <= self.planned.width_goal:
            return None
        return self._choose(
            width.step_above(low.load_pps, width.halve(wide)),
            Message.of(
                "halve-phase",
                goal=self._label,
                low_pps=low.load_pps,
                high_pps=high.load_pps,
                width_ratio=wide,
                goal_width_ratio=self.planned.width_goal,
            ),
            "bisect",
        )

    def longer_below(self) -> Choice | None:
        """Measure the lower bound for longer than before."""
        return self._longer(self.bracket.low, "lower bound")

    def longer_above(self) -> Choice | None:
        """Measure the upper bound for longer than before, if a longer trial can still matter."""
        return None if self._is_lost else self._longer(self.bracket.high, "upper bound")

    def _longer(self, bound: Measured, bound_name: str) -> Choice | None:
        if bound.duration_s >= self.planned.duration_s:
            return None
        return self._choose(
            bound.load_pps,
            Message.of(
                "remeasure",
                goal=self._label,
                bound=bound_name,
                load_pps=bound.load_pps,
                old_s=bound.duration_s,
                new_s=self.planned.duration_s,
            ),
            "remeasure",
        )

    def _step(self) -> float:
        """Return the bracket's width, at least the phase's, doubled `plan.doublings` times."""
        return width.double(max(self.planned.width_goal, self.bracket.width_ratio), self.plan.doublings)

    @property
    def _is_lost(self) -> bool:
        """Whether even the lowest load loses too much, so that no narrower bracket exists."""
        return not self.bracket.low_valid and self.bracket.low.load_pps <= self.plan.min_load_pps

    @property
    def _label(self) -> str:
        return self.bracket.goal.label

    def _choose(self, load_pps: float, reason: Message, rule: str) -> Choice:
        return Choice(load_pps, reason, rule, self._label)


NEEDS: tuple[Callable[[BracketPhase], Choice | None], ...] = (
    BracketPhase.down,
    BracketPhase.up,
    BracketPhase.narrower,
    BracketPhase.longer_below,
    BracketPhase.longer_above,
)
"""All needs, the most urgent first; each is checked for all brackets before the next."""
