"""Reading of the counters before and after a trial: the wait for counts that a forwarder has not published yet."""

import pytest

from nodrop.config.load import build_config
from nodrop.model.facts import StageFacts, SutProcess
from nodrop.observe import counter_reader
from nodrop.observe.counter_reader import HopCounterReader
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


def read_settled(monkeypatch: pytest.MonkeyPatch, published_s: float, thread_states: str) -> tuple[int, float]:
    """Return the count that was read, and the time that it took, if the forwarder publishes after `published_s`."""
    clock = {"now": 0.0}

    def sleep(seconds: float) -> None:
        clock["now"] += seconds

    reader = HopCounterReader(FACTS, build_plan(build_config((), {}), cpus=[0, 1]).lab)
    monkeypatch.setattr(counter_reader.time, "monotonic", lambda: clock["now"])
    monkeypatch.setattr(counter_reader.time, "sleep", sleep)
    monkeypatch.setattr(counter_reader, "read_thread_states", lambda _: thread_states)
    monkeypatch.setattr(
        reader,
        "_read",
        lambda: {"sut/sut0/rx_packets": 9, "vnf/sut0/received": 9 if clock["now"] >= published_s else 7},
    )
    return reader._read_settled({})["vnf/sut0/received"], clock["now"]


def test_counts_are_read_once_the_forwarder_has_published_them(monkeypatch: pytest.MonkeyPatch) -> None:
    count, elapsed_s = read_settled(monkeypatch, 0.1, "S")
    assert count == 9 and elapsed_s == pytest.approx(0.1, abs=0.02)


def test_a_forwarder_that_waits_for_a_cpu_is_given_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_settled(monkeypatch, 3.0, "RS")[0] == 9


@pytest.mark.parametrize(("thread_states", "limit_s"), [("T", 0.5), ("R", 5.0), ("", 0.5)])
def test_a_forwarder_that_publishes_nothing_delays_no_trial_for_long(
    monkeypatch: pytest.MonkeyPatch, thread_states: str, limit_s: float
) -> None:
    count, elapsed_s = read_settled(monkeypatch, 60.0, thread_states)
    assert count == 7 and elapsed_s == pytest.approx(limit_s, abs=0.02)
