"""Findings about the SUT beyond the goals of a search, each with its size."""

import itertools
from collections.abc import Iterator, Sequence
from statistics import median

from nodrop.model.goal import Flag
from nodrop.search.probe_search.event_loss import fit_stall_line, is_stall
from nodrop.search.probe_search.sut_model import SutBehavior, SutModel, find_trend
from nodrop.search.probe_search.trial_trace import SINGLE_LOSS_RATIO, Trace

COMPARABLE_LOAD_FACTOR = 1.2
"""Trials up to this multiple of the forwarding rate have comparable capacities."""
MIN_BUFFER_S = 0.002
"""Least size of a buffer that is reported, in time at capacity."""
MIN_CHANGE_RATIO = 0.003
"""Least change of the capacity in the course of a trial that is reported."""
MODE_DWELL_S = 0.5
"""Least mean time between changes of the capacity that counts as modes."""


def make_findings(model: SutModel, behaviors: Sequence[SutBehavior]) -> Iterator[Flag]:
    """Yield all findings.

    Args:
        model: the model with all trials.
        behaviors: behaviors of the SUT, in order of time.
    """
    overloaded = [
        trace
        for trace in model.traces
        if trace.overloaded and trace.load_pps < COMPARABLE_LOAD_FACTOR * trace.capacity_pps
    ]
    alternations = list(_flag_alternations(model.traces))
    if not alternations:
        yield from _flag_drift(overloaded, behaviors)
    yield from _flag_modes(model, behaviors)
    yield from alternations or _flag_changes_within(overloaded)
    yield from _flag_buffer(model)
    yield from _flag_stalls(model.traces)
    yield from _flag_singles(model.traces)
    unsent = [trace for trace in model.traces if trace.unsent]
    if unsent:
        yield Flag.of("tester-limited", offered_pps=max(trace.offered_pps for trace in unsent))


def _flag_drift(overloaded: list[Trace], behaviors: Sequence[SutBehavior]) -> Iterator[Flag]:
    """Yield warm-up or drift."""
    # A trial with late loss shows the capacity at the end of its fall.
    overloaded = [trace for trace in overloaded if (trace.first_lossy or 0) <= 1 or SutBehavior.RISING in behaviors]
    if SutBehavior.MODES in behaviors or len(overloaded) < 3:
        return
    rates = [trace.capacity_pps for trace in overloaded]
    direction = find_trend(rates)
    if SutBehavior.RISING in behaviors:
        direction = SutBehavior.RISING
    if direction is None:
        return
    first, last = overloaded[0], overloaded[-1]
    change = last.capacity_pps / first.capacity_pps - 1.0
    seconds = last.started_s - first.started_s
    yield Flag.of(
        "warm-up" if direction is SutBehavior.RISING else "drift",
        first_pps=first.capacity_pps,
        last_pps=last.capacity_pps,
        change_ratio=change,
        seconds=seconds,
    )


def _flag_modes(model: SutModel, behaviors: Sequence[SutBehavior]) -> Iterator[Flag]:
    split = model.modes() if SutBehavior.MODES in behaviors else None
    if split:
        slow, fast = split
        yield Flag.of(
            "modes",
            fast_pps=median(fast),
            fast_count=len(fast),
            slow_pps=median(slow),
            slow_count=len(slow),
            count=len(slow) + len(fast),
        )
    elif SutBehavior.SCATTERED in behaviors:
        rates = [trace.capacity_pps for trace in model.current if trace.overloaded]
        yield Flag.of("scatter", lowest_pps=min(rates), highest_pps=max(rates))


def _flag_changes_within(overloaded: list[Trace]) -> Iterator[Flag]:
    """Yield a change in the course of a trial."""
    changing = [trace for trace in overloaded if not trace.steady]
    if not changing:
        return
    trace = max(changing, key=lambda each: each.elapsed_s)
    part = max(1, len(trace.tail_pps) // 10)
    begin_pps, end_pps = median(trace.tail_pps[:part]), median(trace.tail_pps[-part:])
    jumps = sum(
        abs(b - a) > 0.5 * abs(max(trace.tail_pps) - min(trace.tail_pps)) for a, b in _iter_pairs(trace.tail_pps)
    )
    change = end_pps / begin_pps - 1.0 if begin_pps else 0.0
    if jumps:
        low_pps, high_pps = min(trace.tail_pps), max(trace.tail_pps)
        yield Flag.of("mode-switching", trial=trace.index, low_pps=low_pps, high_pps=high_pps)
    elif change < -MIN_CHANGE_RATIO or (change < 0 and (trace.first_lossy or 0) > 1):
        yield Flag.of(
            "degradation",
            trial=trace.index,
            begin_pps=begin_pps,
            end_pps=end_pps,
            change_ratio=change,
            seconds=trace.elapsed_s,
        )


def _flag_alternations(traces: Sequence[Trace]) -> Iterator[Flag]:
    """Yield a capacity that alternated between below and above the load, for long periods."""
    for trace in sorted(traces, key=lambda each: -each.elapsed_s):
        lossy = [window for window in trace.windows if window.lost_count > 0]
        lossy_s = sum(window.duration_s for window in lossy)
        between_s = trace.elapsed_s - lossy_s
        if len(trace.bursts) < 2 or trace.loss_ratio < SINGLE_LOSS_RATIO:
            continue
        if min(lossy_s, between_s) / len(trace.bursts) >= MODE_DWELL_S:
            low_pps = median(trace.load_pps - window.lost_count / window.duration_s for window in lossy)
            yield Flag.of(
                "mode-switching",
                trial=trace.index,
                load_pps=trace.load_pps,
                low_pps=low_pps,
                low_s=lossy_s,
                high_s=between_s,
            )
            return


def _iter_pairs(values: Sequence[float]) -> Iterator[tuple[float, float]]:
    return itertools.pairwise(values)


def _flag_buffer(model: SutModel) -> Iterator[Flag]:
    capacity_pps = model.capacity_pps()
    if capacity_pps and model.buffer_count > MIN_BUFFER_S * capacity_pps:
        yield Flag.of("buffer", frames=model.buffer_count, seconds=model.buffer_count / capacity_pps)


def _flag_stalls(traces: Sequence[Trace]) -> Iterator[Flag]:
    stalled = [trace for trace in traces if is_stall(trace)]
    if not stalled:
        return
    seconds = sum(t.elapsed_s for t in traces if not t.overloaded and t.load_pps >= min(s.load_pps for s in stalled))
    count = sum(len(trace.bursts) for trace in stalled)
    line = fit_stall_line(stalled)
    if line:
        yield Flag.of("stalls", count=count, seconds=seconds, stall_s=line.seconds, free_pps=line.free_pps)
    else:
        lost = max(trace.lost_count / len(trace.bursts) for trace in stalled)
        yield Flag.of("stalls", count=count, seconds=seconds, lost=lost)


def _flag_singles(traces: Sequence[Trace]) -> Iterator[Flag]:
    single = [t for t in traces if 0.0 < t.loss_ratio < SINGLE_LOSS_RATIO and not t.overloaded and not is_stall(t)]
    if len(single) < 2:
        return
    quiet = [t for t in traces if t.loss_ratio < SINGLE_LOSS_RATIO and t.load_pps >= min(s.load_pps for s in single)]
    lost = sum(trace.lost_count for trace in single)
    frames = sum(trace.load_pps * trace.elapsed_s for trace in quiet)
    yield Flag.of("single-losses", lost=lost, frames=frames, loss_ratio=lost / frames)
