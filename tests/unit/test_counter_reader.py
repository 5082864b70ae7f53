"""Reading of the counters before and after a trial: the wait for counts that a forwarder has not published yet."""

from collections.abc import Callable

import pytest

from nodrop.config.load import build_config
from nodrop.model.facts import StageFacts, SutProcess
from nodrop.observe import counter_reader
from nodrop.observe.counter_reader import HopCounterReader
from nodrop.observe.path_hops import CounterDelta, find_late_counts
from nodrop.plan import build_plan

FACTS = StageFacts(
    name="lab",
    sut="vnf-l2",
    privilege="root",
    tester_pid=1,
    sut_pid=2,
    sut_processes=(SutProcess(name="vnf0", pid=3),),
    sut_shares_tester_cpu=False,
    interfaces=(),
)


Counters = dict[str, int]


def read_settled(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[float], Counters], thread_states: str
) -> tuple[Counters, float]:
    """Return the counters that were read, and the time that it took; `read` returns those of a time."""
    clock = {"now": 0.0}

    def sleep(seconds: float) -> None:
        clock["now"] += seconds

    reader = HopCounterReader(FACTS, build_plan(build_config((), {}), cpus=[0, 1]).lab)
    monkeypatch.setattr(counter_reader.time, "monotonic", lambda: clock["now"])
    monkeypatch.setattr(counter_reader.time, "sleep", sleep)
    monkeypatch.setattr(counter_reader, "read_thread_states", lambda _: thread_states)
    monkeypatch.setattr(reader, "_read", lambda: read(clock["now"]))
    return reader._read_settled({}), clock["now"]


def publish_at(published_s: float) -> Callable[[float], Counters]:
    """Return the counters of a forwarder that publishes all it received after this time."""
    return lambda now_s: {"sut/sut0/rx_packets": 9, "vnf/sut0/received": 9 if now_s >= published_s else 7}


def test_counts_are_read_once_the_forwarder_has_published_them(monkeypatch: pytest.MonkeyPatch) -> None:
    counters, elapsed_s = read_settled(monkeypatch, publish_at(0.1), "S")
    assert counters["vnf/sut0/received"] == 9 and elapsed_s == pytest.approx(0.1, abs=0.02)


def test_a_forwarder_that_waits_for_a_cpu_is_given_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_settled(monkeypatch, publish_at(3.0), "RS")[0]["vnf/sut0/received"] == 9


def test_frames_that_pass_meanwhile_are_counted_by_interface_and_process_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """A balancer sends a probe every 10 ms, and is late with its counts for 2 s."""

    def read(now_s: float) -> Counters:
        count = 1 + round(100 * now_s)
        return {"sut/pool0l/tx_packets": count, "vnf/pool0l/sent": count - (now_s < 2.0)}

    counters, elapsed_s = read_settled(monkeypatch, read, "S")
    assert counters["sut/pool0l/tx_packets"] == counters["vnf/pool0l/sent"] and elapsed_s == pytest.approx(2.0, abs=0.1)


def test_a_process_is_late_with_what_its_interfaces_count_more() -> None:
    counters = {
        "sut/sut0/rx_packets": 9,
        "sut/sut0/tx_packets": 5,
        "vnf/sut0/received": 7,
        "vnf/sut0/receive_dropped": 2,
        "vnf/sut0/sent": 4,
        "sut/ended0/rx_packets": 9,
    }
    assert find_late_counts(CounterDelta({}, counters)) == {"sut0/tx_packets": 4}


@pytest.mark.parametrize(("thread_states", "limit_s"), [("T", 0.5), ("R", 5.0), ("", 0.5)])
def test_a_forwarder_that_publishes_nothing_delays_no_trial_for_long(
    monkeypatch: pytest.MonkeyPatch, thread_states: str, limit_s: float
) -> None:
    counters, elapsed_s = read_settled(monkeypatch, publish_at(60.0), thread_states)
    assert counters["vnf/sut0/received"] == 7 and elapsed_s == pytest.approx(limit_s, abs=0.02)
