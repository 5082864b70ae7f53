"""The evidence of the trials for one goal, without those that were set aside."""

import math

from nodrop.model.goal import Goal
from nodrop.search.classification import Classification, Evidence, RelevantBounds, classify, find_relevant_bounds
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
        self.accepted: dict[float, int] = {}
        """Lower bounds without a full-length trial, and the trial of each."""

    def add(self, trace: Trace, expected_ratio: float) -> None:
        """Add a trial.

        Args:
            trace: the trial.
            expected_ratio: its loss ratio if it continued unchanged for the goal's duration.
        """
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

    def bounds(self) -> RelevantBounds[float]:
        """Return the relevant bounds (RFC 9971), including upper ones decided early."""
        early_pps = min((load for load, i in self._early_upper.items() if i not in self._set_aside), default=math.inf)
        below = {load: trials for load, trials in self.counted().items() if load < early_pps}
        lower_pps, upper_pps = find_relevant_bounds(below, self.goal)
        if upper_pps is None and not math.isinf(early_pps):
            upper_pps = early_pps
        fitting = [load for load in self.accepted if upper_pps is None or load < upper_pps]
        return RelevantBounds(max([*fitting, lower_pps or 0.0]) or None, upper_pps)

    def accept(self, load_pps: float, trial_index: int) -> None:
        """Accept a load as a lower bound despite its short trial; see `accepted`."""
        self.accepted[load_pps] = trial_index

    def is_accepted(self, load_pps: float) -> bool:
        """Return whether a load is a lower bound only because it was accepted."""
        return load_pps in self.accepted and not self.classification(load_pps).is_lower

    def decide_early(self, load_pps: float, trial_index: int) -> None:
        """Accept a load as an upper bound before all trials that the classification requires."""
        self._early_upper[load_pps] = trial_index

    def is_early(self, load_pps: float) -> bool:
        """Return whether a load is an upper bound only because it was decided early."""
        return load_pps in self._early_upper and not self.classification(load_pps).is_upper

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
        if clear and self.clearly_exceeds(expected_ratio):
            return [Evidence(trace.elapsed_s, trace.elapsed_s + self._overhead_s, expected_ratio, trace.index)]
        return []
