"""Loss derived from snapshots of counters, during a trial and afterwards."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.traffic import two_way_traffic

from nodrop.generator.trex.counters import _split
from nodrop.generator.trex.trial_windows import (
    CertainLoss,
    CountSample,
    Grouping,
    build_windows,
    cumulative_loss,
    in_flight,
    merge_short_last_window,
)
from nodrop.model.trial import Windows


def count_sample(at_s: float, offered: int, received: int, answer_s: float = 0.0) -> CountSample:
    return CountSample(at_s, at_s + answer_s, (offered,), (received,))


def test_frames_that_may_still_come_are_not_certainly_lost() -> None:
    losses = CertainLoss(allowance_s=0.05)
    for at_s, offered, received in [(0.1, 100, 60), (0.14, 140, 100), (0.16, 160, 120)]:
        losses.update(count_sample(at_s, offered, received))
    assert (losses.count, losses.first_s) == (0, None)


def test_frames_missing_for_longer_than_they_can_be_on_their_way_are_lost() -> None:
    losses = CertainLoss(allowance_s=0.05)
    for at_s, offered, received in [(0.1, 100, 60), (0.2, 200, 90), (0.3, 300, 120)]:
        losses.update(count_sample(at_s, offered, received))
    assert (losses.count, losses.first_s) == (80, 0.2)


@given(
    delays=st.lists(st.floats(0.0, 0.05), min_size=10, max_size=300),
    lossy=st.floats(0.0, 0.5),
    gaps=st.lists(st.tuples(st.floats(0.001, 0.1), st.floats(0.0, 0.1)), min_size=2, max_size=30),
)
def test_no_frame_that_arrives_in_the_end_is_ever_certainly_lost(
    delays: list[float], lossy: float, gaps: list[tuple[float, float]]
) -> None:
    """One frame per millisecond; frames are in flight for 50 ms at most, in any order."""
    lost = {number for number in range(len(delays)) if math.sin(number * 12.9898) * 0.5 + 0.5 < lossy}
    sent_s = [number * 0.001 for number in range(len(delays))]
    arrived_s = [
        at + delay for number, (at, delay) in enumerate(zip(sent_s, delays, strict=True)) if number not in lost
    ]
    losses = CertainLoss(allowance_s=0.05)
    requested_s = 0.0
    for gap_s, answer_s in gaps:
        requested_s += gap_s
        read_s = requested_s + answer_s / 2
        offered = sum(at <= read_s for at in sent_s)
        received = sum(at <= read_s for at in arrived_s)
        losses.update(CountSample(requested_s, requested_s + answer_s, (offered,), (received,)))
        requested_s += answer_s
    assert losses.count <= len(lost)


def test_loss_belongs_to_the_windows_it_came_in_though_frames_were_on_their_way() -> None:
    """100 frames a window, of which 20 are lost from the third on; 10 are always in flight."""
    offered, received = [100, 200, 300, 400, 400], [90, 190, 270, 350, 360]
    assert cumulative_loss(offered, received, in_flight_count=10, lost=40) == [0, 0, 20, 40, 40]


def test_a_buffer_that_fills_is_no_loss() -> None:
    """80 of 100 frames pass each window; 60 fit into a buffer, and arrive at the end."""
    offered = [100, 200, 300, 400, 500, 500]
    received = [80, 160, 240, 320, 400, 460]
    samples = [count_sample(at / 10, *counts) for at, counts in enumerate(zip(offered, received, strict=True))]
    (in_flight_count,) = in_flight(samples)
    assert in_flight_count == 60
    assert cumulative_loss(offered, received, in_flight_count, lost=40) == [0, 0, 0, 20, 40, 40]


def test_what_is_late_in_one_window_and_there_in_the_next_is_not_lost() -> None:
    assert cumulative_loss([100, 200, 300], [40, 195, 300], in_flight_count=0, lost=0) == [0, 0, 0]


def test_windows_add_up_to_all_counts() -> None:
    traffic = two_way_traffic(2)
    samples = [
        CountSample(1.1, 1.1, (10, 20), (9, 20)),
        CountSample(1.2, 1.2, (20, 40), (18, 38)),
        CountSample(1.5, 1.5, (20, 40), (19, 40)),
    ]
    windows = build_windows(Grouping(traffic), samples, 1.0, in_flight(samples), (1, 0))
    assert windows.end_s == pytest.approx((0.1, 0.2, 0.5))
    assert list(map(sum, windows.offered_count)) == [20, 40]
    assert list(map(sum, windows.received_count)) == [19, 40]
    assert list(map(sum, windows.lost_count)) == [1, 0]
    assert [series.stream_id for series in windows.series] == [0, 1]


def test_many_streams_are_followed_by_direction() -> None:
    grouping = Grouping(two_way_traffic(20))
    assert [(series.tx_port, series.rx_port, series.stream_id) for series in grouping.series] == [
        (0, 1, None),
        (1, 0, None),
    ]
    assert grouping.sums([1] * 20) == (10, 10)


def test_a_last_window_in_which_hardly_anything_was_sent_is_joined_to_the_one_before() -> None:
    columns = ((5, 5, 0),)
    result = Windows(
        end_s=(0.05, 0.10, 0.4), offered_count=columns, received_count=((4, 5, 1),), lost_count=((0, 0, 0),)
    )
    assert merge_short_last_window(result, 0.11, 0.05).end_s == (0.05, 0.4)
    assert merge_short_last_window(result, 0.11, 0.05).received_count == ((4, 6),)
    assert merge_short_last_window(result, 0.15, 0.05) == result


@given(total=st.integers(0, 10**9), shares=st.lists(st.floats(0.01, 10.0), min_size=1, max_size=20))
def test_a_ports_count_is_dealt_out_whole(total: int, shares: list[float]) -> None:
    parts = _split(total, shares)
    assert sum(parts) == total
    for part, share in zip(parts, shares, strict=True):
        assert part == pytest.approx(total * share / sum(shares), abs=1.01)
