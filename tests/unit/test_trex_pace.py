"""The schedule of a sender, from counters and the clock, for any response time of a server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodrop.generator.trex.rate_check import CATCH_UP_S, PortSchedule


def samples(schedule: PortSchedule, sent: list[tuple[float, float, int]]) -> PortSchedule:
    for requested_s, replied_s, count in sent:
        schedule.update(requested_s, replied_s, count)
    return schedule


def test_when_a_port_began_is_read_from_its_counters() -> None:
    schedule = samples(PortSchedule(1000.0, 1.0, start_requested_s=10.0), [(10.1, 10.1, 51), (10.2, 10.2, 151)])
    assert schedule.start_s == pytest.approx(10.05)
    assert schedule.end_s == pytest.approx(11.05)
    assert schedule.late_s == 0.0


def test_a_port_that_takes_twice_as_long_is_behind_and_overdue() -> None:
    schedule = samples(PortSchedule(1000.0, 1.0), [(at / 10, at / 10, at * 50 + 1) for at in range(1, 11)])
    assert schedule.late_s == pytest.approx(0.45, abs=0.01)
    assert not schedule.done
    assert not schedule.is_overdue(1.0, 1.0)
    assert schedule.is_overdue(1.0 + 0.05 + CATCH_UP_S + 0.001, 1.0)


def test_a_port_that_stood_still_and_caught_up_was_late() -> None:
    schedule = samples(PortSchedule(1000.0, 1.0), [(0.1, 0.1, 101), (0.2, 0.2, 101), (0.3, 0.3, 301), (1.0, 1.0, 1001)])
    assert schedule.late_s == pytest.approx(0.1, abs=0.002)
    assert schedule.done


def test_a_port_that_has_sent_all_is_not_late_however_late_one_looks() -> None:
    schedule = samples(PortSchedule(1000.0, 1.0), [(0.1, 0.1, 101), (5.0, 5.0, 1000)])
    assert schedule.late_s == 0.0


def test_a_port_that_sends_nothing_is_overdue_in_the_end() -> None:
    schedule = samples(PortSchedule(1000.0, 1.0, start_requested_s=3.0), [(3.5, 3.5, 0)])
    assert (schedule.start_s, schedule.is_overdue(4.9, 1.0), schedule.is_overdue(5.1, 1.0)) == (None, False, True)


def test_a_port_that_stopped_with_frames_missing_did_not_come_to_its_end() -> None:
    schedule = samples(PortSchedule(1000.0, 1.0), [(0.3, 0.3, 301)])
    assert schedule.is_missing(0.4)
    assert not samples(PortSchedule(1000.0, 1.0), [(0.99, 0.99, 999)]).is_missing(1.0)


@given(
    answers_s=st.lists(st.floats(0.0, 0.3), min_size=1, max_size=20),
    within=st.floats(0.0, 1.0),
    rate_pps=st.floats(10.0, 1e6),
    parts=st.integers(1, 8),
    delay_s=st.floats(0.0, 0.2),
)
def test_a_port_on_time_is_never_said_to_be_late(
    answers_s: list[float], within: float, rate_pps: float, parts: int, delay_s: float
) -> None:
    """For any response time, with counters read at any time within it."""
    schedule = PortSchedule(rate_pps, 10.0, parts)
    requested_s = 0.0
    for answer_s in answers_s:
        read_s = requested_s + within * answer_s
        count = max(0, int((read_s - delay_s) * rate_pps)) if read_s > delay_s else 0
        schedule.update(requested_s, requested_s + answer_s, count)
        requested_s += answer_s + 0.02
    assert schedule.start_s is None or schedule.start_s >= delay_s - 1e-9
    assert schedule.late_s == 0.0
