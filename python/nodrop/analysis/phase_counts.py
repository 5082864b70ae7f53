"""Counts of a trial whose load changes: by phase, separately for streams that begin with different phases.

Source: ETSI GS NFV-PER 001 clause C.1.2.1, which compares existing users with those that a change adds.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from nodrop.model.trial import StreamCounts, TrialResult, Windows

EDGE_TOLERANCE_S = 0.01
"""Windows end a little after the edges of their grid."""


class LatencySpan(NamedTuple):
    """Latency of the frames that arrived in a time, in nanoseconds."""

    mean_ns: float
    min_ns: int
    max_ns: int


class PhaseCounts(NamedTuple):
    """A group of streams in a load phase."""

    begin_s: float
    end_s: float
    joined_s: float
    """Time at which the group began to send."""
    stream_count: int
    """Streams of the group that send in the phase."""
    load_pps: float
    offered_count: int
    lost_count: int
    is_lost_known: bool
    """Whether every lost frame has a place in the timeline; if not, `lost_count` is a lower bound."""
    latency: LatencySpan | None
    """None if no window lies within the phase, or no frame arrived in one."""

    @property
    def loss_ratio(self) -> float:
        """Lost share of the frames offered."""
        return self.lost_count / self.offered_count if self.offered_count else 0.0


def compute_phase_counts(trial: TrialResult) -> tuple[PhaseCounts, ...]:
    """Return the counts of each phase and group that sends in it, in their order; none if the load is constant, or the
    frames at its changes are not known, as after the engine's end."""
    phases = trial.trial.load_phases
    if not phases or any(len(stream.change_sequences) != len(phases) - 1 for stream in trial.streams):
        return ()
    edges_s = [phase.begin_s for phase in phases if phase.begin_s < trial.duration_s] + [trial.duration_s]
    loads_by_stream = zip(*(phase.loads_pps for phase in phases), strict=True)
    first_phases = [next(number for number, load in enumerate(loads) if load) for loads in loads_by_stream]
    return tuple(
        counts
        for number, span_s in enumerate(pairwise(edges_s))
        for group in sorted(set(first_phases))
        if (counts := _count_group(trial, number, span_s, group, first_phases)).stream_count
    )


def _count_group(
    trial: TrialResult, number: int, span_s: tuple[float, float], group: int, first_phases: Sequence[int]
) -> PhaseCounts:
    phases = trial.trial.load_phases
    loads_pps = phases[number].loads_pps
    members = [index for index, first in enumerate(first_phases) if first == group and loads_pps[index]]
    streams = [trial.streams[index] for index in members]
    spans = [_get_sequences(stream, number) for stream in streams]
    return PhaseCounts(
        begin_s=span_s[0],
        end_s=span_s[1],
        joined_s=phases[group].begin_s,
        stream_count=len(members),
        load_pps=sum(loads_pps[index] for index in members),
        offered_count=sum(end - begin for begin, end in spans),
        lost_count=sum(_count_lost(stream, span) for stream, span in zip(streams, spans, strict=True)),
        is_lost_known=all(sum(run.count for run in each.loss_timeline) == each.lost_count for each in streams),
        latency=_merge_latency(trial.windows, span_s, group),
    )


def _get_sequences(stream: StreamCounts, number: int) -> tuple[int, int]:
    """Return the sequence numbers of a stream's frames in a phase: the first, and the one after the last."""
    edges = [0, *stream.change_sequences, stream.offered_count]
    return edges[number], edges[number + 1]


def _count_lost(stream: StreamCounts, span: tuple[int, int]) -> int:
    ends = ((run.first_sequence, run.first_sequence + run.count) for run in stream.loss_timeline)
    return sum(max(0, min(end, span[1]) - max(begin, span[0])) for begin, end in ends)


def _merge_latency(windows: Windows, span_s: tuple[float, float], group: int) -> LatencySpan | None:
    """Return the latency of a group in the windows within a span of the trial."""
    starts_s = (0.0, *windows.end_s[:-1])
    inside = [
        position
        for position, (start_s, end_s) in enumerate(zip(starts_s, windows.end_s, strict=True))
        if start_s >= span_s[0] - EDGE_TOLERANCE_S and end_s <= span_s[1] + EDGE_TOLERANCE_S
    ]
    measured = [
        (each.count[n], each.sum_ns[n], each.min_ns[n], each.max_ns[n])
        for series, each in zip(windows.series, windows.latency, strict=False)
        if series.first_phase == group
        for n in inside
        if each.count[n]
    ]
    if not measured:
        return None
    counts, sums_ns, mins_ns, maxs_ns = zip(*measured, strict=True)
    return LatencySpan(sum(sums_ns) / sum(counts), min(mins_ns), max(maxs_ns))


def iter_first_latencies(counts: Sequence[PhaseCounts]) -> Iterator[LatencySpan | None]:
    """Yield for each of the counts the latency of its group in the group's first phase."""
    first: dict[float, LatencySpan | None] = {}
    for each in counts:
        yield first.setdefault(each.joined_s, each.latency)
