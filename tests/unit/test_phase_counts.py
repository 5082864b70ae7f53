"""Counts of a trial whose load changes, by phase and by the phase in which streams begin."""

from tests.factories import stream_counts, trial_result

from nodrop.analysis.phase_counts import LatencySpan, compute_phase_counts, iter_first_latencies
from nodrop.model.trial import LoadPhase, LossRun, Series, StreamCounts, Trial, TrialResult, WindowLatency, Windows
from nodrop.report.document.events import build_event_tables

FIRST = LoadPhase(begin_s=0.0, loads_pps=(100.0, 100.0, 0.0))
SECOND = LoadPhase(begin_s=1.0, loads_pps=(100.0, 100.0, 50.0))


def stream(stream_id: int, offered: int, change: int, *runs: tuple[int, int]) -> StreamCounts:
    """Return a stream with its sequence number at the change, and runs of lost frames: first number, count."""
    timeline = tuple(LossRun(first_sequence=first, count=count, before=None, after=None) for first, count in runs)
    counts = stream_counts(offered, stream_id=stream_id, lost=sum(count for _, count in runs))
    return counts.replace(loss_timeline=timeline, change_sequences=(change,))


def latency(*windows: tuple[int, int, int, int]) -> WindowLatency:
    count, sum_ns, min_ns, max_ns = zip(*windows, strict=True)
    return WindowLatency(count=count, sum_ns=sum_ns, min_ns=min_ns, max_ns=max_ns)


WINDOWS = Windows(
    series=(Series(tx_port=0, rx_port=1, first_phase=0), Series(tx_port=0, rx_port=1, first_phase=1)),
    end_s=(0.5, 1.001, 1.5, 2.0),
    offered_count=((1,) * 4,) * 2,
    received_count=((1,) * 4,) * 2,
    latency=(
        latency((2, 200, 90, 110), (2, 400, 150, 250), (1, 900, 900, 900), (0, 0, 0, 0)),
        latency((0, 0, 0, 0), (0, 0, 0, 0), (1, 500, 500, 500), (1, 700, 700, 700)),
    ),
)


def trial(*streams: StreamCounts, duration_s: float = 2.0) -> TrialResult:
    request = Trial(intended_load_pps=250.0, duration_s=2.0, load_phases=(FIRST, SECOND))
    return trial_result(250.0, duration_s, trial=request, streams=streams, windows=WINDOWS)


def test_frames_count_in_the_phase_in_which_they_were_sent() -> None:
    before, existing, added = compute_phase_counts(
        trial(stream(0, 200, 100, (98, 5)), stream(1, 200, 100), stream(2, 50, 0, (10, 4)))
    )
    assert [each.stream_count for each in (before, existing, added)] == [2, 2, 1]
    assert [each.offered_count for each in (before, existing, added)] == [200, 200, 50]
    assert [each.lost_count for each in (before, existing, added)] == [2, 3, 4]
    assert (before.load_pps, existing.load_pps, added.load_pps) == (200.0, 200.0, 50.0)
    assert (added.joined_s, existing.joined_s, added.loss_ratio) == (1.0, 0.0, 0.08)
    assert all(each.is_lost_known for each in (before, existing, added))


def test_the_latency_of_a_group_is_compared_with_that_of_its_first_phase() -> None:
    counts = compute_phase_counts(trial(stream(0, 200, 100), stream(1, 200, 100), stream(2, 50, 0)))
    assert [each.latency for each in counts] == [
        LatencySpan(150.0, 90, 250),
        LatencySpan(900.0, 900, 900),
        LatencySpan(600.0, 500, 700),
    ]
    assert list(iter_first_latencies(counts)) == [counts[0].latency, counts[0].latency, counts[2].latency]
    (table,) = build_event_tables(trial(stream(0, 200, 100, (0, 1)), stream(1, 200, 100), stream(2, 50, 0)))
    assert [[cell.text for cell in row][:6] for row in table.rows][2] == [
        "1 s",
        "1 since 1 s",
        "50 pps",
        "50",
        "0",
        "0 %",
    ]
    assert [row[7].text for row in table.rows] == ["-", "+500 %", "-"]


def test_losses_beyond_the_timeline_make_a_lower_bound() -> None:
    more = stream(0, 200, 100, (0, 1)).replace(lost_count=7)
    before, *_ = compute_phase_counts(trial(more, stream(1, 200, 100), stream(2, 50, 0)))
    assert not before.is_lost_known
    (table,) = build_event_tables(trial(more, stream(1, 200, 100), stream(2, 50, 0)))
    assert table.rows[0][4].text == "≥ 1"


def test_phases_after_an_early_end_are_left_out() -> None:
    (only,) = compute_phase_counts(trial(stream(0, 80, 80), stream(1, 80, 80), stream(2, 0, 0), duration_s=0.8))
    assert (only.begin_s, only.end_s, only.offered_count) == (0.0, 0.8, 160)


def test_without_the_frames_at_a_change_there_are_no_counts() -> None:
    streams = tuple(stream_counts(0, stream_id=number) for number in range(3))
    assert compute_phase_counts(trial(*streams)) == ()


def test_a_constant_load_has_no_phases() -> None:
    assert compute_phase_counts(trial_result(1.0)) == ()
