"""The longest burst at the highest load that passes without loss, from idle.

Each repeat is an independent binary search of the burst length with loss verification: first the longest burst allowed,
then the middle between the longest that passed and the shortest that did not. A burst that loses frames is repeated, up
to `plan.verify_trial_count` trials in total; the first one that passes decides, and so does a loss of
`plan.verify_lost_count` frames or more. A repeat ends when the lengths are a step apart and the longest that passed has
passed once more; if it does not, it is the new upper bound. Its result is a length that was sent and passed.

If the longest burst allowed passes, there is no result but a limit, and no further repeat.

Goals have no bounds: every trial has the same load. `list_bursts` returns the lengths, the finding `burst-length` sums
them up.

Rules that choose a burst: `longest`, `halve`, `verify`, `confirm`.

Source: RFC 2544 section 26.4 and RFC 9004 sections 5.4 and 5.5; ETSI GS NFV-TST 009 clause 12.3.3 for the verification.
"""

import math
from collections.abc import Generator
from statistics import fmean, stdev
from typing import NamedTuple

from nodrop.model.goal import Flag
from nodrop.model.message import Message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search.base import Dialogue, DialogueSearch, Interval, Outcome

STEP_RATIO = 0.001
"""Smallest difference between two lengths, as a share of the length that passed; at least one frame."""


class Burst(NamedTuple):
    """The result of one repeat."""

    frame_count: int
    """Frames in each direction; 0 if not even one passes."""
    is_limit: bool
    """Whether this is the longest burst allowed, so that longer ones may pass."""


class BackToBackSearch(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        plan.check(single_load=True)
        self._bursts: list[Burst] = []
        self._before_s = 0.0
        super().__init__(plan)

    def list_bursts(self) -> tuple[Burst, ...]:
        """Return the result of each repeat so far."""
        return tuple(self._bursts)

    def intervals(self) -> tuple[Interval, ...]:
        """Return nothing: bursts do not bound loads."""
        return ()

    def findings(self) -> tuple[Flag, ...]:
        """Return the mean, the extremes and the sample standard deviation of the lengths, or the limit."""
        bursts, rate_pps = self._bursts, self._plan.direction_load_pps
        if not bursts:
            return ()
        if bursts[-1].is_limit:
            count = bursts[-1].frame_count
            return (Flag.of("burst-limit", frame_count=count, seconds=count / rate_pps, rate_pps=rate_pps),)
        counts = [burst.frame_count for burst in bursts]
        flag = Flag.of(
            "burst-length",
            frame_count=fmean(counts),
            rate_pps=rate_pps,
            lowest_count=min(counts) if len(counts) > 1 else None,
            highest_count=max(counts) if len(counts) > 1 else None,
            deviation_count=stdev(counts) if len(counts) > 1 else None,
            repeat_count=len(counts),
        )
        return (flag,)

    def _search(self) -> Dialogue:
        for repeat in range(1, self._plan.burst_repeat_count + 1):
            burst = yield from self._find_longest(repeat)
            self._bursts.append(burst)
            if burst.is_limit:
                return

    def _find_longest(self, repeat: int) -> Generator[Trial, Outcome, Burst]:
        """Return the longest burst of a repeat."""
        low, high = 0, math.ceil(self._plan.direction_load_pps * self._plan.burst_max_s)
        if (yield from self._passes(high, repeat, "longest")):
            return Burst(high, is_limit=True)
        while True:
            while high - low > (step := max(1, int(low * STEP_RATIO))):
                middle = low + max(step, (high - low) // 2 // step * step)
                if (yield from self._passes(middle, repeat, "halve", low, high)):
                    low = middle
                else:
                    high = middle
            if low == 0 or (yield from self._passes(low, repeat, "confirm")):
                return Burst(low, is_limit=False)
            low, high = 0, low

    def _passes(
        self, length: int, repeat: int, rule: str, low: int | None = None, high: int | None = None
    ) -> Generator[Trial, Outcome, bool]:
        """Return whether a burst of a length passes; low and high are the lengths around it."""
        plan, lost_count = self._plan, 0
        for number in range(1, plan.verify_trial_count + 1):
            params = {"repeat": repeat, "frame_count": length}
            if number > 1:
                reason = Message.of("burst-verify", **params, lost_count=lost_count, number=number)
                trial = self._make_trial(length, reason, "verify")
            else:
                reason = Message.of(f"burst-{rule}", **params, low_count=low, high_count=high)
                trial = self._make_trial(length, reason, rule)
            outcome = yield trial
            lost_count = outcome.lost_count + outcome.unsent_count
            if not lost_count:
                return True
            if plan.verify_lost_count is not None and lost_count >= plan.verify_lost_count:
                return False
        return False

    def _make_trial(self, length: int, reason: Message, rule: str) -> Trial:
        """Return the trial of a burst, after a rest at least as long as the burst before it."""
        plan = self._plan
        duration_s = length / plan.direction_load_pps
        rest_s, self._before_s = max(plan.burst_rest_s, self._before_s), duration_s
        return Trial(
            intended_load_pps=plan.max_load_pps,
            duration_s=duration_s,
            burst=True,
            rest_s=rest_s,
            reason=reason,
            rule=rule,
        )
