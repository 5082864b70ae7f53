"""One trial read window by window: how it lost, and the expected loss at another load."""

import pytest
from tests.traces import LOAD_PPS, trace

from nodrop.search.base import Outcome, Sample
from nodrop.search.probe_search.trial_trace import WINDOWS_MAX, trace_outcome

EXCESS = 10_000.0
"""Frames per window of 0.1 s that a SUT of 0.9 Mpps loses of 1 Mpps."""


def test_the_capacity_is_what_came_through_once_it_lost() -> None:
    assert trace([0, *[EXCESS] * 9]).capacity_pps == pytest.approx(0.9e6)


def test_a_loss_that_begins_late_shows_the_buffer_that_hid_it() -> None:
    late = trace([0, 0, 0, *[EXCESS] * 7])
    assert late.buffer_count == pytest.approx(3 * EXCESS)
    assert trace([EXCESS] * 10).buffer_count == pytest.approx(0.0, abs=1e-6)


def test_a_trial_without_loss_is_not_overloaded_and_has_no_bursts() -> None:
    quiet = trace([0] * 10)
    assert (quiet.overloaded, quiet.fluctuating, quiet.bursts, quiet.first_lossy) == (False, False, (), None)


def test_single_frames_lost_throughout_are_no_overload() -> None:
    assert not trace([1] * 10).overloaded


def test_adjacent_lossy_windows_are_one_burst() -> None:
    bursts = trace([0, 5, 7, 0, 0, 3, 0]).bursts
    assert [burst.lost_count for burst in bursts] == [12, 3]
    assert [burst.at_s for burst in bursts] == pytest.approx([0.1, 0.5])


def test_a_capacity_that_stays_is_steady_and_one_that_falls_is_not() -> None:
    assert trace([EXCESS + wobble for wobble in (0, 300, -200, 100, 0, 250, -150, 50, 0, 100)]).steady
    assert not trace([EXCESS + 500 * position for position in range(20)]).steady


def test_loss_that_comes_and_goes_for_long_is_a_capacity_about_the_load() -> None:
    assert trace([0, 0, 0, 0, 500] * 10).fluctuating
    assert not trace([0, 0, 0, 0, 500] * 5).fluctuating  # 2.5 s are too short for a decision.


@pytest.mark.parametrize("load_pps", [0.85e6, 0.9e6, 0.95e6, 1.1e6])
def test_replayed_at_another_load_a_hard_limit_loses_what_exceeds_it(load_pps: float) -> None:
    assert trace([EXCESS] * 10).replayed_ratio(load_pps, 0.0) == pytest.approx(max(0.0, 1.0 - 0.9e6 / load_pps))


def test_a_trial_stopped_early_is_replayed_to_the_duration_asked() -> None:
    watched = trace([EXCESS] * 10, intended_s=30.0)
    assert watched.replayed_ratio(1e6, 0.0) == pytest.approx(0.1)


def test_a_buffer_takes_its_frames_from_the_loss_of_a_replay_once() -> None:
    # 30,000 frames of buffer, then 0.1 Mpps of excess over the rest of 10 s.
    late = trace([0, 0, 0, *[EXCESS] * 7], intended_s=10.0)
    assert late.replayed_ratio(1e6, late.buffer_count) == pytest.approx((1e6 - 30_000) / 1e7)


@pytest.mark.parametrize("loss_ratio", [0.0, 0.005, 0.05, 0.3])
def test_the_threshold_of_a_hard_limit_is_its_capacity_over_what_may_not_be_lost(loss_ratio: float) -> None:
    threshold_pps = trace([EXCESS] * 10).threshold_pps(loss_ratio, 0.0)
    assert threshold_pps == pytest.approx(0.9e6 / (1.0 - loss_ratio), rel=1e-4)


def test_a_buffer_raises_the_threshold_by_what_it_holds_spread_over_the_trial() -> None:
    late = trace([0, 0, 0, *[EXCESS] * 7], intended_s=10.0)
    assert late.threshold_pps(0.0, late.buffer_count) == pytest.approx(0.9e6 + 3_000, rel=1e-4)


def test_a_stall_in_an_overloaded_trial_is_no_lower_capacity() -> None:
    stalled = trace([*[EXCESS] * 10, 60_000, *[EXCESS] * 10])
    assert stalled.lowest_pps == pytest.approx(0.9e6, rel=1e-3)


def test_what_another_load_would_have_lost_by_a_time_grows_with_both() -> None:
    watched = trace([EXCESS] * 10)
    assert watched.early_loss_count(1e6, 0.5) == pytest.approx(5 * EXCESS)
    assert watched.early_loss_count(1e6, 2.0) == pytest.approx(20 * EXCESS)  # extrapolated from its end
    assert watched.early_loss_count(0.9e6, 2.0) == pytest.approx(0.0, abs=1e-6)


def test_parts_of_a_trial_have_its_loss_between_them() -> None:
    whole = trace([0, 0, 1_000, 0, 3_000, 3_000])
    assert whole.ratios(3) == pytest.approx((0.0, 0.005, 0.03))
    assert sum(part.lost_count for part in whole.parts(3)) == pytest.approx(whole.lost_count)
    assert whole.ratios(1) == (whole.loss_ratio,)


def outcome(samples: tuple[Sample, ...], lost: int, unsent: int = 0, elapsed_s: float = 1.0) -> Outcome:
    requested = round(LOAD_PPS * elapsed_s)
    return Outcome(
        index=3,
        loss_ratio=(lost + unsent) / requested,
        elapsed_s=elapsed_s,
        intended_count=requested,
        offered_count=requested - unsent,
        lost_count=lost,
        unsent_count=unsent,
        samples=samples,
    )


def test_windows_are_the_differences_of_what_was_counted_so_far() -> None:
    samples = (Sample(0.25, 250_000, 0), Sample(0.5, 500_000, 100), Sample(1.0, 1_000_000, 400))
    windows = trace_outcome(outcome(samples, 400), LOAD_PPS, 1.0).windows
    assert [window.lost_count for window in windows] == pytest.approx([0, 100, 300])
    assert [window.duration_s for window in windows] == pytest.approx([0.25, 0.25, 0.5])


def test_a_measurer_that_knows_only_totals_gives_one_window() -> None:
    result = trace_outcome(outcome((), 100_000), LOAD_PPS, 1.0)
    assert [(window.duration_s, round(window.lost_count)) for window in result.windows] == [(1.0, 100_000)]
    assert result.overloaded and result.steady
    assert result.capacity_pps == pytest.approx(0.9e6)


def test_a_measurer_that_tells_no_time_has_sent_as_asked() -> None:
    result = trace_outcome(Outcome(index=0, loss_ratio=0.1), LOAD_PPS, 2.0)
    assert result.elapsed_s == 2.0
    assert result.lost_count == pytest.approx(200_000)


def test_frames_not_sent_count_as_lost_in_the_windows_they_were_missing_from() -> None:
    # The tester begins late: it sends nothing for 0.1 s and keeps up from then on.
    samples = tuple(Sample(0.1 * n, 100_000 * (n - 1), 0) for n in range(1, 11))
    result = trace_outcome(outcome(samples, 0, unsent=100_000), LOAD_PPS, 1.0)
    assert result.unsent and result.offered_pps == pytest.approx(0.9e6)
    assert [window.lost_count for window in result.windows] == pytest.approx([100_000] + [0] * 9)


def test_frames_that_turn_out_unsent_only_in_the_end_are_spread_evenly() -> None:
    samples = tuple(Sample(0.1 * n, 100_000 * n, 0) for n in range(1, 11))
    result = trace_outcome(outcome(samples, 0, unsent=100_000), LOAD_PPS, 1.0)
    assert [window.lost_count for window in result.windows] == pytest.approx([EXCESS] * 10)


@pytest.mark.parametrize("count", [1, 299, 300, 301, 1000, 3601])
def test_fine_windows_are_joined_and_nothing_is_lost_on_the_way(count: int) -> None:
    samples = tuple(Sample(n / count, round(LOAD_PPS * n / count), 7 * n) for n in range(1, count + 1))
    result = trace_outcome(outcome(samples, 7 * count), LOAD_PPS, 1.0)
    assert len(result.windows) <= WINDOWS_MAX
    assert sum(window.lost_count for window in result.windows) == pytest.approx(7 * count)
    assert sum(window.duration_s for window in result.windows) == pytest.approx(1.0)


def test_losses_that_show_after_the_end_of_sending_are_no_collapse_of_the_last_moment() -> None:
    ends = [*(0.05 * position for position in range(1, 21)), 1.001]
    samples = tuple(Sample(end, int(end * 1e6), 0) for end in ends)
    outcome = Outcome(
        index=0,
        loss_ratio=1e-4,
        offered_count=1_001_000,
        lost_count=100,
        unsent_count=0,
        elapsed_s=1.001,
        samples=samples,
    )
    seen = trace_outcome(outcome, 1e6, 1.001)
    assert seen.windows[-1].duration_s == pytest.approx(0.051)
    assert seen.capacity_pps == pytest.approx(1e6 - 100 / 0.051, rel=1e-3)
