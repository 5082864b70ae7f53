"""The rule by which a pool scales, on published counters."""

import os

import pytest

from nodrop.model.lab_plan import ScaleOut
from nodrop.stage import pool_instances
from nodrop.stage.pool_instances import Autoscaler
from nodrop.stage.published_counters import read_published_counters

BEGIN_NS = 5_000_000_000
SECOND_NS = 1_000_000_000


class Machine:
    """The time, and the counters of one instance."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time_ns = BEGIN_NS
        self.received = self.dropped = 0
        monkeypatch.setattr(pool_instances.time, "time_ns", lambda: self.time_ns)
        monkeypatch.setattr(pool_instances, "read_published_counters", lambda _: self.list_counters())

    def list_counters(self) -> list[tuple[str, int]]:
        return [("vnf0l/received", self.received), ("vnf0l/queue_full", self.dropped), ("vnf0r/malformed", 99)]

    def pass_seconds(self, count: float, received: int, dropped: int) -> None:
        self.time_ns += round(count * SECOND_NS)
        self.received += received
        self.dropped += dropped


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_an_instance_is_added_after_a_second_with_too_much_loss(machine: Machine) -> None:
    scaler = Autoscaler(ScaleOut(loss_ratio=0.01, delay_s=5.0), BEGIN_NS)
    assert scaler.count_second([1]) is None
    shortages = []
    for received, dropped in ((2000, 0), (2100, 20), (2100, 21)):
        machine.pass_seconds(1, received, dropped)
        second = scaler.count_second([1])
        assert second
        shortages.append(scaler.is_short(second))
    assert shortages == [False, False, True]
    assert scaler.next_ns == BEGIN_NS + 4 * SECOND_NS
    scaler.join(1)
    assert scaler.joining and scaler.ready_ns == BEGIN_NS + 8 * SECOND_NS


def test_seconds_are_those_of_the_trial_however_late_the_rule_is_applied(machine: Machine) -> None:
    scaler = Autoscaler(ScaleOut(loss_ratio=0.5, delay_s=0.2), BEGIN_NS)
    assert scaler.count_second([1]) is None
    machine.pass_seconds(0.7, 10, 10)
    assert scaler.count_second([1]) is None
    machine.pass_seconds(2.0, 10, 10)
    assert scaler.count_second([1]) == (20, 20, 2.7)
    assert scaler.next_ns == BEGIN_NS + 3 * SECOND_NS
    scaler.join(2)
    assert scaler.next_ns == BEGIN_NS + round(2.9 * SECOND_NS)


def test_without_frames_there_is_no_shortage(machine: Machine) -> None:
    scaler = Autoscaler(ScaleOut(loss_ratio=0.01, delay_s=0.0), BEGIN_NS)
    scaler.count_second([1])
    for _ in range(3):
        machine.pass_seconds(1, 0, 0)
        second = scaler.count_second([1])
        assert second and not scaler.is_short(second)


def test_a_second_with_fewer_frames_than_the_rate_is_idle(machine: Machine) -> None:
    scaler = Autoscaler(ScaleOut(loss_ratio=0.01, delay_s=0.0, scale_in_pps=2100), BEGIN_NS)
    scaler.count_second([1])
    idle = []
    for received in (2200, 2100, 2099):
        machine.pass_seconds(1, received, 0)
        second = scaler.count_second([1])
        assert second
        idle.append(scaler.is_idle(second))
    assert idle == [False, False, True]
    machine.pass_seconds(0.03, 63, 0)
    machine.pass_seconds(0.98, 2058, 0)
    late = scaler.count_second([1])
    machine.pass_seconds(0.99, 2079, 0)
    short = scaler.count_second([1])
    assert late and short and not scaler.is_idle(late) and not scaler.is_idle(short)


def test_a_second_in_which_an_instance_joined_is_not_judged(machine: Machine) -> None:
    scaler = Autoscaler(ScaleOut(loss_ratio=0.01, delay_s=0.5), BEGIN_NS)
    scaler.count_second([1])
    machine.pass_seconds(1, 2000, 500)
    assert scaler.count_second([1])
    scaler.join(1)
    machine.pass_seconds(0.5, 1000, 250)
    scaler.end_join()
    machine.pass_seconds(0.5, 1000, 0)
    assert scaler.count_second([1]) is None
    machine.pass_seconds(1, 2000, 0)
    assert scaler.count_second([1]) == (2000, 0, 1)


def test_an_instance_counts_from_its_first_whole_second(machine: Machine) -> None:
    scaler = Autoscaler(ScaleOut(loss_ratio=0.01, delay_s=0.0), BEGIN_NS)
    scaler.count_second([1])
    machine.pass_seconds(1, 100, 0)
    assert scaler.count_second([1, 2]) == (100, 0, 1)
    machine.pass_seconds(1, 100, 0)
    assert scaler.count_second([1, 2]) == (200, 0, 1)
    machine.pass_seconds(1, 100, 0)
    assert scaler.count_second([2]) == (100, 0, 1)


def test_counters_are_read_from_the_memory_file_of_a_process() -> None:
    file = os.memfd_create("nodrop-counters")
    try:
        os.write(file, b"vnf0l/received 00000000000000000007\ntables/flows 00000000000000000000\n")
        assert read_published_counters(os.getpid()) == [("vnf0l/received", 7), ("tables/flows", 0)]
    finally:
        os.close(file)
    assert read_published_counters(os.getpid()) == []
    assert read_published_counters(2**22) == []
