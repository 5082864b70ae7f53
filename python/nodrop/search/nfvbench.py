"""The range search of NFVbench: halve ranges of the line rate, all targets in one pass, lower half first.

The range is 0 to 200 % of the line rate, which is the highest load allowed, so the first trial is at 100 %. Each trial
splits the goals of its range: those it does not meet are searched in the lower half, then those it meets in the upper
half. A range narrower than `plan.load_epsilon_ratio` of the line rate is not searched further, and no load above 100 %
is searched. Every trial has the final duration, and none is repeated.

The loads are NFVbench's, the conclusions are not. Frames that the tester failed to send count as lost. A goal that no
load meets has an invalid lower bound instead of the rates of a load of zero. The lowest load allowed replaces lower
ones.

The resulting width is a share of the line rate, not of the load; the flag `wide-interval` marks a result that is wider
than the goal width.

Rules that choose a load: `line-rate`, `halve`, and `lowest` for the lowest load instead of lower ones.

Source: NFVbench documentation, "NDR and PDR" (range search, load_epsilon).
"""

from collections.abc import Sequence

from nodrop.model.message import Message
from nodrop.search.base import Dialogue
from nodrop.search.single_trial import Choice, measure, stop_when_decided
from nodrop.search.tightest_bounds import TightestBounds, TightestBoundsSearch


class NfvbenchSearch(TightestBoundsSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def _search(self) -> Dialogue:
        yield from self._search_range(0.0, 2.0, self._bounds)

    def _search_range(self, low: float, high: float, goals: Sequence[TightestBounds]) -> Dialogue:
        """Search between two shares of the line rate for the goals in this range."""
        lowest = self._plan.min_load_pps / self._plan.max_load_pps
        middle = max((low + high) / 2, lowest)
        if not goals or high - low < self._plan.load_epsilon_ratio or not low < middle < high:
            return
        choice = self._choice(low, middle, high, goals)
        duration_s = self._plan.final_trial_duration_s
        stop = stop_when_decided(choice.load_pps, duration_s, max(bounds.goal.loss_ratio for bounds in goals))
        measured = yield from measure(choice, duration_s, stop)
        for bounds in goals:
            bounds.update(measured)
        yield from self._search_range(low, middle, [bounds for bounds in goals if not bounds.meets(measured)])
        if middle < 1.0:
            yield from self._search_range(middle, high, [bounds for bounds in goals if bounds.meets(measured)])

    def _choice(self, low: float, middle: float, high: float, goals: Sequence[TightestBounds]) -> Choice:
        line_rate_pps = self._plan.max_load_pps
        label = goals[0].goal.label if len(goals) == 1 else ""
        if middle == 1.0:
            return Choice(line_rate_pps, Message.of("line-rate-first"), "line-rate", label)
        labels = " and ".join(bounds.goal.label for bounds in goals)
        if middle > (low + high) / 2:
            return Choice(self._plan.min_load_pps, Message.of("lowest-for-middle", goals=labels), "lowest", label)
        reason = Message.of(
            "halve-range",
            goals=labels,
            low_pps=low * line_rate_pps,
            high_pps=high * line_rate_pps,
            width_ratio=high - low,
            epsilon_ratio=self._plan.load_epsilon_ratio,
        )
        return Choice(middle * line_rate_pps, reason, "halve", label)
