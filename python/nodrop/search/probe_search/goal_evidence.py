"""The evidence of the trials for one goal, without those that were set aside."""

import math
from collections.abc import Sequence

from nodrop.model.goal import Goal
from nodrop.search.classification import Classification, Evidence, RelevantBounds, classify, find_relevant_bounds
from nodrop.search.goal_interval import pick_representative
from nodrop.search.probe_search.trial_trace import Trace

FULL_LENGTH_SHARE = 0.999
"""Share of its duration from which on a trial is full-length; the rest is rounding of the clock."""
CLEAR_EXCESS = 0.1
"""Excess of a short trial's loss that makes an upper bound, as a share of the loss ratio or of the width."""
SHORT_TRIAL_S = 0.2
"""Shorter trials never count."""


class GoalEvidence:
    """The evidence for one goal, load by load.

    A trial counts as full-length if it lasted its time, or was stopped with more loss than the goal allows for all of
    it. A trial that lasted longer than the goal requires counts once for each part of the goal's duration. A shorter
    trial counts only if it lost steadily and clearly too much.

    The bounds of related goals are ordered (see `relate`): a load that meets a goal also meets each that allows more
    loss, and one that loses too much for a goal also does for each that allows less.
    """

    def __init__(self, goal: Goal, overhead_s: float) -> None:
        assert goal.final_trial_duration_s and goal.duration_sum_s and goal.width_ratio
        self.goal = goal
        self.full_s = goal.final_trial_duration_s
        self.sum_s = goal.duration_sum_s
        self.width_ratio = goal.width_ratio
        self._overhead_s = overhead_s
        self._evidence: dict[float, list[Evidence]] = {}
        self._set_aside: set[int] = set()
        self._first_parts: set[int] = set()
        self._early_upper: dict[float, int] = {}
        self._undecided: dict[float, int] = {}
        self.accepted: dict[float, int] = {}
        """Lower bounds without a full-length trial, and the trial of each."""
        self._stricter: list[GoalEvidence] = []
        self._looser: list[GoalEvidence] = []

    @staticmethod
    def relate(evidences: Sequence["GoalEvidence"]) -> None:
        """Order the bounds of these goals; see `Goal.implies`."""
        for each in evidences:
            each._stricter = [other for other in evidences if other.goal.implies(each.goal)]
            each._looser = [other for other in evidences if each.goal.implies(other.goal)]

    def add(self, trace: Trace, expected_ratio: float) -> None:
        """Add a trial; other work no longer leaves its load undecided.

        Args:
            trace: the trial.
            expected_ratio: its loss ratio if it continued unchanged for the goal's duration.
        """
        self._undecided.pop(trace.load_pps, None)
        for evidence in self._evidence_of(trace, expected_ratio):
            self._evidence.setdefault(trace.load_pps, []).append(evidence)

    def set_aside(self, trial_index: int) -> None:
        """Exclude a trial from now on."""
        self._set_aside.add(trial_index)

    @property
    def in_parts(self) -> bool:
        """Whether parts of longer trials count as trials of their own."""
        counted = [each.trial_index for trials in self._evidence.values() for each in trials]
        return len(counted) > len(set(counted)) or bool(self._first_parts)

    @property
    def set_aside_indices(self) -> frozenset[int]:
        """Trials with evidence that were set aside."""
        counted = {each.trial_index for trials in self._evidence.values() for each in trials}
        return frozenset(self._set_aside & counted)

    def at(self, load_pps: float) -> list[Evidence]:
        """Return the evidence at a load."""
        return [each for each in self._evidence.get(load_pps, []) if each.trial_index not in self._set_aside]

    def counted(self) -> dict[float, list[Evidence]]:
        """Return all evidence by load."""
        return {load: evidence for load in self._evidence if (evidence := self.at(load))}

    def classification(self, load_pps: float) -> Classification:
        """Return the classification of a load."""
        return classify(self.at(load_pps), self.goal)

    def give_up(self, load_pps: float) -> None:
        """Note that other work on the machine left a load undecided in a trial."""
        self._undecided[load_pps] = self._undecided.get(load_pps, 0) + 1

    def is_given_up(self, load_pps: float) -> bool:
        """Return whether other work left the latest trial at a load undecided."""
        return load_pps in self._undecided

    def is_worth_retrying(self, load_pps: float) -> bool:
        """Return whether an undecided load was tried only once: other work may have ended since then."""
        return self._undecided.get(load_pps) == 1

    def undecided_loads(self) -> list[float]:
        """Return the loads between the bounds that other work leaves undecided, in ascending order."""
        lower_pps, upper_pps = self.bounds()
        low_pps, high_pps = lower_pps or 0.0, math.inf if upper_pps is None else upper_pps
        return sorted(load for load in self._undecided if low_pps < load < high_pps)

    def limits(self) -> RelevantBounds[float]:
        """Return the loads between which the search chooses: the bounds, or the lowest undecided load between them."""
        bounds = self.bounds()
        undecided = self.undecided_loads()
        return bounds._replace(upper=undecided[0]) if undecided else bounds

    def bounds(self) -> RelevantBounds[float]:
        """Return the relevant bounds (RFC 9971) of related goals: upper ones decided early and accepted lower ones too.

        An upper bound of a goal that allows more loss is one of this goal, a lower bound of a goal that allows less as
        well. Where trials disagree, upper bounds count, as among the trials of one goal.
        """
        uppers = [pps for each in (self, *self._looser) if (pps := each._find_own_upper()) is not None]
        upper_pps = min(uppers, default=None)
        below_pps = math.inf if upper_pps is None else upper_pps
        lowers = [pps for each in (self, *self._stricter) if (pps := each._find_own_lower(below_pps)) is not None]
        return RelevantBounds(max(lowers, default=None), upper_pps)

    def lower_index(self, lower_pps: float) -> int:
        """Return the trial that makes a load a lower bound of this goal; see `bounds`."""
        for each in (self, *self._stricter):
            if each.classification(lower_pps).is_lower:
                return pick_representative(each.at(lower_pps), each.goal).trial_index
        return next(each.accepted[lower_pps] for each in (self, *self._stricter) if lower_pps in each.accepted)

    def upper_index(self, upper_pps: float) -> int:
        """Return the trial that makes a load an upper bound of this goal; see `bounds`."""
        for each in (self, *self._looser):
            if each.classification(upper_pps).is_upper:
                return pick_representative(each.at(upper_pps), each.goal).trial_index
        early = self.find_early(upper_pps)
        assert early
        return early._early_upper[upper_pps]

    def accept(self, load_pps: float, trial_index: int) -> None:
        """Accept a load as a lower bound despite its short trial; see `accepted`."""
        self.accepted[load_pps] = trial_index

    def is_accepted(self, load_pps: float) -> bool:
        """Return whether a lower bound is one only because it was accepted."""
        return not any(each.classification(load_pps).is_lower for each in (self, *self._stricter))

    def decide_early(self, load_pps: float, trial_index: int) -> None:
        """Accept a load as an upper bound before all trials that the classification requires."""
        self._early_upper[load_pps] = trial_index

    def find_early(self, upper_pps: float) -> "GoalEvidence | None":
        """Return the evidence for which an upper bound was decided early, if nothing else makes it one."""
        related = (self, *self._looser)
        if any(each.classification(upper_pps).is_upper for each in related):
            return None
        return next(each for each in related if upper_pps in each._early_upper)

    def clearly_exceeds(self, loss_ratio: float, times: float = 1.0) -> bool:
        """Return whether a loss ratio exceeds the one allowed by enough for a short trial to decide."""
        excess = times * CLEAR_EXCESS * min(self.goal.loss_ratio, self.width_ratio)
        return loss_ratio > self.goal.loss_ratio + excess

    def high_loss_indices(self, up_to_pps: float) -> list[int]:
        """Return the high-loss trials at loads up to this one."""
        allowed = self.goal.loss_ratio
        return [
            each.trial_index
            for load, trials in self.counted().items()
            for each in trials
            if load <= up_to_pps and each.loss_ratio > allowed
        ]

    def decision_s(self) -> float:
        """Return the duration of a trial that decides a load alone, with any outcome; overhead counts as time."""
        share = max(1.0 - self.goal.exceed_ratio, self.goal.exceed_ratio)
        needed_s = self.sum_s * share - (self._overhead_s if self.sum_s > self.full_s else 0.0)
        return max(self.full_s, needed_s * 1.002 if self.goal.exceed_ratio else needed_s)

    def missing_s(self, load_pps: float) -> float:
        """Return the least additional trial time that decides a load."""
        result = self.classification(load_pps)
        tolerated_s = self.sum_s * self.goal.exceed_ratio
        low_s = self.sum_s - tolerated_s - result.full_low_s
        high_s = tolerated_s * 1.002 - result.full_high_s
        return max(self.full_s, min(low_s, high_s) - self._overhead_s)

    def is_full_length(self, trace: Trace) -> bool:
        """Return whether a trial lasted as long as the goal's final trials."""
        return trace.elapsed_s >= self.full_s * FULL_LENGTH_SHARE

    def part_count(self, trace: Trace) -> int:
        """Return the number of trials of the goal's duration that a trial counts for; at least 1."""
        return max(1, int(trace.elapsed_s / self.full_s / FULL_LENGTH_SHARE))

    def _find_own_upper(self) -> float | None:
        early = (load for load, index in self._early_upper.items() if index not in self._set_aside)
        classified = find_relevant_bounds(self.counted(), self.goal).upper
        return min((*early, *(() if classified is None else (classified,))), default=None)

    def _find_own_lower(self, below_pps: float) -> float | None:
        below = {load: trials for load, trials in self.counted().items() if load < below_pps}
        classified = find_relevant_bounds(below, self.goal).lower
        accepted = (load for load in self.accepted if load < below_pps)
        return max((*accepted, *(() if classified is None else (classified,))), default=None)

    def _evidence_of(self, trace: Trace, expected_ratio: float) -> list[Evidence]:
        if self.is_full_length(trace):
            count = self.part_count(trace)
            effective_s = (trace.elapsed_s + self._overhead_s) / count
            duration_s = max(self.full_s, trace.elapsed_s / count)
            if self.sum_s <= self.full_s and count > 1:  # one trial decides, and it begins with an empty buffer
                self._first_parts.add(trace.index)
                return [Evidence(duration_s, effective_s, trace.ratios(count)[0], trace.index)]
            return [Evidence(duration_s, effective_s, ratio, trace.index) for ratio in trace.ratios(count)]
        certain_ratio = trace.lost_count / (trace.load_pps * self.full_s)
        if certain_ratio > self.goal.loss_ratio:
            return [Evidence(self.full_s, trace.elapsed_s + self._overhead_s, certain_ratio, trace.index)]
        clear = trace.overloaded and trace.elapsed_s >= SHORT_TRIAL_S and trace.steady
        if clear and self.clearly_exceeds(expected_ratio) and trace.loss_ratio > self.goal.loss_ratio:
            return [Evidence(trace.elapsed_s, trace.elapsed_s + self._overhead_s, expected_ratio, trace.index)]
        return []
