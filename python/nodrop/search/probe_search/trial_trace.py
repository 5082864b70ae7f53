"""One trial window by window: whether it was overloaded or lost now and then, and its forwarding rate.

A trace predicts the loss of the same SUT, behaving as in this trial, at another load: windows with loss show the
forwarding rate, so a lower load loses its excess over that rate.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, median

from nodrop.search.base import Outcome, Sample

WINDOWS_MAX = 300
"""Most windows; finer ones are merged. Enough to show a stall in a long trial, few enough for fast replays."""
SINGLE_LOSS_RATIO = 1e-5
"""Largest share of single losses."""
LOSSY_SHARE = 0.8
"""Share of lossy windows after the first loss from which on a trial counts as overloaded."""
LONG_S = 3.0
FLUCTUATIONS = 5
FLUCTUATING_SHARE = 0.05
"""A trial of at least this duration, number and share of lossy windows also shows the capacity."""
OVERLOAD_RATIO = 5e-5
"""Loss below this share counts as single losses, not as a limit of the capacity."""
OVERLOAD_CLEAR_RATIO = 0.05
"""Share of lost frames from which on the receive rates of a trial that loses from its begin show the capacity."""
FORWARDING_MIN = 2
"""Fewest such rates."""
TREND_SIGMAS = 4.0
SHORT_END_SHARE = 0.5
"""Duration of the last window, as a share of the one before, below which it is merged with that one."""


@dataclass(frozen=True)
class Window:
    """A part of a trial."""

    duration_s: float
    lost_count: float


@dataclass(frozen=True)
class Burst:
    """Loss in adjacent windows, with windows without loss around them."""

    at_s: float
    lost_count: float


@dataclass(frozen=True)
class Trace:
    """A trial's load and its loss over time; unsent frames count as lost."""

    index: int
    load_pps: float
    intended_s: float
    elapsed_s: float
    started_s: float
    loss_ratio: float
    windows: tuple[Window, ...]
    stopped: bool = False
    """Whether its stop rule ended the trial."""
    unsent_ratio: float = 0.0
    """Share of the frames that the tester did not send."""

    @property
    def unsent(self) -> bool:
        """Whether the tester did not send all frames."""
        return self.unsent_ratio > 0.0

    @property
    def offered_pps(self) -> float:
        """The load that the tester sent."""
        return self.load_pps * (1.0 - self.unsent_ratio)

    @property
    def lost_count(self) -> float:
        """Frames lost, unsent ones included."""
        return self.loss_ratio * self.load_pps * self.elapsed_s

    @property
    def forwarded_pps(self) -> float:
        """The forwarding rate of the entire trial, frames in buffers included."""
        return self.load_pps * (1.0 - self.loss_ratio)

    @cached_property
    def first_lossy(self) -> int | None:
        """The first window with loss."""
        return next((i for i, window in enumerate(self.windows) if window.lost_count > 0), None)

    @cached_property
    def tail(self) -> tuple[Window, ...]:
        """Windows after the first with loss; that window itself if it is the last."""
        if self.first_lossy is None:
            return ()
        return self.windows[self.first_lossy + 1 :] or self.windows[self.first_lossy :]

    @cached_property
    def overloaded(self) -> bool:
        """Whether it continued to lose after the first loss: the load is above the capacity."""
        tail = self.tail
        if not tail:
            return False
        lossy = sum(window.lost_count > 0 for window in tail) / len(tail)
        lost_ratio = sum(w.lost_count for w in tail) / (self.load_pps * sum(w.duration_s for w in tail))
        return lossy >= LOSSY_SHARE and lost_ratio >= OVERLOAD_RATIO

    @cached_property
    def fluctuating(self) -> bool:
        """Whether it lost repeatedly over a long time: the capacity falls below the load and recovers."""
        lossy = sum(window.lost_count > 0 for window in self.windows)
        often = lossy >= FLUCTUATIONS and lossy >= FLUCTUATING_SHARE * len(self.windows)
        return often and self.elapsed_s >= LONG_S and self.loss_ratio >= SINGLE_LOSS_RATIO and not self.overloaded

    @cached_property
    def tail_pps(self) -> tuple[float, ...]:
        """Forwarding rate of each window of the tail."""
        return tuple(max(0.0, self.load_pps - window.lost_count / window.duration_s) for window in self.tail)

    @cached_property
    def capacity_pps(self) -> float:
        """Mean forwarding rate after the first loss; for overloaded trials."""
        return fmean(self.tail_pps)

    @cached_property
    def lowest_pps(self) -> float:
        """The lowest capacity of any window, without stalls, which are outliers."""
        if self.fluctuating:
            return min(self.tail_pps)
        middle = median(self.tail_pps)
        spread = median(abs(each - middle) for each in self.tail_pps)
        return max(min(self.tail_pps), middle - 6.0 * spread - 1e-4 * middle)

    @cached_property
    def buffer_count(self) -> float:
        """Frames buffered before loss began; for overloaded trials."""
        return max(0.0, (self.load_pps - self.capacity_pps) * self.elapsed_s - self.lost_count)

    def begins_late(self, seconds: float) -> bool:
        """Return whether it lost nothing for a time, then frame after frame."""
        quiet_s = sum(window.duration_s for window in self.windows[: self.first_lossy])
        return self.overloaded and quiet_s >= seconds

    @cached_property
    def steady(self) -> bool:
        """Whether the capacity is the same in the first and the second half of the tail."""
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
        """Temporary losses; adjacent windows count as one."""
        bursts: list[Burst] = []
        at_s = 0.0
        previous_lossy = False
        for window in self.windows:
            lossy = window.lost_count > 0
            if lossy and previous_lossy:
                bursts[-1] = Burst(bursts[-1].at_s, bursts[-1].lost_count + window.lost_count)
            elif lossy:
                bursts.append(Burst(at_s, window.lost_count))
            previous_lossy = lossy
            at_s += window.duration_s
        return tuple(bursts)

    def ratios(self, count: int) -> tuple[float, ...]:
        """Return the loss ratio of each equal part of the trial; a window belongs to the part it ends in."""
        if count == 1:
            return (self.loss_ratio,)
        return tuple(part.loss_ratio for part in self.parts(count))

    def parts(self, count: int) -> tuple["Trace", ...]:
        """Split the trial into equal parts, each like a separate trial."""
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
        """Return the loss ratio of another load in this trial, extrapolated to the intended duration.

        A window without loss shows no upper limit, and counts as lossless; unless loss began late because a buffer
        filled first: then it had the capacity of the other windows.
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
        """Return the frames that another load would have lost in this trial by a time."""
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
        """Return the highest load at which this trial would have met a loss ratio; for overloaded trials."""
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
        """Return the highest load, at most its own, at which it would have met a loss ratio; for parts of trials."""
        if self.lost_count == 0 or (self.loss_ratio <= loss_ratio and not self.overloaded):
            return self.load_pps
        if loss_ratio == 0.0 and not self.overloaded:
            return min(self.load_pps - window.lost_count / window.duration_s for window in self.windows)
        return self.threshold_pps(loss_ratio, 0.0)


def trace_outcome(outcome: Outcome, load_pps: float, intended_s: float) -> Trace:
    """Return a trial as a trace; with one window if the measurer has no samples."""
    elapsed_s = outcome.elapsed_s or intended_s
    lost_count = outcome.loss_ratio * load_pps * elapsed_s
    samples = outcome.samples or (Sample(elapsed_s, 0, 0),)
    trace = Trace(
        index=outcome.index,
        load_pps=load_pps,
        intended_s=intended_s,
        elapsed_s=elapsed_s,
        started_s=outcome.started_s,
        loss_ratio=outcome.loss_ratio,
        windows=tuple(_list_windows(samples, load_pps, lost_count, outcome.unsent_count)),
        stopped=outcome.stopped_early,
        unsent_ratio=outcome.unsent_count / max(1, outcome.offered_count + outcome.unsent_count),
    )
    is_clear = trace.overloaded and trace.first_lossy == 0 and trace.loss_ratio >= OVERLOAD_CLEAR_RATIO
    if is_clear and len(outcome.forwarding_pps) >= FORWARDING_MIN:
        return replace(trace, windows=_list_overload_windows(outcome.forwarding_pps, load_pps, elapsed_s))
    return trace


def _list_overload_windows(forwarding_pps: Sequence[float], load_pps: float, elapsed_s: float) -> tuple[Window, ...]:
    """Return windows with these forwarding rates.

    The rates are exact where losses are not: a lost frame shows only when a later one has left the queues of the SUT,
    so the first losses appear late, and the last ones after the end of sending.
    """
    stride = -(-len(forwarding_pps) // WINDOWS_MAX)
    rates = [fmean(forwarding_pps[begin : begin + stride]) for begin in range(0, len(forwarding_pps), stride)]
    duration_s = elapsed_s / len(rates)
    return tuple(Window(duration_s, max(0.0, load_pps - rate) * duration_s) for rate in rates)


def _merge_short_end(samples: list[Sample]) -> list[Sample]:
    """Return the samples without the last but one if hardly any time follows it.

    The last window also has the losses that show only after the end of sending. In a window of a millisecond a few of
    them would look like a collapse of the capacity.
    """
    if len(samples) < 3:
        return samples
    before, last, end = (sample.elapsed_s for sample in samples[-3:])
    return [*samples[:-2], samples[-1]] if end - last < SHORT_END_SHARE * (last - before) else samples


def _list_windows(samples: Sequence[Sample], load_pps: float, lost_count: float, unsent_count: int) -> list[Window]:
    """Return the differences of the cumulative counts; the last window takes the rest of the total loss."""
    stride = -(-len(samples) // WINDOWS_MAX)
    sampled = _merge_short_end([*samples[stride - 1 : -1 : stride], samples[-1]])
    # Some measurers know the unsent frames only at the end.
    middle = sampled[(len(sampled) - 1) // 2]
    missing_count = load_pps * middle.elapsed_s - middle.offered_count
    has_visible_unsent = 2.0 * missing_count > unsent_count * middle.elapsed_s / sampled[-1].elapsed_s > 0.0
    windows = []
    before_s = before_count = 0.0
    for position, sample in enumerate(sampled):
        count = float(sample.lost_count)
        if has_visible_unsent:
            count += max(0.0, load_pps * sample.elapsed_s - sample.offered_count)
        else:
            count += unsent_count * sample.elapsed_s / sampled[-1].elapsed_s
        if position == len(sampled) - 1:
            count = lost_count
        if count < before_count + 0.5:
            count = before_count
        if sample.elapsed_s > before_s:
            windows.append(Window(sample.elapsed_s - before_s, count - before_count))
            before_s, before_count = sample.elapsed_s, count
    return windows
