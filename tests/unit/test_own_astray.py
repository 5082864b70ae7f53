"""Frames lost below the capacity: in stalls, or one by one."""

import math
from itertools import pairwise

import pytest
from tests.traces import LOAD_PPS, trace

from nodrop.search.probe_search.event_loss import EventRate, fit_stall_line, is_stall
from nodrop.search.probe_search.trial_trace import Trace

STALL_S, BUFFER = 0.001, 400.0


def stalled_trial(load_pps: float) -> Trace:
    """Return a trial in which the SUT stopped twice, for 1 ms behind a buffer of 400 frames."""
    lost = max(0.0, load_pps * STALL_S - BUFFER)
    return trace([0, lost, 0, 0, 0, lost, 0, 0], load_pps)


def test_a_large_loss_that_ended_is_a_stall_and_single_frames_are_not() -> None:
    assert is_stall(stalled_trial(1e6))
    assert not is_stall(trace([0, 1, 0, 0, 3, 0]))
    assert not is_stall(trace([0] * 6))


def test_a_loss_that_went_on_to_the_end_may_be_the_beginning_of_an_overload() -> None:
    assert not is_stall(trace([0, 0, 0, 600]))


def test_stalls_at_two_loads_tell_how_long_they_are_and_which_load_a_buffer_bridges() -> None:
    line = fit_stall_line([stalled_trial(1e6), stalled_trial(0.8e6)])
    assert line
    assert line.seconds == pytest.approx(STALL_S)
    assert line.free_pps == pytest.approx(BUFFER / STALL_S)  # 400 frames in 1 ms


def test_stalls_at_one_load_leave_open_where_they_cease() -> None:
    assert fit_stall_line([stalled_trial(1e6)]) is None
    assert fit_stall_line([stalled_trial(1e6), stalled_trial(1.01e6)]) is None


def test_stalls_that_do_not_grow_with_the_load_follow_no_line() -> None:
    assert fit_stall_line([trace([0, 500, 0, 0], 0.8e6), trace([0, 400, 0, 0], 1e6)]) is None


def test_a_stall_without_any_buffer_costs_frames_at_every_load() -> None:
    line = fit_stall_line([trace([0, load * STALL_S, 0, 0], load) for load in (0.5e6, 1e6)])
    assert line and line.free_pps == pytest.approx(0.0, abs=1e-3)


FREQUENT = [trace([0] * 4 + [1] + [0] * 5, load) for load in (0.9e6, 0.95e6, LOAD_PPS)]


def test_a_trial_without_loss_is_the_less_likely_the_higher_and_the_longer() -> None:
    rate = EventRate(FREQUENT)
    by_load = [rate.pass_probability(load, 1.0) for load in (1e5, 3e5, 6e5, 9e5, 1e6, 2e6)]
    by_time = [rate.pass_probability(LOAD_PPS, seconds) for seconds in (0.1, 1.0, 10.0, 30.0)]
    assert all(higher < lower for lower, higher in pairwise(by_load))
    assert all(longer < shorter for shorter, longer in pairwise(by_time))
    assert all(0.0 <= chance <= 1.0 for chance in by_load + by_time)


def test_more_seen_lost_makes_a_trial_without_loss_less_likely() -> None:
    chances = [EventRate([trace([count] + [0] * 9)]).pass_probability(LOAD_PPS, 1.0) for count in (0, 1, 3, 10)]
    assert all(more < less for less, more in pairwise(chances))


def test_the_rate_is_what_many_trials_have_shown() -> None:
    # 30 trials of 1 s at one load with two frames each: exp(-2) of such trials lose none.
    rate = EventRate([trace([0, 1, 0, 0, 0, 0, 1, 0, 0, 0])] * 30)
    assert rate.pass_probability(LOAD_PPS, 1.0) == pytest.approx(math.exp(-2.0), abs=0.03)


def test_the_load_for_a_chance_has_that_chance() -> None:
    rate = EventRate(FREQUENT)
    for chance in (0.5, 0.7, 0.9):
        load_pps = rate.load_pps(chance, 1.0, 1e3, LOAD_PPS)
        assert 1e3 < load_pps < LOAD_PPS
        assert rate.pass_probability(load_pps, 1.0) == pytest.approx(chance, abs=0.01)


def test_where_every_load_is_good_enough_the_highest_is_named() -> None:
    assert EventRate([trace([0] * 100)]).load_pps(0.01, 1.0, 1e3, LOAD_PPS) == pytest.approx(LOAD_PPS, rel=1e-6)


def test_where_no_load_is_good_enough_the_lowest_is_named() -> None:
    hopeless = EventRate([trace([500] * 10)])
    assert hopeless.load_pps(0.99, 1e6, 0.99e6, LOAD_PPS) == 0.99e6


@pytest.mark.parametrize("count", [1e4, 1e9])
def test_any_amount_of_loss_is_a_probability(count: float) -> None:
    rate = EventRate([trace([count] * 10, 1e12), trace([0] * 10, 1.0)])
    assert all(0.0 <= rate.pass_probability(load, 1e5) <= 1.0 for load in (1e-3, 1.0, 1e12, 1e15))
