"""Ledgers through a pool: probes of the balancer are no test frames, and the loss of an instance is at the instance."""

from tests.running import plan_lab
from tests.unit.test_ledger import SENT, Lab, list_losses, trial

from nodrop.observe.ledger import build_loss_ledger
from nodrop.observe.path_hops import CounterDelta, count_probe_frames

POOL = plan_lab("pool", **{"pool.instances": 2})
PROBES, ANSWERED = 200, 150
"""Probes through each of both instances, all on the way from port 0; instance 0 leaves some without an answer."""


def count_pool(lost_count: int) -> dict[str, int]:
    """Return counters where instance 0 loses frames from port 0 and probes; each instance has half of the frames."""
    half = SENT // 2
    forth = {
        "sut/sut0/rx_packets": SENT,
        "vnf/sut0/received": SENT,
        "sut/sut1/tx_packets": SENT - lost_count,
        "tester/tester1/rx_packets": SENT - lost_count,
    }
    back = dict.fromkeys(("sut/sut1/rx_packets", "vnf/sut1/received", "sut/sut0/tx_packets"), SENT)
    instances = {}
    for instance in range(2):
        lost, answered = (lost_count, ANSWERED) if instance == 0 else (0, PROBES)
        instances |= {
            f"sut/pool{instance}l/tx_packets": half + PROBES,
            f"vnf/pool{instance}l/originated": PROBES,
            f"sut/vnf{instance}l/rx_packets": half + PROBES,
            f"sut/vnf{instance}r/tx_packets": half - lost + answered,
            f"sut/pool{instance}r/rx_packets": half - lost + answered,
            f"vnf/pool{instance}r/received": half - lost + answered,
            f"vnf/pool{instance}r/consumed": answered,
        }
        names = ("pool{}r/tx", "vnf{}r/rx", "vnf{}l/tx", "pool{}l/rx")
        instances |= {f"sut/{name.format(instance)}_packets": half for name in names}
        instances |= {f"vnf/pool{instance}l/received": half}
    return forth | back | {"tester/tester0/rx_packets": SENT} | instances


def test_probes_are_left_out_of_the_counts() -> None:
    ledger = build_loss_ledger(trial(Lab({}, SENT, SENT)), POOL, CounterDelta({}, count_pool(0)))
    assert list_losses(ledger) == [] and ledger.remarks == ()


def test_frames_that_an_instance_lost_are_lost_at_the_instances() -> None:
    ledger = build_loss_ledger(trial(Lab({}, SENT, SENT - 30)), POOL, CounterDelta({}, count_pool(30)))
    assert list_losses(ledger) == [("the SUT, vnf0l … vnf1l to vnf0r … vnf1r", "", 30)]
    assert ledger.remarks == ()


def test_only_the_way_of_the_probes_has_any() -> None:
    delta = CounterDelta({}, count_pool(0))
    assert set(count_probe_frames(POOL, 0, delta).values()) == {2 * PROBES, PROBES + ANSWERED}
    assert set(count_probe_frames(POOL, 1, delta).values()) == {0}
    assert count_probe_frames(plan_lab("bridge"), 0, delta) == {}
