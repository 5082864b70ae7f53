"""A SUT with a known capacity: the rate-limited VNF forwards no more, at any offered load."""

import time

import pytest
from tests.lab.bench import bench

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.plan import build_plan

pytestmark = pytest.mark.lab

CAPACITY_PPS = 2_000
QUEUE_SLOTS = 64
SECONDS = 1.5
CATCH_UP_S = 0.05
"""The constant of nodrop-vnf's forwarder."""


@pytest.mark.lab
@pytest.mark.truth
@pytest.mark.usefixtures("require_privilege")
@pytest.mark.parametrize("sut", ["vnf-l2", "vnf-l3"])
def test_a_vnf_held_to_a_rate_forwards_that_and_what_its_queues_hold(sut: str) -> None:
    keys = {"sut": sut, "vnf.capacity": f"{CAPACITY_PPS}pps", "vnf.queue_slots": QUEUE_SLOTS}
    with bench(**keys) as lab:
        began_s = time.monotonic()
        overload = lab.measure(6 * CAPACITY_PPS, SECONDS)
        lasted_s = time.monotonic() - began_s  # longer than the trial on a busy machine
    # What a ring holds is rounded up to whole pages by the kernel.
    assert 0 < overload.received_count <= CAPACITY_PPS * (lasted_s + CATCH_UP_S) + 4 * QUEUE_SLOTS
    assert overload.lost_count > 0


def test_only_a_vnf_can_be_held_to_a_rate() -> None:
    with pytest.raises(
        ConfigError,
        match=r"vnf.capacity: bridge has no configurable limit \(2.000 kpps\); write sut: pool or vnf-bras or vnf-l2",
    ):
        build_plan(build_config((), {"sut": "bridge", "vnf.capacity": "2kpps"}))
