"""One trial read window by window: was it overloaded throughout, or did it lose now and then; how much got through.

The question a trace answers is what the same SUT, behaving as it did in this trial, would have done with another
load: windows that lost frames show what was forwarded, so a lower load would have lost what it exceeds that by.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, median

from nodrop.search.base import Outcome, Sample

WINDOWS_MAX = 300
"""Finer windows are joined up to this many: enough to see a stall in a long trial, few enough to replay at once."""
SINGLE_LOSS_RATIO = 1e-5
"""Loss of a larger share does not come frame by frame."""
LOSSY_SHARE = 0.8
"""Share of the windows after the first loss that lose, from which on a trial counts as overloaded."""
LONG_S = 3.0
FLUCTUATIONS = 5
FLUCTUATING_SHARE = 0.05
"""A trial of at least this length with so many lossy windows, and this share of them, tells of the capacity too."""
OVERLOAD_RATIO = 5e-5
"""Loss below this share is taken for single frames going astray, not for a limit of the capacity."""
TREND_SIGMAS = 4.0


@dataclass(frozen=True)
class Window:
    """A stretch of a trial."""

    duration_s: float
    lost_count: float


@dataclass(frozen=True)
class Burst:
    """Loss in adjacent windows, in a trial that otherwise lost nothing."""

    at_s: float
    lost_count: float


@dataclass(frozen=True)
class Trace:
    """A trial's load and its loss over time; frames that could not be sent count as lost."""

    index: int
    load_pps: float
    intended_s: float
    elapsed_s: float
    started_s: float
    loss_ratio: float
    windows: tuple[Window, ...]
    stopped: bool = False
    """Whether its stop rule ended it."""
    unsent_ratio: float = 0.0
    """Share of the frames that the tester did not send."""

    @property
    def unsent(self) -> bool:
        """Whether frames were missing because the tester did not send them."""
        return self.unsent_ratio > 0.0

    @property
    def offered_pps(self) -> float:
        """What the tester really sent."""
        return self.load_pps * (1.0 - self.unsent_ratio)

    @property
    def lost_count(self) -> float:
        """Frames lost, unsent ones included."""
        return self.loss_ratio * self.load_pps * self.elapsed_s

    @property
    def forwarded_pps(self) -> float:
        """What got through over the whole trial, frames in buffers included."""
        return self.load_pps * (1.0 - self.loss_ratio)

    @cached_property
    def first_lossy(self) -> int | None:
        """The first window with loss."""
        return next((i for i, window in enumerate(self.windows) if window.lost_count > 0), None)

    @cached_property
    def tail(self) -> tuple[Window, ...]:
        """Windows after the one in which loss began; that one too, where there is no other."""
        if self.first_lossy is None:
            return ()
        return self.windows[self.first_lossy + 1 :] or self.windows[self.first_lossy :]

    @cached_property
    def overloaded(self) -> bool:
        """Whether, once it lost, it went on losing: the load is above the capacity."""
        tail = self.tail
        if not tail:
            return False
        lossy = sum(window.lost_count > 0 for window in tail) / len(tail)
        lost_ratio = sum(w.lost_count for w in tail) / (self.load_pps * sum(w.duration_s for w in tail))
        return lossy >= LOSSY_SHARE and lost_ratio >= OVERLOAD_RATIO

    @cached_property
    def fluctuating(self) -> bool:
        """Whether it lost again and again over a long time: the capacity goes below the load and back."""
        lossy = sum(window.lost_count > 0 for window in self.windows)
        often = lossy >= FLUCTUATIONS and lossy >= FLUCTUATING_SHARE * len(self.windows)
        return often and self.elapsed_s >= LONG_S and self.loss_ratio >= SINGLE_LOSS_RATIO and not self.overloaded

    @cached_property
    def tail_pps(self) -> tuple[float, ...]:
        """What was forwarded in each window of the tail, frames per second."""
        return tuple(max(0.0, self.load_pps - window.lost_count / window.duration_s) for window in self.tail)

    @cached_property
    def capacity_pps(self) -> float:
        """Mean rate forwarded once it had begun to lose; for overloaded trials."""
        return fmean(self.tail_pps)

    @cached_property
    def lowest_pps(self) -> float:
        """The lowest capacity of any window, stalls left out: they stand out from the rest."""
        if self.fluctuating:
            return min(self.tail_pps)
        middle = median(self.tail_pps)
        spread = median(abs(each - middle) for each in self.tail_pps)
        return max(min(self.tail_pps), middle - 6.0 * spread - 1e-4 * middle)

    @cached_property
    def buffer_count(self) -> float:
        """Frames taken in before loss began, beyond what was forwarded meanwhile; for overloaded trials."""
        return max(0.0, (self.load_pps - self.capacity_pps) * self.elapsed_s - self.lost_count)

    @cached_property
    def steady(self) -> bool:
        """Whether the capacity stayed what it was from the first half of the tail to the second."""
        rates = self.tail_pps
        half = len(rates) // 2
        if half < 2:
            return True
        first, second = rates[:half], rates[half:]
        change = abs(median(first) - median(second))
        spread = median(abs(a - b) for a, b in itertools.pairwise(rates))
        return change <= max(TREND_SIGMAS * spread / math.sqrt(half), 5e-4 * self.load_pps)

    @cached_property
    def bursts(self) -> tuple[Burst, ...]:
        """Loss that came and went; adjacent windows count as one."""
        found: list[Burst] = []
        at_s = 0.0
        previous_lossy = False
        for window in self.windows:
            lossy = window.lost_count > 0
            if lossy and previous_lossy:
                found[-1] = Burst(found[-1].at_s, found[-1].lost_count + window.lost_count)
            elif lossy:
                found.append(Burst(at_s, window.lost_count))
            previous_lossy = lossy
            at_s += window.duration_s
        return tuple(found)

    def ratios(self, count: int) -> tuple[float, ...]:
        """The loss ratio of each of so many equal parts of the trial; windows fall to the part they end in."""
        if count == 1:
            return (self.loss_ratio,)
        return tuple(part.loss_ratio for part in self.parts(count))

    def parts(self, count: int) -> tuple["Trace", ...]:
        """The trial cut into equal parts, each as if it had been a trial of its own."""
        part_s = self.elapsed_s / count
        cut: list[list[Window]] = [[] for _ in range(count)]
        end_s = 0.0
        for window in self.windows:
            end_s += window.duration_s
            cut[min(count - 1, int((end_s - 1e-6) / part_s))].append(window)
        return tuple(self._part(windows, part_s) for windows in cut)

    def _part(self, windows: list[Window], part_s: float) -> "Trace":
        lost = sum(window.lost_count for window in windows)
        return replace(
            self,
            intended_s=part_s,
            elapsed_s=part_s,
            loss_ratio=min(1.0, lost / (self.load_pps * part_s)),
            windows=tuple(windows),
        )

    def replayed_ratio(self, load_pps: float, buffer_count: float) -> float:
        """Loss ratio that another load would have met in this very trial, carried on to the duration asked.

        A window without loss says nothing of what more it could have carried, and counts as lossless; unless loss
        began late because a buffer filled first: then it had the capacity of the rest.
        """
        filling = buffer_count > 0 and self.buffer_count < 1.5 * buffer_count
        lost = 0.0
        for position, window in enumerate(self.windows):
            before_loss = position <= (self.first_lossy or 0)
            if before_loss and filling:
                lost += max(0.0, load_pps - self.capacity_pps) * window.duration_s
            elif window.lost_count > 0:
                lost += max(0.0, (load_pps - self.load_pps) * window.duration_s + window.lost_count)
        missing_s = max(0.0, self.intended_s - self.elapsed_s)
        if self.overloaded and missing_s:
            last = self.tail_pps[-max(1, len(self.tail_pps) // 4) :]
            lost += max(0.0, load_pps - fmean(last)) * missing_s
        return max(0.0, lost - buffer_count) / (load_pps * max(self.intended_s, self.elapsed_s))

    def early_loss_count(self, load_pps: float, duration_s: float) -> float:
        """Frames that another load would have lost in this trial by a time."""
        lost = at_s = 0.0
        for window in self.windows:
            if at_s >= duration_s:
                return lost
            if window.lost_count > 0:
                lost += max(0.0, (load_pps - self.load_pps) * window.duration_s + window.lost_count)
            at_s += window.duration_s
        if self.overloaded:
            lost += max(0.0, load_pps - self.tail_pps[-1]) * (duration_s - at_s)
        return lost

    def threshold_pps(self, loss_ratio: float, buffer_count: float) -> float:
        """The highest load at which this trial would have met a loss ratio; for overloaded trials."""
        if loss_ratio == 0.0:
            return self.lowest_pps + buffer_count / max(self.intended_s, self.elapsed_s)
        low, high = 0.0, 1.02 * max(self.load_pps, self.capacity_pps / (1.0 - loss_ratio))
        for _ in range(40):
            middle = (low + high) / 2
            if self.replayed_ratio(middle, buffer_count) <= loss_ratio:
                low = middle
            else:
                high = middle
        return low

    def tolerable_pps(self, loss_ratio: float) -> float:
        """The highest load, up to that of the trial, at which it would have met a loss ratio; for parts of trials."""
        if self.lost_count == 0 or (self.loss_ratio <= loss_ratio and not self.overloaded):
            return self.load_pps
        if loss_ratio == 0.0 and not self.overloaded:
            return min(self.load_pps - window.lost_count / window.duration_s for window in self.windows)
        return self.threshold_pps(loss_ratio, 0.0)


def trace_outcome(outcome: Outcome, load_pps: float, intended_s: float) -> Trace:
    """A trial as a trace; one window where the measurer gave no samples."""
    elapsed_s = outcome.elapsed_s or intended_s
    lost_count = outcome.loss_ratio * load_pps * elapsed_s
    samples = outcome.samples or (Sample(elapsed_s, 0, 0),)
    return Trace(
        index=outcome.index,
        load_pps=load_pps,
        intended_s=intended_s,
        elapsed_s=elapsed_s,
        started_s=outcome.started_s,
        loss_ratio=outcome.loss_ratio,
        windows=tuple(_windows(samples, load_pps, lost_count, outcome.unsent_count)),
        stopped=outcome.stopped_early,
        unsent_ratio=outcome.unsent_count / max(1, outcome.offered_count + outcome.unsent_count),
    )


def _windows(samples: Sequence[Sample], load_pps: float, lost_count: float, unsent_count: int) -> list[Window]:
    """Differences of the cumulative counts; what was lost in all by the end belongs to the last one."""
    stride = -(-len(samples) // WINDOWS_MAX)
    kept = [*samples[stride - 1 : -1 : stride], samples[-1]]
    # Some measurers know only in the end what they did not send.
    middle = kept[(len(kept) - 1) // 2]
    missing_count = load_pps * middle.elapsed_s - middle.offered_count
    unsent_seen = 2.0 * missing_count > unsent_count * middle.elapsed_s / kept[-1].elapsed_s > 0.0
    windows = []
    before_s = before_count = 0.0
    for position, sample in enumerate(kept):
        count = float(sample.lost_count)
        if unsent_seen:
            count += max(0.0, load_pps * sample.elapsed_s - sample.offered_count)
        else:
            count += unsent_count * sample.elapsed_s / kept[-1].elapsed_s
        if position == len(kept) - 1:
            count = lost_count
        if count < before_count + 0.5:
            count = before_count
        if sample.elapsed_s > before_s:
            windows.append(Window(sample.elapsed_s - before_s, count - before_count))
            before_s, before_count = sample.elapsed_s, count
    return windows
