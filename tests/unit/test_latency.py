"""Merged latencies of several series, checked with the published HdrHistogram library, which records all at once."""

from collections.abc import Sequence

import pytest
from tests.factories import hdr_histogram, latency_summary, trial_result

from nodrop.model.latency import compute_latency_by_direction, compute_trial_latency
from nodrop.model.trial import DirectionTimes, TrialResult

WANTED = (25.0, 75.0, 99.0, 99.99)


def direction_times(
    values_ns: Sequence[int], way: tuple[int, int] = (0, 1), *, stream_id: int = 0, whole: bool = True, every: int = 1
) -> DirectionTimes:
    latency = latency_summary(values_ns)
    if not whole:
        latency = latency.model_copy(update={"hdr": None})
    tx_port, rx_port = way
    return DirectionTimes(tx_port=tx_port, rx_port=rx_port, stream_id=stream_id, latency_every=every, latency=latency)


def trial(*series: DirectionTimes) -> TrialResult:
    return trial_result(1000.0, phase="fixed", directions=series)


def test_percentiles_of_both_directions_are_those_of_all_frames() -> None:
    forward, reverse = list(range(1_000, 900_000, 100)), list(range(5_000_000, 9_000_000, 7_000))
    result = compute_trial_latency(trial(direction_times(forward), direction_times(reverse, (1, 0))), WANTED)
    expected = hdr_histogram([*forward, *reverse])
    assert result
    assert result.percentiles_ns == {each: expected.get_value_at_percentile(each) for each in WANTED}
    assert (result.count, result.min_ns, result.max_ns) == (len(forward) + len(reverse), 1_000, reverse[-1])
    assert result.mean_ns == pytest.approx(sum([*forward, *reverse]) / result.count)


def test_a_direction_is_all_of_its_chains_and_nothing_else() -> None:
    slow, fast, back = [9_000] * 10, [1_000] * 30, [50_000] * 5
    result = compute_latency_by_direction(
        trial(direction_times(slow), direction_times(fast, stream_id=1), direction_times(back, (1, 0), stream_id=2)),
        WANTED,
    )
    forward, reverse = result[0, 1], result[1, 0]
    assert forward and reverse
    assert (forward.count, forward.min_ns, forward.max_ns, forward.mean_ns) == (40, 1_000, 9_000, 3_000.0)
    assert forward.percentiles_ns[75.0] == hdr_histogram([*slow, *fast]).get_value_at_percentile(75)
    assert (reverse.count, reverse.min_ns) == (5, 50_000)


def test_without_histograms_only_what_summaries_hold_is_known() -> None:
    one = compute_trial_latency(trial(direction_times([1_000, 2_000, 3_000], whole=False)), (25.0, 50.0, 99.0))
    two = compute_trial_latency(
        trial(direction_times([1_000], whole=False), direction_times([2_000], (1, 0), whole=False)), (25.0, 50.0, 100.0)
    )
    assert one and set(one.percentiles_ns) == {50.0, 99.0}
    assert two and two.percentiles_ns == {100.0: 2_000}


def test_that_not_every_frame_was_measured_is_kept() -> None:
    result = compute_trial_latency(trial(direction_times([1_000], every=4), direction_times([1_000], (1, 0))), WANTED)
    assert result and result.every == 4


def test_nothing_measured_is_no_latency() -> None:
    nothing = DirectionTimes(tx_port=0, rx_port=1, latency_every=0, latency=None)
    assert compute_trial_latency(trial(nothing), WANTED) is None
    assert compute_latency_by_direction(trial(nothing), WANTED) == {(0, 1): None}
