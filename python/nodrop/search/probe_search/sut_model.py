"""A model of the SUT from the trials so far, which estimates the threshold of a goal.

The model is a fluid queue: a capacity, which may differ from trial to trial and within one, and a buffer in front of
it. Trials with steady loss show both. For losses without overload see `nodrop.search.probe_search.event_loss`.
"""

import itertools
import math
from collections.abc import Sequence
from enum import StrEnum
from statistics import fmean, median, stdev
from typing import NamedTuple

from nodrop.model.message import Message
from nodrop.search.probe_search.goal_evidence import GoalEvidence
from nodrop.search.probe_search.trial_trace import Trace

NEAR = 0.03
"""Relative distance from the threshold up to which an overloaded trial is near it."""
FAR_SD = 0.02
"""Relative standard deviation of an estimate from trials far above the threshold."""
NEAR_SD = 0.001
"""The same from a single trial near it."""
MIN_BUFFER_SHARE = 1e-3
"""Share of a trial's frames from which on a buffer matters."""


COLLAPSED_SHARE = 0.1
"""Share of the load that is forwarded below which a SUT is swamped rather than at its limit."""
HARD_LIMIT_TOLERANCE = 0.5
"""Relative deviation from the loss of a hard limit that refutes such a limit."""
MIN_LOST_FRAMES = 10
"""Fewest lost frames of a meaningful loss ratio."""


MIN_CAPACITY_SHARE = 0.5
"""Least threshold, as a share of the forwarding rate of the latest trial that shows it. A trial in which nothing came
through for a while would have lost too much at any load, but most often a later trial does not meet such a pause."""
PAUSED_SD = 0.5
"""Relative standard deviation of an estimate from a trial with such a pause."""
MIN_THRESHOLD_PPS = 1.0
"""Least threshold of a SUT that forwarded nothing."""
SAME_CAPACITY_RATIO = 0.002
"""Relative difference up to which two capacities count as the same."""
MODES_APART = 0.015
"""Least relative distance of two modes."""


SAME_CAPACITY_RATIO_ELSEWHERE = 0.01
"""The same for capacities at different loads, which differ where the loss curve is smooth."""
SAME_LOAD = 0.002
COMPARABLE_LOAD = 0.15
"""Distance, on the logarithmic axis, of loads that count as the same, and as comparable."""
TREND = 3e-4
"""Least relative change of a trend of capacities."""
CLEAR_MAJORITY = 3
"""Trials by which the usual mode must outnumber the other."""


CHANGING_S = 1.0
"""Shortest trial with a changing capacity that represents long trials."""
FULLY_WATCHED_SHARE = 0.9
"""Share of its time that such a trial must have run."""
TrialThreshold = tuple[float, Trace]
"""A threshold and its trial."""


class Estimate(NamedTuple):
    """An estimate of a goal's threshold."""

    load_pps: float
    sd_ratio: float
    near: bool
    """Whether it is based on trials near the threshold, not only far above it."""
    trial_count: int = 1
    """Trials that it is based on."""
    basis: Message = Message(code="prove-capacity")
    """Reason for a proof just below it, without the goal and the estimate."""


class SutBehavior(StrEnum):
    """Variation of the capacity between probes."""

    STABLE = "stable"
    SCATTERED = "scattered"
    MODES = "modes"
    RISING = "rising"
    FALLING = "falling"


class SutModel:
    """The trials so far, split into those of the SUT's current state and older ones."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []
        self.era_start = 0
        """Position of the first trace that shows the SUT as it is now."""
        self.behavior = SutBehavior.STABLE
        self.surveyed = False
        """Whether consecutive probes determined the behavior."""

    def learn(self, trace: Trace) -> None:
        """Add a trial."""
        self.traces.append(trace)

    def update_behavior(self, probes: Sequence[Trace]) -> None:
        """Determine the behavior from consecutive probes, and discard trials that no longer apply."""
        fresh = [probe.capacity_pps for probe in probes]
        earlier, same_load = self._comparable_capacities(probes)
        both = [*earlier, *fresh]
        if len(fresh) < 2:
            return
        self.surveyed = True
        if self.behavior is SutBehavior.RISING and _compute_range(fresh) <= SAME_CAPACITY_RATIO:
            # Two probes show whether the rise continues.
            self.behavior = SutBehavior.RISING if fresh[-1] > fresh[0] * (1.0 + TREND) else SutBehavior.STABLE
            self.era_start = self.traces.index(probes[-1])
            return
        shifted = SAME_CAPACITY_RATIO if same_load else SAME_CAPACITY_RATIO_ELSEWHERE
        if _alternate(earlier, fresh) and _compute_range(fresh) > SAME_CAPACITY_RATIO:
            self.behavior = SutBehavior.MODES
        elif (direction := find_trend(both)) and find_trend(fresh) == direction:
            self.behavior = direction
            self.era_start = self.traces.index(probes[-1])
        elif _compute_range(fresh) > SAME_CAPACITY_RATIO:
            self.behavior = SutBehavior.SCATTERED
        else:
            self.behavior = SutBehavior.STABLE
            if _compute_range(both) > shifted:
                self.era_start = self.traces.index(probes[0])

    def _comparable_capacities(self, probes: Sequence[Trace]) -> tuple[list[float], bool]:
        """Return capacities of earlier trials: at the load of the probes, else at a similar load."""
        overloaded = [t for t in self.current if t.overloaded and t.steady and t not in probes]
        distances = (
            [(abs(math.log(t.load_pps / probes[-1].load_pps)), t.capacity_pps) for t in overloaded] if probes else []
        )
        same = [capacity for distance, capacity in distances if distance <= SAME_LOAD]
        return (same, True) if same else ([c for distance, c in distances if distance <= COMPARABLE_LOAD], False)

    def usual_probe_pps(self, needed_pps: float) -> float:
        """Return the load of an earlier probe slightly above this one, for comparison; else this load."""
        loads_pps = [t.load_pps for t in self.current if t.overloaded and t.intended_s > 2.0 * t.elapsed_s]
        return min((load for load in loads_pps if 1.0 <= load / needed_pps <= 1.03), default=needed_pps)

    def follow_fall(self, before: Trace, after: Trace) -> None:
        """Note downward drift if a trial begins where the previous one ended, below its beginning."""
        if self.behavior is not SutBehavior.STABLE or not after.overloaded or (after.first_lossy or 0) > 1:
            return
        part = max(1, len(before.tail_pps) // 10)
        begin, end = fmean(before.tail_pps[:part]), fmean(before.tail_pps[-part:])
        again = fmean(after.tail_pps[: max(1, len(after.tail_pps) // 10)])
        gradual = (
            begin > 0.0 and TREND < 1.0 - end / begin < SAME_CAPACITY_RATIO_ELSEWHERE
        )  # more than that is a jump to another mode
        if gradual and again < (begin + end) / 2.0:
            self.behavior = SutBehavior.FALLING
            self.era_start = self.traces.index(before)

    def undecided_modes(self) -> bool:
        """Return whether two modes exist, neither of which is clearly more frequent."""
        split = self.modes() if self.behavior is SutBehavior.MODES else None
        return split is not None and abs(len(split[0]) - len(split[1])) < CLEAR_MAJORITY

    def modes(self) -> tuple[list[float], list[float]] | None:
        """Return the capacities of slow and fast trials; None without two modes.

        A trial without loss at a load at which a slow one would have lost was fast.
        """
        capacities_pps = [t.capacity_pps for t in self.current if t.overloaded and t.load_pps < 1.2 * t.capacity_pps]
        split = _split(capacities_pps)
        if not split:
            return None
        slow, fast = split
        carried = [t for t in self.current if not t.overloaded and t.load_pps > max(slow) * (1.0 + SAME_CAPACITY_RATIO)]
        return slow, fast + [median(fast)] * len(carried)

    def may_pass_by_mode(self, load_pps: float) -> bool:
        """Return whether a trial may pass only because it happened to run in the faster of two modes.

        The SUT changes between them in the course of trials, so that few long ones have the faster mode to their end.
        """
        split = self.modes() if self.behavior is SutBehavior.MODES else None
        if not split or load_pps <= max(split[0]) * (1.0 + SAME_CAPACITY_RATIO):
            return False
        return any(trace.begins_late(CHANGING_S) for trace in self.current)

    def is_slow_exception(self, trace: Trace) -> bool:
        """Return whether this trial ran in the slower of two modes, which is the rarer one."""
        split = self.modes()
        if not split or not trace.overloaded or not trace.steady or (trace.first_lossy or 0) > 1:
            return False
        slow, fast = split
        return len(slow) < len(fast) and trace.capacity_pps <= max(slow) * (1.0 + SAME_CAPACITY_RATIO)

    @property
    def current(self) -> list[Trace]:
        """Trials of the SUT's current state."""
        return self.traces[self.era_start :]

    @property
    def buffer_count(self) -> float:
        """Frames that the SUT buffers before it begins to lose; 0 without evidence.

        The smallest of any trial, as a capacity that falls within a trial resembles a buffer.
        """
        counts = [t.buffer_count for t in self.traces if t.overloaded and t.steady and len(t.tail) > 1]
        return min(counts, default=0.0)

    def buffer_matters(self, load_pps: float, duration_s: float) -> bool:
        """Return whether the buffer absorbs a significant part of a trial's excess."""
        return self.buffer_count > MIN_BUFFER_SHARE * load_pps * duration_s

    def threshold(self, evidence: GoalEvidence) -> Estimate | None:
        """Estimate a goal's threshold from overloaded trials; None without any."""
        informative = [trace for trace in self.current if _is_informative(trace) and not is_collapsed(trace)]
        if not informative:
            return None
        estimate = self._threshold(informative, evidence)
        least_pps = MIN_CAPACITY_SHARE * max(median(informative[-1].tail_pps), informative[-1].capacity_pps)
        if estimate.load_pps >= least_pps:
            return estimate
        return estimate._replace(load_pps=least_pps, sd_ratio=PAUSED_SD, near=False)

    def _threshold(self, informative: list[Trace], evidence: GoalEvidence) -> Estimate:
        ratio, full_s = evidence.goal.loss_ratio, evidence.full_s
        if (between := self._interpolated(ratio)) is not None:
            return between
        thresholds: list[TrialThreshold] = []
        for trace in informative:
            count = evidence.part_count(trace)
            if count == 1:
                thresholds.append((self._threshold_pps(trace, ratio), trace))
            else:
                thresholds += [(part.tolerable_pps(ratio), trace) for part in trace.parts(count)]
        changing = [each for each in thresholds if not each[1].steady and each[1].elapsed_s >= CHANGING_S]
        if changing and self.behavior in (SutBehavior.STABLE, SutBehavior.MODES):
            watched = [each for each in changing if each[1].elapsed_s >= FULLY_WATCHED_SHARE * each[1].intended_s]
            return self._pooled(watched or changing)
        split = self.modes() if self.behavior is SutBehavior.MODES else None
        if split:
            major = max(split, key=len)
            low_pps, high_pps = min(major) * (1.0 - SAME_CAPACITY_RATIO), max(major) * (1.0 + SAME_CAPACITY_RATIO)
            thresholds = [each for each in thresholds if low_pps <= each[1].capacity_pps <= high_pps] or thresholds
            return self._pooled(thresholds)
        near = [each for each in thresholds if abs(math.log(each[1].load_pps / max(1.0, each[0]))) <= NEAR]
        if not near:
            load_pps, trace = min(thresholds, key=lambda each: each[1].load_pps)
            return Estimate(load_pps, FAR_SD, near=False)
        return self._from_near(near, [each for each in near if each[1].elapsed_s >= 0.5 * full_s])

    def _from_near(self, near: list[TrialThreshold], long: list[TrialThreshold]) -> Estimate:
        """Return the estimate of trials near their threshold, with precedence for long ones."""
        if self.behavior is SutBehavior.FALLING:
            return Estimate(near[-1][0], NEAR_SD, near=True)
        if self.behavior is SutBehavior.SCATTERED:
            # A trial below its capacity shows nothing, so only loads at which every trial fails are unbiased.
            highest_pps = max(trace.capacity_pps for _, trace in near)
            fair = [each for each in near if each[1].load_pps >= highest_pps]
            return self._pooled(fair if len(fair) >= 3 else near)
        return self._agreed(long, near) if long else self._pooled(near)

    def is_smooth(self, loss_ratio: float) -> bool:
        """Return whether trials around a loss ratio refute a hard limit."""
        return self._interpolated(loss_ratio) is not None

    def _interpolated(self, loss_ratio: float) -> Estimate | None:
        """Return the load at which a smooth loss curve has the ratio; None unless trials refute a hard limit.

        The log loss is linear in the log load between the highest load that lost less and the lowest that lost more.
        """
        if loss_ratio == 0.0 or self.behavior is not SutBehavior.STABLE or not self.surveyed:
            return None
        points = [trace for trace in self.current if trace.lost_count >= MIN_LOST_FRAMES and trace.steady]
        above = min((t for t in points if t.loss_ratio > loss_ratio), key=lambda t: t.load_pps, default=None)
        if above is None or not above.overloaded or self.buffer_matters(above.load_pps, above.intended_s):
            return None
        below = max(
            (t for t in points if t.loss_ratio <= loss_ratio and t.load_pps < above.load_pps),
            key=lambda t: t.load_pps,
            default=None,
        )
        if below is not None:
            return _interpolate_load(below, above, loss_ratio)
        higher = [
            t
            for t in points
            if t.load_pps > above.load_pps * (1.0 + SAME_CAPACITY_RATIO) and t.loss_ratio > above.loss_ratio
        ]
        return _interpolate_load(above, min(higher, key=lambda t: t.load_pps), loss_ratio) if higher else None

    def _threshold_pps(self, trace: Trace, loss_ratio: float) -> float:
        buffer_count = self.buffer_count if self.buffer_matters(trace.load_pps, trace.intended_s) else 0.0
        return trace.threshold_pps(loss_ratio, buffer_count)

    def _agreed(self, long: list[TrialThreshold], near: list[TrialThreshold]) -> Estimate:
        """Return the estimate of long trials, with an uncertainty from their agreement with short ones."""
        estimate = self._pooled(long)
        if estimate.trial_count > 1 or len(near) < 2:
            return estimate
        return estimate._replace(sd_ratio=max(NEAR_SD / 4, stdev(value for value, _ in near) / estimate.load_pps))

    def _pooled(self, thresholds: list[TrialThreshold]) -> Estimate:
        values = [value for value, _ in thresholds]
        middle = max(MIN_THRESHOLD_PPS, median(values))
        if len({trace.index for _, trace in thresholds}) < 2:
            return Estimate(middle, NEAR_SD, near=True)
        spread = stdev(values) / middle
        return Estimate(middle, max(NEAR_SD / 4, spread), near=True, trial_count=len(values))

    def capacity_pps(self) -> float | None:
        """Return the capacity of the latest overloaded trial."""
        latest = next((trace for trace in reversed(self.current) if trace.overloaded), None)
        return latest.capacity_pps if latest else None

    def fall_ratio(self, duration_s: float) -> float:
        """Return the relative fall of a drifting capacity by the end of a trial that starts now."""
        if self.behavior is not SutBehavior.FALLING:
            return 0.0
        overloaded = [t for t in self.traces if t.overloaded and t.load_pps < 1.2 * t.capacity_pps]
        first, last = overloaded[0], overloaded[-1]
        seconds = last.started_s + last.elapsed_s / 2.0 - first.started_s - first.elapsed_s / 2.0
        fall = 1.0 - last.capacity_pps / first.capacity_pps
        return max(0.0, fall * (duration_s + last.elapsed_s / 2.0) / seconds) if seconds > 1.0 else 0.0

    def expected_lost(self, load_pps: float, duration_s: float, *, unsent: bool = False) -> float:
        """Return the frames lost by a time, if the SUT behaves as in the latest overloaded trial.

        Unsent frames count as lost at the end, but do not appear as lost during the trial.
        """
        latest = next((trace for trace in reversed(self.current) if trace.overloaded), None)
        if latest is None or (latest.unsent and not unsent):
            return 0.0
        return max(0.0, latest.early_loss_count(load_pps, duration_s) - self.buffer_count)

    def expected_ratio(self, trace: Trace, duration_s: float) -> float:
        """Return the loss ratio of a trial if it continued unchanged for a time."""
        if trace.elapsed_s >= duration_s or not trace.overloaded:
            return trace.loss_ratio
        lost = trace.lost_count + (trace.load_pps - fmean(trace.tail_pps)) * (duration_s - trace.elapsed_s)
        return lost / (trace.load_pps * duration_s)


def _interpolate_load(low: Trace, high: Trace, loss_ratio: float) -> Estimate | None:
    """Return the load at which a line through two trials has a ratio, on log axes; None if a hard limit fits.

    The extrapolation below the two is limited to their distance.
    """
    limited = max(0.0, 1.0 - high.forwarded_pps / low.load_pps)
    if abs(low.loss_ratio - limited) < HARD_LIMIT_TOLERANCE * max(low.loss_ratio, limited):
        return None
    share = math.log(loss_ratio / low.loss_ratio) / math.log(high.loss_ratio / low.loss_ratio)
    reach = math.log(high.load_pps / low.load_pps)
    return Estimate(low.load_pps * math.exp(max(-1.0, share) * reach), min(FAR_SD, 0.1 * reach), near=reach <= NEAR)


def is_collapsed(trace: Trace) -> bool:
    """Return whether too little was forwarded to predict the loss of a lower load."""
    return trace.overloaded and trace.capacity_pps < COLLAPSED_SHARE * trace.offered_pps


def _is_informative(trace: Trace) -> bool:
    return trace.overloaded or trace.fluctuating


def _compute_range(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / max(1e-9, *values)


def find_trend(values: Sequence[float]) -> SutBehavior | None:
    """Return the direction of values in order of time, if nearly all pairs agree."""
    if len(values) < 4 or _compute_range(values) <= TREND:
        return None
    rises = sum(b > a for a, b in itertools.combinations(values, 2))
    pairs = len(values) * (len(values) - 1) // 2
    if rises >= 0.9 * pairs:
        return SutBehavior.RISING
    return SutBehavior.FALLING if rises <= 0.1 * pairs else None


def _alternate(earlier: Sequence[float], fresh: Sequence[float]) -> bool:
    """Return whether capacities in order of time alternate between two modes, rather than change once."""
    both = [*earlier, *fresh]
    split = _split(both)
    if not split:
        return False
    is_fast = [value >= split[1][0] for value in both]
    changes = sum(a != b for a, b in itertools.pairwise(is_fast))
    return changes > 1 or len(set(is_fast[len(earlier) :])) > 1


def _split(values: Sequence[float]) -> tuple[list[float], list[float]] | None:
    """Return the values split at a gap much wider than the spread on either side; None without one."""
    ordered = sorted(values)
    if len(ordered) < 3:
        return None
    gap, cut = max((b - a, i + 1) for i, (a, b) in enumerate(itertools.pairwise(ordered)))
    slow, fast = ordered[:cut], ordered[cut:]
    inner = max(slow[-1] - slow[0], fast[-1] - fast[0])
    return (slow, fast) if gap > MODES_APART * ordered[-1] and gap > 4.0 * inner else None
